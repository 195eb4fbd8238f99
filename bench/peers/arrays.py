"""arrays/*: the programs of bench/apsis/arrays.cpp."""

import os
import re

import common
import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)


def wave(n, step, dtype):
    return jnp.asarray(np.sin(np.arange(n) * step) + 0.25, dtype)


def make_inputs(n, dtype):
    side = round(n**0.5)
    return {
        "x": wave(n, 0.37, dtype),
        "y": wave(n, 0.73, dtype),
        "points": wave(n // 4 * 3, 0.31, dtype).reshape(-1, 3),
        "weights": wave(n // 4, 0.11, dtype),
        "colours": wave(3, 0.5, dtype),
        "square": wave(side * side, 0.17, dtype).reshape(side, side),
        "row": wave(side, 0.19, dtype),
        "tall": wave(n // 32 * 32, 0.23, dtype).reshape(-1, 32),
        "cube": wave(n // 256 * 256, 0.29, dtype).reshape(-1, 16, 16),
        "index": jnp.arange(n) * 7919 % n,
    }


def laplace(u):
    return u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]


def normalise(p):
    return p / jnp.sqrt(jnp.sum(jnp.square(p), 1, keepdims=True))


def standardise(t):
    return (t - t.mean(0)) / (t.std(0) + 0.001)


def distances(p):
    return jnp.sqrt(jnp.sum(jnp.square(p[:, None] - p[:64]), 2))


def histogram(x):
    return jnp.zeros(64).at[jnp.clip((x * 20 + 30).astype(jnp.int64), 0, 63)].add(1.0)


def iterate(x, y):
    a, b = x, y
    for _ in range(10):
        real = a * a - b * b + x * 0.3
        b = jnp.clip(2 * a * b + y * 0.3, -2, 2)
        a = jnp.clip(real, -2, 2)
    return a + b


def lstm_cell(gates):
    part = jnp.split(gates, 4, 1)
    cell = jax.nn.sigmoid(part[0]) * part[1] + jax.nn.sigmoid(part[2]) * jnp.tanh(part[3])
    return jnp.tanh(cell) * jax.nn.sigmoid(part[1])


def histogram_plane(x, y):
    place = lambda v: jnp.clip(v * 12 + 10, 0, 31).astype(jnp.int64)
    return jnp.zeros((32, 32)).at[place(x), place(y)].add(1.0)


def sums_and_differences(x):
    return jnp.concatenate([x[::2] + x[1::2], x[::2] - x[1::2]])


def segment_rows(rows, index):
    return jax.ops.segment_sum(rows, index[: rows.shape[0]] % 1000, num_segments=1000)


# name: (program, what the gradient is taken by)
PROGRAMS = {
    "axpy": (lambda i: 2 * i["x"] + i["y"], "x"),
    "tanh-exp": (lambda i: jnp.tanh(i["x"]) * jnp.exp(-i["y"]), "x"),
    "relu": (lambda i: jnp.where(i["x"] > 0, i["x"], 0.01 * i["x"]), "x"),
    "clip": (lambda i: jnp.clip(i["x"], -0.5, 0.5) * i["y"], "x"),
    "int-mod": (lambda i: i["index"] % 7, None),
    "sum": (lambda i: jnp.sum(i["x"] * i["y"]), "x"),
    "mean-square": (lambda i: jnp.mean(jnp.square(i["x"] - i["y"])), "x"),
    "max": (lambda i: jnp.max(i["x"]), None),
    "argmax-rows": (lambda i: jnp.argmax(i["square"], 1), None),
    "sum-rows": (lambda i: i["square"].sum(1), None),
    "sum-columns": (lambda i: i["square"].sum(0), None),
    "sum-middle": (lambda i: i["cube"].sum(1), None),
    "mean-outer-inner": (lambda i: i["cube"].mean((0, 2)), None),
    "variance-columns": (lambda i: i["square"].var(0), "square"),
    "standardise": (lambda i: standardise(i["tall"]), "tall"),
    "softmax-rows": (lambda i: jax.nn.softmax(i["square"], 1), "square"),
    "softmax-columns": (lambda i: jax.nn.softmax(i["square"], 0), None),
    "logsumexp": (lambda i: jax.scipy.special.logsumexp(i["tall"], 1), "tall"),
    "scale-points": (lambda i: i["points"] * i["weights"][:, None], "points"),
    "colour-image": (lambda i: i["points"] * i["colours"] + 1, None),
    "lengths": (lambda i: jnp.sqrt(jnp.sum(jnp.square(i["points"]), 1)), "points"),
    "normalise": (lambda i: normalise(i["points"]), "points"),
    "columns": (lambda i: i["points"][:, 0] + i["points"][:, 1] * i["points"][:, 2], "points"),
    "stack-columns": (lambda i: jnp.stack([i["x"], i["y"] + 1], -1), "x"),
    "concatenate": (lambda i: jnp.concatenate([i["x"], i["y"] + 1]), "x"),
    "repeat": (lambda i: jnp.repeat(i["weights"], 3), None),
    "tile": (lambda i: jnp.tile(i["weights"], 3), None),
    "pad": (lambda i: jnp.pad(i["square"], 1), None),
    "roll": (lambda i: jnp.roll(i["x"], 7) - i["x"], "x"),
    "flip": (lambda i: jnp.flip(i["x"]) * i["y"], None),
    "differences": (lambda i: jnp.square(jnp.diff(i["x"])), "x"),
    "laplace": (lambda i: laplace(i["square"]), "square"),
    "transpose": (lambda i: i["square"].T * 2, None),
    "symmetric": (lambda i: i["square"] + i["square"].T, "square"),
    "outer": (lambda i: i["row"][:, None] * i["row"], "row"),
    "matrix-vector": (lambda i: i["square"] @ i["row"], "row"),
    "transpose-vector": (lambda i: i["square"].T @ i["row"], None),
    "gram": (lambda i: i["tall"].T @ i["tall"], "tall"),
    "small-products": (lambda i: i["cube"] @ i["cube"], "cube"),
    "distances": (lambda i: distances(i["points"]), None),
    "gather": (lambda i: i["x"][i["index"]], "x"),
    "gather-rows": (lambda i: i["tall"][i["index"][: i["tall"].shape[0]] % i["tall"].shape[0]], "tall"),
    "scatter-add": (lambda i: i["x"].at[i["index"] % 1000].add(i["y"]), None),
    "histogram": (lambda i: histogram(i["x"]), None),
    "searchsorted": (lambda i: jnp.searchsorted(jnp.sort(i["row"]), i["x"]), None),
    "sort": (lambda i: jnp.sort(i["x"]), None),
    "cumsum": (lambda i: jnp.cumsum(i["x"]), "x"),
    "cumsum-columns": (lambda i: jnp.cumsum(i["square"], 0), None),
    "cumprod-rows": (lambda i: jnp.cumprod(i["tall"], 1), "tall"),
    "cummax": (lambda i: jax.lax.cummax(i["x"]), "x"),
    "iterate": (lambda i: iterate(i["x"], i["y"]), None),
    "lstm-cell": (lambda i: lstm_cell(i["tall"]), "tall"),
    "haar": (lambda i: sums_and_differences(i["x"]), "x"),
    "cross": (lambda i: jnp.cross(i["points"], i["points"][:, ::-1] + 0.5), "points"),
    "pad-reflect": (lambda i: jnp.pad(i["square"], 2, mode="reflect"), "square"),
    "convolve": (lambda i: jnp.convolve(i["x"], jnp.array([0.1, 0.2, 0.4, 0.2, 0.1], i["x"].dtype), "same"), "x"),
    "upsample": (lambda i: jnp.repeat(jnp.repeat(i["square"], 2, 0), 2, 1), "square"),
    "flip-rows": (lambda i: jnp.flip(i["square"], 1) + 1, None),
    "determinants": (lambda i: jnp.linalg.det(i["cube"][..., :3, :3]), "cube"),
    "segment-rows": (lambda i: segment_rows(i["tall"], i["index"]), "tall"),
    "histogram-plane": (lambda i: histogram_plane(i["x"], i["y"]), None),
}


def probes(result):
    flat = jnp.ravel(result).astype(jnp.float64)
    n = flat.shape[0]
    return [float(flat[k]) for k in (0, n // 3, n // 2, n - 1)]


def measure(name, f, inputs, small):
    if not re.search(os.environ.get("BENCH_ONLY", ""), name):
        return
    f = jax.jit(f)
    time, y = common.seconds_per_call(f, inputs) if small else common.median_seconds(f, inputs, budget=0.2)
    common.emit(name, "us", time * 1e6, "jax", probes(y))


def gradient(f, by):
    return lambda i: jax.grad(lambda changed: jnp.sum(jnp.square(f({**i, by: changed}))))(i[by])


def arrays():
    for size, n in (("1e3", 1024), ("1e5", 102_400), ("1e7", 10_240_000)):
        for dtype in ("f64", "f32"):
            inputs = make_inputs(n, {"f64": jnp.float64, "f32": jnp.float32}[dtype])
            for name, (f, by) in PROGRAMS.items():
                measure(f"arrays/{name}/{dtype}-{size}", f, inputs, n < 10_000)
                if by:
                    measure(f"arrays/{name}-grad/{dtype}-{size}", gradient(f, by), inputs, n < 10_000)


if __name__ == "__main__":
    common.main({"arrays": arrays})
