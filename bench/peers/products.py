"""products/*: products of square matrices through a jitted call."""

import common
import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)


def waves(n, step, dtype):
    return jnp.asarray(np.sin(np.arange(n * n) * step).reshape(n, n), dtype)


def measure(name, n, dtype):
    time, y = common.seconds_per_call(jax.jit(jnp.matmul), waves(n, 0.37, dtype), waves(n, 0.73, dtype))
    diagonal = np.diagonal(y).astype(np.float64)
    common.emit(name, "ns", time * 1e9, "jax", [np.sum(diagonal), np.sum(np.square(diagonal))])


def products():
    for n in (16, 64, 256, 1024):
        measure(f"products/f32-{n}", n, jnp.float32)
    measure("products/f64-1024", 1024, jnp.float64)


if __name__ == "__main__":
    common.main({"products": products})
