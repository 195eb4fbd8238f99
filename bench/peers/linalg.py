"""linalg/*: many small systems of equations at once, and a large one."""

import common
import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)


def waves(*shape):
    j = np.arange(np.prod(shape)) % 4096.0
    return jnp.asarray(np.sin(0.37 * j * j).reshape(shape))


def measure(name, f, a, b):
    time, x = common.median_seconds(jax.jit(f), a, b)
    x = np.asarray(x).ravel()
    common.emit(name, "us", time * 1e6, "jax", [x[1], x[x.size // 3], x[x.size - 1]])


def by_cholesky(a, b):
    return jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(a, lower=True), b)


def linalg():
    solve = jnp.linalg.solve
    measure("linalg/solve-3x3", jax.vmap(solve), waves(86268, 3, 3) + 2 * jnp.eye(3), waves(86268, 3))
    for n in (6, 8):
        half = waves(10000, n, n)
        a = (half + half.mT) / 2 + n * jnp.eye(n)
        measure(f"linalg/cholesky-{n}x{n}", jax.vmap(by_cholesky), a, waves(10000, n))
    measure("linalg/solve-1024", solve, waves(1024, 1024) + 40 * jnp.eye(1024), waves(1024))


if __name__ == "__main__":
    common.main({"linalg": linalg})
