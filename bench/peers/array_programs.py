"""arrays/*: the programs of bench/apsis/array_programs.cpp."""

import common
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.scipy.special import logsumexp

jax.config.update("jax_enable_x64", True)


def wave(n, step, *shape):
    return jnp.asarray(np.sin(np.arange(n) * step).reshape(shape or (n,)))


def probes(result):
    flat = jnp.ravel(result).astype(jnp.float64)
    n = flat.shape[0]
    return [float(flat[k]) for k in (0, n // 3, n // 2, n - 1)]


def measure(name, f, *arguments):
    time, y = common.median_seconds(jax.jit(f), *arguments, budget=0.5)
    common.emit(name, "us", time * 1e6, "jax", probes(y))


def layers():
    for dtype in (jnp.float64, jnp.float32):
        weights = (wave(64 * 64, 0.37, 64, 64) * 0.2).astype(dtype)
        bias = wave(64, 0.7).astype(dtype)
        rows = wave(10_000 * 64, 0.13, 10_000, 64).astype(dtype)
        layer = lambda w, b, x: jax.vmap(lambda v: jnp.tanh(w @ v + b))(x)
        measure("arrays/layer-f64" if dtype == jnp.float64 else "arrays/layer-f32", layer, weights, bias, rows)


def gathers():
    n, m = 1_000_000, 30_000
    x, index = wave(n, 0.37), jnp.arange(n) * 7919 % n
    measure("arrays/gather-forward", lambda of, at: of[at], x, index)
    measure("arrays/gather-backward", jax.grad(lambda of, at: jnp.sum(jnp.square(of[at]))), x, index)
    measure("arrays/searchsorted", jnp.searchsorted, jnp.sort(wave(m, 0.37)), wave(m, 0.73))


def lstm_step(weights, ends, state, inputs):
    x0, following = inputs
    h = x0.shape[0]
    x, states = x0 * ends[0], []
    for k in (0, 2):
        gates = jnp.concatenate([x, state[k], x, state[k]]) * weights[k] + weights[k + 1]
        part = lambda i: gates[i * h : (i + 1) * h]
        cell = state[k + 1] * jax.nn.sigmoid(part(0)) + jax.nn.sigmoid(part(1)) * jnp.tanh(part(3))
        x = jax.nn.sigmoid(part(2)) * jnp.tanh(cell)
        states += [x, cell]
    y = x * ends[1] + ends[2]
    return jnp.stack(states), jnp.sum(following * (y - jnp.log(jnp.sum(jnp.exp(y)) + 2)))


def lstm():
    h, steps = 14, 1024
    weights, ends = wave(16 * h, 0.37, 4, 4 * h) * 0.5, wave(3 * h, 0.7, 3, h) * 0.5
    state, inputs = wave(4 * h, 0.9, 4, h) * 0.5, wave((steps + 1) * h, 0.13, steps + 1, h) * 0.5

    def loss(w, e):
        _, losses = jax.lax.scan(lambda s, i: lstm_step(w, e, s, i), state, (inputs[:-1], inputs[1:]))
        return -jnp.sum(losses) / (steps * h)

    measure("arrays/lstm-grad", jax.grad(loss), weights, ends)


def mixture_loss(alphas, means, logs, below, x):
    factors = jnp.exp(logs)[..., None] * jnp.eye(x.shape[1]) + jnp.tril(below, -1)
    squares = jnp.sum(jnp.square(jnp.einsum("kij,nkj->nki", factors, x[:, None] - means)), 2)
    each = alphas + jnp.sum(logs, 1) - 0.5 * squares
    return x.shape[0] * logsumexp(alphas) - jnp.sum(logsumexp(each, 1))


def mixture():
    n, d, k = 10_000, 20, 25
    alphas, means, logs = wave(k, 0.3) * 0.5, wave(k * d, 0.7, k, d) * 0.5, wave(k * d, 0.9, k, d) * 0.5
    below, x = wave(k * d * d, 0.11, k, d, d) * 0.5, wave(n * d, 0.13, n, d) * 0.5
    measure("arrays/gmm-grad", jax.grad(lambda v: mixture_loss(alphas, means, logs, v, x)), below)


def reprojection_error(all_numbers, seen):
    camera, rotation, point = all_numbers[:11], all_numbers[:3], all_numbers[11:14] - all_numbers[3:6]
    angle = jnp.sqrt(jnp.sum(jnp.square(rotation)))
    axis, c = rotation / angle, jnp.cos(angle)
    turned = point * c + jnp.cross(axis, point) * jnp.sin(angle) + axis * (jnp.dot(axis, point) * (1 - c))
    image = turned[:2] / turned[2]
    r = jnp.sum(jnp.square(image))
    distorted = image * (1 + camera[9] * r + camera[10] * r * r)
    return all_numbers[14] * (distorted * camera[6] + camera[7:9] - seen)


def bundle_adjustment():
    n = 31_843
    typical = jnp.array([0.2, 0.1, 0.3, 0, 0, 0, 1, 0, 0, 0.01, 0.01, 0.3, 0.2, 3, 1])
    rows, seen = wave(n * 15, 0.37, n, 15) * 0.05 + typical, wave(n * 2, 0.11, n, 2)
    measure("arrays/ba-jacobian", jax.vmap(jax.jacrev(reprojection_error)), rows, seen)


def perceptron():
    model = eqx.nn.MLP(64, 1, 128, 3, jax.nn.relu, dtype=jnp.float32, key=jax.random.key(0))
    parameters, static = eqx.partition(model, eqx.is_inexact_array)
    loss = lambda p, x: jnp.mean(jnp.square(jax.vmap(eqx.combine(p, static))(x)))
    rows = wave(4096 * 64, 0.13, 4096, 64).astype(jnp.float32)
    time, (value, gradient) = common.median_seconds(jax.jit(jax.value_and_grad(loss)), parameters, rows, budget=0.5)
    common.emit("arrays/mlp-grad", "us", time * 1e6, "jax", [value, optax.global_norm(gradient)])


def array_programs():
    layers()
    gathers()
    lstm()
    mixture()
    bundle_adjustment()
    perceptron()


if __name__ == "__main__":
    common.main({"array-programs": array_programs})
