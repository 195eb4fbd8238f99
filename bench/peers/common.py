"""What every peer shares: threads, clocks and the lines of the protocol (bench/README.md).

Import this before JAX: it reads BENCH_THREADS (`one` or `all`) and sets XLA up accordingly; the core itself is chosen
by run.py, through the affinity that this process inherits.
"""

import json
import os
import statistics
import sys
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
if os.environ.get("BENCH_THREADS", "one") == "one":
    flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ["XLA_FLAGS"] = (os.environ.get("XLA_FLAGS", "") + " " + flags).strip()
    for library in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[library] = "1"


def emit(name, unit, value, peer_name, answer):
    import numpy as np

    flat = [float(v) for v in np.asarray(answer, dtype=np.float64).ravel()]
    print(json.dumps({"name": name, "unit": unit, "value": value, "peer_name": peer_name, "answer": flat}), flush=True)


def seconds(f, *args):
    """The time of one call to its ready result, and the result."""
    import jax

    start = time.perf_counter()
    out = jax.block_until_ready(f(*args))
    return time.perf_counter() - start, out


def median_seconds(f, *args, budget=1.0, least=3, most=101):
    """Median over repeated calls after one that warms up: at least `least`, then until `budget` seconds are spent."""
    _, out = seconds(f, *args)
    times = []
    while len(times) < least or (sum(times) < budget and len(times) < most):
        spent, out = seconds(f, *args)
        times.append(spent)
    return statistics.median(times), out


def seconds_per_call(f, *args, budget=0.1, repeats=7):
    """Time a call in a steady stream of calls, of which only the last is awaited: for calls of microseconds."""
    import jax

    once, _ = median_seconds(f, *args, budget=0.02)
    count = max(10, int(budget / once))
    rates = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(count):
            out = f(*args)
        jax.block_until_ready(out)
        rates.append((time.perf_counter() - start) / count)
    return statistics.median(rates), out


def warm_compiler():
    """Compiles some other function, so that a first call measures itself and not the compiler's own start."""
    import jax
    import jax.numpy as jnp

    jax.block_until_ready(jax.jit(lambda x: jnp.cos(x) * 2 - x)(jnp.arange(7.0)))


def main(groups):
    """Runs the group named on the command line."""
    if len(sys.argv) != 2 or sys.argv[1] not in groups:
        sys.exit(f"usage: {sys.argv[0]} {' | '.join(groups)}")
    groups[sys.argv[1]]()
