"""complex/*: a loop of complex numbers, and a fused expression of them."""

import common
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)


def mandelbrot():
    def escape(p):
        def on(s):
            return (jnp.abs(s[0]) <= 2) & (s[1] < 500)

        return jax.lax.while_loop(on, lambda s: (s[0] * s[0] + p, s[1] + 1), (jnp.zeros_like(p), jnp.int64(0)))[1]

    points = (jnp.linspace(-2, 0.6, 300) + 1j * jnp.linspace(-1.2, 1.2, 300)[:, None]).reshape(-1)
    time, found = common.median_seconds(jax.jit(jax.vmap(escape)), points)
    common.emit("complex/mandelbrot", "ms", time * 1e3, "jax", [int(found.sum()), int(found[45150])])


def exp_product():
    k = jnp.arange(1000000.0).astype(jnp.float32)
    a, b = jnp.cos(k) + 1j * jnp.sin(k), jnp.sin(2 * k) + 1j * jnp.cos(3 * k)
    time, y = common.median_seconds(jax.jit(lambda a, b: jnp.exp(a * b)), a, b)
    common.emit("complex/exp-product", "ms", time * 1e3, "jax", [y[1].real, y[1].imag, y[777777].real])


def complex_numbers():
    mandelbrot()
    exp_product()


if __name__ == "__main__":
    common.main({"complex": complex_numbers})
