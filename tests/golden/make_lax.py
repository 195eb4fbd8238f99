"""Values and gradients of what jax.lax has and NumPy has not, or NumPy has with options: one file a family, as make_array.py."""

import sys

import jax.numpy as jnp
import numpy as np
import records
from jax import lax
from make_array import FLOATS, FORMAT, record


def normal(t, *shape):
    return np.asarray(rng.standard_normal(shape), t)


def file(name, about):
    return records.Writer(__file__, f"array_{name}.txt", about.strip() + "\n" + FORMAT.strip())


def moves():
    w = file("moves", "Slices at places that are values, padding between entries, and take with its modes.")
    for t in (*FLOATS, np.int32):
        draw = (lambda *s: normal(t, *s)) if t != np.int32 else (lambda *s: rng.integers(-9, 9, s).astype(t))
        x = draw(3, 4)
        for i, j in ((0, 0), (1, 2), (2, 3), (-1, -9), (9, 1), (-2, -3)):
            i, j = np.int32(i), np.int32(j)
            record(w, "dynamic_slice", lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 3)), x, i, j, sizes=(2, 3))
            record(w, "dynamic_update_slice", lambda x, u, i, j: lax.dynamic_update_slice(x, u, (i, j)), x, draw(2, 3), i, j)
        record(w, "dynamic_slice", lambda x, i, j: lax.dynamic_slice(x, (i, j), (0, 4)), x, np.int64(1), np.int64(1), grad=False, sizes=(0, 4))
        for axis in (0, 1, -1):
            for start in (np.int8(-2), np.uint8(1), np.int64(7)):
                record(w, "dynamic_slice_in_dim", lambda x, i: lax.dynamic_slice_in_dim(x, i, 2, axis), x, start, size=2, axis=axis)
                u = draw(*(np.array(x.shape) - [axis == 0, axis != 0]))
                record(w, "dynamic_update_slice_in_dim", lambda x, u, i: lax.dynamic_update_slice_in_dim(x, u, i, axis), x, u, start, axis=axis)
                for keep in (0, 1):
                    record(w, "dynamic_index_in_dim", lambda x, i: lax.dynamic_index_in_dim(x, i, axis, bool(keep)), x, start, axis=axis, keepdims=keep)
                    u = draw(*[n if k != axis % 2 else 1 for k, n in enumerate(x.shape) if keep or k != axis % 2])
                    record(w, "dynamic_update_index_in_dim", lambda x, u, i: lax.dynamic_update_index_in_dim(x, u, i, axis), x, u, start, axis=axis)
        value = draw()
        for low, high, interior in (((0, 0), (0, 0), (0, 0)), ((1, 0), (0, 2), (1, 2)), ((-1, 2), (1, -2), (0, 1)), ((-2, -3), (-1, -1), (2, 1)), ((0, 0), (0, 0), (0, 3))):
            config = list(zip(low, high, interior))
            record(w, "pad", lambda x, v: lax.pad(x, v, config), x, value, low=low, high=high, interior=interior)
        record(w, "pad", lambda x, v: lax.pad(x, v, [(1, 1, 2), (0, 0, 1)]), draw(0, 2), value, low=(1, 0), high=(1, 0), interior=(2, 1))
        indices = np.array([[0, 2, -1], [-3, 3, -4], [7, -9, 1]])
        for axis in ("none", 0, 1, -1):
            a = None if axis == "none" else axis
            for kind in (np.int64, np.int8):
                i = indices.astype(kind)
                for mode in ("clip", "wrap"):
                    record(w, "take", lambda x, i: jnp.take(x, i, axis=a, mode=mode), x, i, axis=axis, mode=mode)
                record(w, "take", lambda x, i: jnp.take(x, i, axis=a, mode="fill", fill_value=3), x, i, axis=axis, mode="fill")
            record(w, "take", lambda x, i: jnp.take(x, i, axis=a, mode="wrap"), x, np.uint64([0, 2**64 - 1, 5]), axis=axis, mode="wrap")
        record(w, "take", None, draw(0, 2), np.array([0, 1]), y=draw(2, 2) * 0 + 3, axis=0, mode="fill", grad=False)
        record(w, "take", lambda x, i: jnp.take(x, i, axis=0, mode="clip"), draw(300), np.int8([-128, 127, 3]), axis=0, mode="clip")
    w.write()


def einsum():
    w = file("einsum", "Sums of products by letters, with ellipses and broadcasting.")
    for t in FLOATS:
        for equation, *shapes in (
            ("...i,...i->...", (2, 3), (2, 3)),
            ("...i,...i->...", (4, 2, 3), (2, 3)),
            ("...i,...i->...", (4, 1, 3), (2, 3)),
            ("...ij,...jk->...ik", (2, 3, 4), (5, 1, 4, 2)),
            ("i...,i...", (3, 2, 4), (3, 4)),
            ("...i", (2, 3)),
            ("...ii->...i", (2, 3, 3)),
            ("ij...->...ji", (2, 3, 4, 5)),
            ("...->...", ()),
            ("a...b->ba...", (2, 3)),
            ("...i->i", (2, 3)),
            ("ij->...ij", (2, 3)),
            ("ij,ij->ij", (2, 3), (1, 3)),
            ("ij,jk->ik", (2, 1), (4, 3)),
            ("b...d,d,...d->...b", (2, 3, 4), (4,), (3, 4)),
            ("...i,...i->...i", (0, 3), (1, 3)),
            ("...,...", (2, 1), (3,)),
        ):
            record(w, "einsum", lambda *a: jnp.einsum(equation, *a), *(normal(t, *s) for s in shapes), equation=equation)
    w.write()


families = {f.__name__: f for f in (moves, einsum)}
if __name__ == "__main__":
    for name in sys.argv[1:] or families:
        rng = np.random.default_rng(20261127)  # of each family, so that one can be made alone
        families[name]()
