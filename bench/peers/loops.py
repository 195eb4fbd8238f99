"""while/* and scan/*: loops with next to nothing in their bodies, and the gradient of one with many leaves."""

import common
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

jax.config.update("jax_enable_x64", True)


def loops():
    n = 1_000_000

    @jax.jit
    def count(n, x):
        return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, 0.999 * c[1] + 0.1), (jnp.int64(0), x))

    time, (i, x) = common.median_seconds(count, jnp.int64(n), jnp.float64(1))
    common.emit("while/scalar", "ns/iteration", time / n * 1e9, "jax", [i, x])

    steps = 100_000

    @jax.jit
    def four(c):
        return lax.scan(lambda c, _: (0.999 * c + 0.1, c), c, None, length=steps)

    time, (c, ys) = common.median_seconds(four, jnp.arange(4.0))
    common.emit("scan/vec4", "ns/step", time / steps * 1e9, "jax", jnp.concatenate([c, ys[steps // 2], ys[-1]]))

    def body(leaves, _):
        return tuple(0.99 * a + 0.01 * jnp.sin(b) for a, b in zip(leaves, leaves[1:] + leaves[:1])), None

    @jax.jit
    @jax.grad
    def gradient(leaves):
        return sum(lax.scan(body, leaves, None, length=1000)[0])

    leaves = tuple(jnp.float64(v) for v in np.cos(np.arange(60)))
    time, g = common.median_seconds(gradient, leaves)
    common.emit("scan/grad-60-leaves", "us", time * 1e6, "jax", jnp.stack(g))


if __name__ == "__main__":
    common.main({"loops": loops})
