"""sparse/*: the sparse Jacobian of the Brusselator on a line of 10,000 cells."""

import asdex
import common
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
CELLS = 10_000


def field(y):
    u, v = y.reshape(2, -1)
    factor = (u.size + 1) ** 2 / 50

    def second(w, end):
        wide = jnp.concatenate([jnp.array([end]), w, jnp.array([end])])
        return wide[:-2] - 2 * w + wide[2:]

    reaction = u * u * v
    return jnp.concatenate([1 + reaction - 4 * u + factor * second(u, 1.0), 3 * u - reaction + factor * second(v, 3.0)])


def state():
    x = jnp.arange(1, CELLS + 1) / (CELLS + 1)
    return jnp.concatenate([1 + jnp.sin(2 * jnp.pi * x), 3 - 0.5 * x])


def answer(matrix):
    """The products with a vector at some places."""
    product = matrix @ jnp.cos(jnp.arange(2.0 * CELLS))
    return product[jnp.array([0, 1, CELLS // 2, CELLS - 1, CELLS, 2 * CELLS - 1])]


def sparse():
    y = state()
    time, matrix = common.median_seconds(jax.jit(asdex.jacobian(field, y)), y)
    common.emit("sparse/jacobian", "us", time * 1e6, "asdex", answer(matrix))


def sparse_first():
    y = state()
    common.warm_compiler()
    time, matrix = common.seconds(lambda: jax.jit(asdex.jacobian(field, y))(y))
    common.emit("sparse/first-call", "ms", time * 1e3, "asdex", answer(matrix))


if __name__ == "__main__":
    common.main({"sparse": sparse, "sparse-first": sparse_first})
