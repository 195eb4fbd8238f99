"""elementwise/*: a fused elementwise expression over a million elements."""

import common
import jax
import jax.numpy as jnp
import numpy as np


def elementwise():
    n = 1_000_000
    u = np.arange(n) / n
    a, b, c, d = (jnp.asarray(v, jnp.float32) for v in (2 * u - 1, 1.5 - u, 0.5 * u, 2 * u * u))
    time, y = common.median_seconds(jax.jit(lambda a, b, c, d: jnp.tanh(a * b + c) * jnp.exp(-d)), a, b, c, d)
    answer = y[jnp.array([0, 1, n // 3, n // 2, n - 1])]
    common.emit("elementwise/f32-1e6", "ns/element", time / n * 1e9, "jax", answer)


if __name__ == "__main__":
    common.main({"elementwise": elementwise})
