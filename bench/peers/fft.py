"""fft/*: complex transforms, one by one and many at once."""

import common
import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)


def signal(shape, dtype):
    j = np.arange(np.prod(shape)) % 4093.0
    return jnp.asarray((np.sin(0.37 * j * j) + 1j * np.cos(0.11 * j * j)).reshape(shape), dtype)


def fft():
    for name, shape, dtype in (
        ("fft/1024", (1000, 1024), jnp.complex128),
        ("fft/64-batch", (10000, 64), jnp.complex64),
        ("fft/65536", (65536,), jnp.complex128),
    ):
        time, y = common.median_seconds(jax.jit(jnp.fft.fft), signal(shape, dtype))
        y = np.asarray(y).real.ravel()
        common.emit(name, "us", time * 1e6, "jax", [y[1], y[y.size // 3], y[y.size - 1]])


if __name__ == "__main__":
    common.main({"fft": fft})
