"""first-call/*: trace, compile and run chains of elementwise statements."""

import os
import time

import common
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)


def chain(statements):
    def f(x):
        for k in range(statements):
            x = jnp.sin(x) * 1.01 + x if k % 2 == 0 else jnp.exp(-x * x) + 0.5
        return x

    return f


def argument():
    return jnp.linspace(-1.0, 1.0, 1000)


def measure(name, statements, x):
    spent, y = common.seconds(jax.jit(chain(statements)), x)
    common.emit(name, "ms", spent * 1e3, "jax.jit", y[::111])


def chains():
    common.warm_compiler()
    x = jax.block_until_ready(argument())
    for statements in (10, 100, 1000):
        measure(f"first-call/chain-{statements}", statements, x)


def chain_5000():
    common.warm_compiler()
    measure("first-call/chain-5000", 5000, jax.block_until_ready(argument()))


def shared():
    common.warm_compiler()
    inner = jax.jit(chain(40))

    def outer(x):
        for _ in range(30):
            x = inner(x) * 0.5
        return x

    spent, y = common.seconds(jax.jit(outer), jax.block_until_ready(argument()))
    common.emit("first-call/shared-30", "ms", spent * 1e3, "jax.jit", y[::111])


def cold_process():
    # Python's imports are not counted; all that JAX does at its first use is.
    start = time.perf_counter()
    y = jax.block_until_ready(jax.jit(chain(100))(argument()))
    common.emit("first-call/cold-process", "ms", (time.perf_counter() - start) * 1e3, "jax.jit", y[::111])


def second_process():
    """Run twice by run.py on one BENCH_CACHE directory; the second run finds the cache warm and is the one that counts."""
    jax.config.update("jax_compilation_cache_dir", os.environ["BENCH_CACHE"])
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    common.warm_compiler()
    spent, y = common.seconds(jax.jit(chain(1000)), jax.block_until_ready(argument()))
    common.emit("first-call/second-process", "ms", spent * 1e3, "jax.jit, persistent cache", y[::111])


if __name__ == "__main__":
    common.main(
        {
            "chains": chains,
            "chain-5000": chain_5000,
            "shared": shared,
            "cold-process": cold_process,
            "second-process": second_process,
        }
    )
