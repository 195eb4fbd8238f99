"""ops/*: single operations on large arrays."""

import common
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)


def measure(name, f, *arguments):
    time, y = common.median_seconds(jax.jit(f), *arguments)
    y = jnp.ravel(y)
    common.emit(name, "us", time * 1e6, "jax", [float(v) for v in y[:: y.size // 8]])


def array_ops():
    key = jax.random.key(7)
    measure("ops/sort", jnp.sort, jax.random.uniform(key, (1_000_000,), jnp.float64))

    x = jax.random.normal(key, (1000, 1000), jnp.float32)
    step = jax.jit(jax.value_and_grad(lambda at, weights: jnp.sum(weights * jax.nn.softmax(at))))
    squares = jax.jit(lambda g: jnp.sum(jnp.square(g)))

    def answered(x, weights):
        value, gradient = step(x, weights)
        return value, squares(gradient)

    time, answer = common.median_seconds(answered, x, jnp.cos(x))
    common.emit("ops/softmax", "us", time * 1e6, "jax", list(map(float, answer)))

    ids = jax.random.randint(jax.random.fold_in(key, 1), (1_000_000,), 0, 1000, jnp.int64)
    measure("ops/segment-sum", lambda x, ids: jax.ops.segment_sum(x, ids, 1000), jax.random.uniform(key, (1_000_000,), jnp.float32), ids)
    measure("ops/random-gamma", lambda k: jax.random.gamma(k, jnp.float32(2.5), (1_000_000,), jnp.float32), key)


if __name__ == "__main__":
    common.main({"ops": array_ops})
