"""train/*: steps of training of models of layers, in Equinox and Optax, each as one jitted function of its arrays."""

import common
import equinox as eqx
import functools
import jax
import jax.numpy as jnp
import optax


def batch(shape):
    return jax.random.uniform(jax.random.key(7), shape, jnp.float32), jnp.arange(shape[0]) % 10


class Transformer(eqx.Module):
    before: eqx.nn.LayerNorm
    between: eqx.nn.LayerNorm
    attention: eqx.nn.MultiheadAttention
    mlp: eqx.nn.MLP

    def __init__(self, key):
        a, b = jax.random.split(key)
        self.before, self.between = eqx.nn.LayerNorm(256), eqx.nn.LayerNorm(256)
        self.attention = eqx.nn.MultiheadAttention(4, 256, key=a)
        self.mlp = eqx.nn.MLP(256, 256, 1024, 1, functools.partial(jax.nn.gelu, approximate=False), key=b)

    def __call__(self, x):
        h = jax.vmap(self.before)(x)
        y = x + self.attention(h, h, h, mask=jnp.tril(jnp.ones((len(x), len(x)), bool)))
        return y + jax.vmap(self.mlp)(jax.vmap(self.between)(y))


class Recurrent(eqx.Module):
    cell: eqx.nn.GRUCell

    def __call__(self, xs):
        def step(h, x):
            h = self.cell(x, h)
            return h, h

        return jax.lax.scan(step, jnp.zeros(64, jnp.float32), xs)[1]


def perceptron():
    return eqx.nn.MLP(784, 10, 256, 2, jax.nn.relu, key=jax.random.key(0))


def convolution():
    a, b, c = jax.random.split(jax.random.key(0), 3)
    return eqx.nn.Sequential([
        eqx.nn.Conv2d(1, 16, 3, padding=1, key=a), eqx.nn.Lambda(jax.nn.relu), eqx.nn.MaxPool2d(2, 2),
        eqx.nn.Conv2d(16, 32, 3, padding=1, key=b), eqx.nn.Lambda(jax.nn.relu), eqx.nn.MaxPool2d(2, 2),
        eqx.nn.Lambda(jnp.ravel), eqx.nn.Linear(1568, 10, key=c)])  # fmt: skip


def adam_step(model, shape):
    """A jitted step of (parameters, state, x, labels), and the first of these."""
    parameters, static = eqx.partition(model, eqx.is_inexact_array)
    optimizer = optax.adam(1e-3)

    def loss(parameters, x, labels):
        logits = jax.vmap(eqx.combine(parameters, static))(x)
        return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, labels))

    @jax.jit
    def step(parameters, state, x, labels):
        value, gradient = jax.value_and_grad(loss)(parameters, x, labels)
        change, state = optimizer.update(gradient, state)
        return value, optax.apply_updates(parameters, change), state

    return step, (parameters, optimizer.init(parameters), *batch(shape))


def forward_backward(model, shape):
    parameters, static = eqx.partition(model, eqx.is_inexact_array)
    run = jax.jit(jax.value_and_grad(lambda p, x: jnp.mean(jax.vmap(eqx.combine(p, static))(x) ** 2)))
    return run, (parameters, batch(shape)[0])


CASES = {"mlp": (adam_step, perceptron, (128, 784)),
         "conv": (adam_step, convolution, (64, 1, 28, 28)),
         "transformer": (forward_backward, lambda: Transformer(jax.random.key(0)), (8, 128, 256)),
         "gru": (forward_backward, lambda: Recurrent(eqx.nn.GRUCell(32, 64, key=jax.random.key(0))), (32, 200, 32))}  # fmt: skip


def train():
    for name, (kind, model, shape) in CASES.items():
        f, arguments = kind(model(), shape)
        if kind is adam_step:
            parameters, state, x, labels = arguments
            answer = []
            for _ in range(3):
                value, parameters, state = f(parameters, state, x, labels)
                answer.append(value)
            # From here on the same step again and again, so that both sides time the same work.
            time, _ = common.median_seconds(f, parameters, state, x, labels)
        else:
            time, (value, gradient) = common.median_seconds(f, *arguments)
            answer = [value, optax.global_norm(gradient)]
        common.emit(f"train/{name}", "ms", time * 1e3, "equinox + optax", answer)


def first():
    common.warm_compiler()
    for name, (kind, model, shape) in CASES.items():
        f, arguments = kind(model(), shape)
        time, (value, other, *_) = common.seconds(f, *arguments)
        answer = [value] if kind is adam_step else [value, optax.global_norm(other)]
        common.emit(f"train/{name}-first-call", "ms", time * 1e3, "equinox + optax", answer)


if __name__ == "__main__":
    common.main({"train": train, "train-first": first})
