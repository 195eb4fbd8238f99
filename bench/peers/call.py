"""call/*: what a call of a compiled function costs when there is next to nothing to compute."""

import common
import equinox as eqx
import jax
import jax.numpy as jnp


class Scalars(eqx.Module):
    leaves: tuple

    def __call__(self):
        total = self.leaves[0]
        for leaf in self.leaves[1:]:
            total = total + leaf
        return total


def uniform(seed, shape, bound):
    """Threefry's uniforms, which both sides draw with the same bits."""
    return jax.random.uniform(jax.random.key(seed), shape, jnp.float32, -bound, bound)


def mlp(sizes, activation):
    """An MLP whose layer k has weights of key 2 k and biases of key 2 k + 1, uniform within 1 / sqrt(inputs)."""
    model = eqx.nn.MLP(sizes[0], sizes[-1], sizes[1], len(sizes) - 2, activation, key=jax.random.key(0))
    layers = range(len(sizes) - 1)
    new = [uniform(2 * k, (sizes[k + 1], sizes[k]), sizes[k] ** -0.5) for k in layers]
    new += [uniform(2 * k + 1, (sizes[k + 1],), sizes[k] ** -0.5) for k in layers]
    where = lambda m: [m.layers[k].weight for k in layers] + [m.layers[k].bias for k in layers]  # noqa: E731
    return eqx.tree_at(where, model, new)


def call():
    x = jnp.arange(4, dtype=jnp.float32)
    time, y = common.seconds_per_call(jax.jit(lambda x: x + 1), x)
    common.emit("call/jit-add", "ns", time * 1e9, "jax.jit", y)

    model, x = mlp([2, 64, 64, 64, 2], jnp.tanh), jnp.array([0.3, -0.7], jnp.float32)
    time, y = common.seconds_per_call(eqx.filter_jit(lambda m, x: m(x)), model, x)
    common.emit("call/mlp-struct", "ns", time * 1e9, "equinox.filter_jit", y)

    scalars = Scalars(tuple(jnp.float32(0.01 * k) for k in range(100)))
    time, y = common.seconds_per_call(eqx.filter_jit(lambda s: s()), scalars)
    common.emit("call/leaves-100", "ns", time * 1e9, "equinox.filter_jit", y)


if __name__ == "__main__":
    common.main({"call": call})
