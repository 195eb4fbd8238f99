"""Gather and scatter by dimension numbers, of every mode and kind: jax.lax.gather and scatter with gradients."""

import itertools
import sys

import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
import records
from make_array import FORMAT, record

rng = np.random.default_rng(23)

# Shape of the array, shape of the indices, numbers of the gather, sizes of slices.
CASES = [
    ((5,), (3, 1), dict(offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,)), (1,)),
    ((5,), (3, 1), dict(offset_dims=(1,), collapsed_slice_dims=(), start_index_map=(0,)), (3,)),
    ((5, 4), (2, 1), dict(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,)), (1, 4)),
    ((5, 4), (2, 2), dict(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0, 1)), (1, 2)),
    ((5, 4), (2, 2), dict(offset_dims=(0, 1), collapsed_slice_dims=(), start_index_map=(1, 0)), (3, 2)),
    ((5, 4), (2,), dict(offset_dims=(0,), collapsed_slice_dims=(1,), start_index_map=(0, 1)), (2, 1)),
    ((3, 4, 2), (2, 3, 1), dict(offset_dims=(1, 2), collapsed_slice_dims=(1,), start_index_map=(1,)), (3, 1, 2)),
    ((3, 4, 2), (3, 2, 1), dict(offset_dims=(2,), collapsed_slice_dims=(1,), start_index_map=(1,), operand_batching_dims=(0,), start_indices_batching_dims=(0,)), (1, 1, 2)),
    ((3, 4, 2), (2, 3, 1), dict(offset_dims=(), collapsed_slice_dims=(1,), start_index_map=(1,), operand_batching_dims=(0, 2), start_indices_batching_dims=(1, 0)), (1, 1, 1)),
    ((4, 3), (0, 1), dict(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,)), (1, 3)),
]
MODES = {"clip": lax.GatherScatterMode.CLIP, "fill": lax.GatherScatterMode.FILL_OR_DROP}
KINDS = {"set": lax.scatter, "add": lax.scatter_add, "multiply": lax.scatter_mul, "min": lax.scatter_min, "max": lax.scatter_max}


def texts(numbers, sizes, mode, **more):
    t = {k: tuple(numbers.get(k, ())) for k in ("offset_dims", "collapsed_slice_dims", "start_index_map", "operand_batching_dims", "start_indices_batching_dims")}
    return t | dict(sizes=sizes, mode=mode) | more


def gathers(w):
    for (shape, of_indices, numbers, sizes), mode in itertools.product(CASES, MODES):
        dims = lax.GatherDimensionNumbers(**numbers)
        for t, index in ((np.float64, np.int64), (np.float32, np.int32), (np.int32, np.uint8), (np.complex128, np.int64)):
            x = np.asarray(rng.integers(-50, 50, shape) + (1j if t is np.complex128 else 0), t)
            i = np.asarray(rng.integers(0 if index is np.uint8 else -2, 6, of_indices), index)
            if t is np.complex128 and mode == "fill":
                continue
            record(w, "gather", lambda x, i: lax.gather(x, i, dims, sizes, mode=MODES[mode]), x, i, smooth=False, **texts(numbers, sizes, mode))


def scatters(w):
    for (shape, of_indices, numbers, sizes), (kind, f), mode in itertools.product(CASES, KINDS.items(), MODES):
        of = lax.GatherDimensionNumbers(**numbers)
        dims = lax.ScatterDimensionNumbers(
            update_window_dims=numbers["offset_dims"], inserted_window_dims=numbers["collapsed_slice_dims"], scatter_dims_to_operand_dims=numbers["start_index_map"],
            operand_batching_dims=numbers.get("operand_batching_dims", ()), scatter_indices_batching_dims=numbers.get("start_indices_batching_dims", ()))
        for t in (np.float64, np.int32):
            x = np.asarray(rng.permutation(np.prod(shape)).reshape(shape), t)
            # Without repetitions, of which JAX does not promise an order, but for add.
            i = np.asarray(rng.integers(-2, 6, of_indices), np.int64)
            places = lax.gather(np.arange(x.size).reshape(shape), i, of, sizes, mode=lax.GatherScatterMode.FILL_OR_DROP, fill_value=-1)
            kept = np.asarray(places)[np.asarray(places) >= 0]
            clipped = np.asarray(lax.gather(np.arange(x.size).reshape(shape), i, of, sizes, mode=lax.GatherScatterMode.CLIP)).ravel()
            once = len(set(kept.tolist())) == len(kept) if mode == "fill" else len(set(clipped.tolist())) == len(clipped)
            if not once and kind in ("set", "multiply"):
                continue
            u = np.asarray(rng.integers(0, 40, places.shape) + 0.5 * (t is np.float64), t)
            record(w, "scatter", lambda x, i, u: f(x, i, u, dims, mode=MODES[mode], unique_indices=once), x, i, u, smooth=False, grad=kind in ("set", "add") or once and kind == "multiply", **texts(numbers, sizes, mode, kind=kind))


if __name__ == "__main__":
    writer = records.Writer(__file__, "array_gather.txt", "Gather and scatter.\n" + FORMAT.strip(), ("jax", "jaxlib", "numpy"))
    gathers(writer)
    scatters(writer)
    writer.write()
    sys.exit(0)
