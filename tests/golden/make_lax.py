"""Values and gradients of what jax.lax has and NumPy has not, or NumPy has with options: one file a family, as make_array.py."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import records
import scipy.stats
from jax import lax
from make_array import FLOATS, FORMAT, INF, NAN, record


def normal(t, *shape):
    return np.asarray(rng.standard_normal(shape), t)


def uniform(t, low, high, *shape):
    return np.asarray(rng.uniform(low, high, shape), t)


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
    for t in FLOATS:
        for equation, *shapes in (
            ("ij,jk,kl->il", (4, 2), (2, 5), (5, 1)),
            ("ij,jk,kl->il", (1, 2), (2, 5), (5, 4)),
            ("i,ij,j", (3,), (3, 4), (4,)),
            ("ab,cd,bd->ca", (2, 3), (4, 5), (3, 5)),
            ("aab,bc,c,d->ad", (2, 2, 3), (3, 4), (4,), (2,)),
            ("...a,ab,...b,b->...", (2, 3, 2), (2, 4), (3, 4), (4,)),
            ("ij,jk,kl->il", (2, 0), (0, 3), (3, 2)),
            ("a,ab,bc,cd,de,ef,fg,gh,hi,ij,j", (2,), (2, 1), (1, 2), (2, 2), (2, 3), (3, 1), (1, 2), (2, 2), (2, 1), (1, 3), (3,)),
        ):
            record(w, "einsum", lambda *a: jnp.einsum(equation, *a), *(normal(t, *s) for s in shapes), equation=equation)
    w.write()


def folds():
    w = file("folds", "Reductions by operations of the user's own, over axes and windows, and running sums of exponentials.")
    prod = lambda x, axes: lax.reduce(x, x.dtype.type(1), lax.mul, axes)  # noqa: E731
    for t in (*FLOATS, np.int32):
        draw = (lambda *s: normal(t, *s)) if t != np.int32 else (lambda *s: rng.integers(1, 4, s).astype(t))
        for shape in ((), (1,), (2,), (7,), (3, 4), (2, 5, 3), (0, 3)):
            for axes in {(), *((k,) for k in range(len(shape))), tuple(range(len(shape)))}:
                slope = dict(grad=False) if t == np.int32 else {}
                record(w, "reduce_prod", lambda x: jnp.prod(x, axes, dtype=x.dtype) if axes else x, draw(*shape), axes=axes or (-99,), **slope)
        windows = (
            ((7,), [3], [2], [(1, 2)], [1], [1]),
            ((7,), [2], [1], [(0, 0)], [2], [3]),
            ((4, 5), [2, 3], [1, 2], [(1, 0), (-1, 2)], [2, 1], [1, 1]),
            ((4, 5), [2, 2], [2, 1], [(0, 1), (1, 1)], [1, 2], [1, 2]),
            ((2,), [3], [1], [(0, 0)], [1], [1]),
        )
        for shape, window, strides, padding, base, dilation in windows:
            options = dict(window=window, strides=strides, dilation=dilation, base_dilation=base, low=[p[0] for p in padding], high=[p[1] for p in padding])
            record(w, "reduce_window_sum", lambda x: lax.reduce_window(x, x.dtype.type(0), lax.add, window, strides, padding, base, dilation), draw(*shape), **options)
            x = draw(*shape)
            record(w, "reduce_window_prod", None, x, y=lax.reduce_window(x, t(1), lax.mul, window, strides, padding, base, dilation), grad=False, **options)
    for t in FLOATS:
        for shape, axis in (((), 0), ((1,), 0), ((6,), 0), ((3, 4), 0), ((3, 4), 1), ((2, 0), 1)):
            if not shape:
                continue
            for reverse in (0, 1):
                record(w, "cumlogsumexp", lambda x: lax.cumlogsumexp(x, axis, bool(reverse)), 3 * normal(t, *shape), axis=axis, reverse=reverse)
        record(w, "cumlogsumexp", lambda x: lax.cumlogsumexp(x, 0), np.array([-INF, -INF, 1.0, 800.0, INF, NAN], t), grad=False, axis=0, reverse=0)
    w.write()


def bits():
    w = file("bits", "Bits of numbers; reduce_precision of f16 in f16; nextafter: NumPy's.")
    for t in (np.bool_, np.uint8, np.int32):
        for shape in ((8,), (11,), (0,), (3, 5), (2, 9, 2)):
            x = rng.integers(0, 2, shape).astype(t)
            for axis in ("none", *range(len(shape))):
                a = None if axis == "none" else axis
                for order in ("big", "little"):
                    record(w, "packbits", lambda x: jnp.packbits(x, axis=a, bitorder=order), x, axis=axis, order=order)
    for shape in ((3,), (2, 2), (0,), (2, 1, 3)):
        x = rng.integers(0, 256, shape).astype(np.uint8)
        for axis in ("none", *range(len(shape))):
            a = None if axis == "none" else axis
            for order in ("big", "little"):
                for count in ("none", 5, -3, 27):
                    if shape == (0,) and count != "none":
                        continue  # NumPy's are what was in memory
                    n = None if count == "none" else count
                    record(w, "unpackbits", None, x, y=np.unpackbits(x, axis=a, count=n, bitorder=order), axis=axis, order=order, count=count)
    kinds = ((np.int8, 8), (np.int16, 16), (np.int32, 32), (np.int64, 64), (np.uint8, 8), (np.uint16, 16), (np.uint32, 32), (np.uint64, 64))
    for t, width in kinds:
        i = np.iinfo(t)
        a = np.array([i.max, i.min, 0, 1, i.max // 3, i.max - 1, *(rng.integers(i.min, i.max, 6, dtype=t))], t)
        exact = [[(int(p) * int(q)) >> width for q in a] for p in a]
        record(w, "mulhi", None, a[:, None], a, y=np.array(exact, t))
    for t in (np.float16, np.float32, np.float64, np.int8, np.uint16, np.int32, np.uint64):
        n = np.dtype(t).itemsize
        raw = rng.integers(0, 120, (2, 8)).astype(np.uint8)
        x = raw.view(t)
        for to in (np.float16, np.float32, np.float64, np.uint8, np.int16, np.uint32, np.int64):
            m = np.dtype(to).itemsize
            if m <= n:
                record(w, "bitcast", lambda x: lax.bitcast_convert_type(x, to), x, grad=False, dtype=records.DTYPES[np.dtype(to).name])
            else:
                parts = x.reshape(2, -1, m // n)
                record(w, "bitcast", lambda x: lax.bitcast_convert_type(x, to), parts, grad=False, dtype=records.DTYPES[np.dtype(to).name])
    for t in (*FLOATS, np.float16):
        f = np.finfo(t)
        e = np.array([0, -0.0, 1, -1.5, f.max, -f.max, f.tiny, f.smallest_subnormal, INF, -INF, NAN, *(rng.standard_normal(12) * 10.0 ** rng.integers(-6, 5, 12))], t)
        for exponent, mantissa in ((8, 7), (5, 10), (4, 3), (5, 2), (2, 1), (8, 0), (11, 52), (1, 4)):
            record(w, "reduce_precision", lambda x: lax.reduce_precision(x, exponent, mantissa), e, smooth=False, exponent=exponent, mantissa=mantissa)
        if t != np.float16:
            a = np.array([0, -0.0, 1, -1, f.max, -f.max, f.tiny, f.smallest_subnormal, INF, -INF, NAN, 0.3], t)
            record(w, "nextafter", None, a[:, None], a, grad=False, y=np.nextafter(a[:, None], a))
    w.write()


def dots():
    w = file("dots", "dot_general by the numbers of axes, and select_n.")
    cases = (
        ((3, 4), (4, 2), (1,), (0,), (), ()),
        ((3, 4), (2, 4), (-1,), (-1,), (), ()),
        ((5, 3, 4), (4, 5, 2), (2,), (0,), (0,), (1,)),
        ((2, 3, 4, 5), (5, 4, 3, 2), (3, 1), (0, 2), (0,), (3,)),
        ((2, 3), (2, 3), (), (), (0, 1), (0, 1)),
        ((2,), (3,), (), (), (), ()),
        ((0, 3), (3, 2), (1,), (0,), (), ()),
        ((2, 0), (0, 3), (1,), (0,), (), ()),
    )
    kinds = ((np.float64, None), (np.float32, None), (np.float32, np.float64), (np.float16, np.float32), (np.int8, np.int32), (np.int32, None))
    for t, preferred in kinds:
        for a, b, ca, cb, ba, bb in cases:
            draw = (lambda s: normal(t, *s)) if np.issubdtype(t, np.floating) else (lambda s: rng.integers(-99, 99, s).astype(t))
            f = lambda x, y: lax.dot_general(x, y, (([i % len(a) for i in ca], [i % len(b) for i in cb]), (ba, bb)), preferred_element_type=preferred)  # noqa: E731
            words = dict(contract_a=ca or (-9,), contract_b=cb or (-9,), batch_a=ba or (-9,), batch_b=bb or (-9,))
            plain = preferred is None
            record(w, "dot_general", f, draw(a), draw(b), grad=plain and np.issubdtype(t, np.floating), preferred="none" if plain else records.DTYPES[np.dtype(preferred).name], **words)
    for t in FLOATS:
        which = np.array([[0, 2, 1], [1, 0, 2]])
        record(w, "select_n", lambda i, a, b, c: lax.select_n(i.astype(np.int32), a, b, c), which, normal(t, 2, 3), normal(t, 2, 3), normal(t, 2, 3))
        record(w, "select_n", lambda i, a, b: lax.select_n(i, a, b), np.array([True, False]), normal(t, 2), normal(t, 2))
    w.write()


def counts():
    w = file("counts", "Histograms of points, NumPy's, and ranks, SciPy's.")
    for t in FLOATS:
        points = normal(t, 30, 3)
        points[3] = points[5]
        edges = [np.array([-1, 0, 0.5, 2], t), np.array([-2, 0.25, 2], t), np.array([0, 1], t)]
        low, high = np.array([-1.5, -1, -1], t), np.array([1.5, 2, 1], t)
        weights = uniform(t, 0.1, 2, 30)
        for density in (0, 1):
            for extra, n in (("none", 3), ("edges", 3), ("range", 3), ("weights", 3), ("none", 1)):
                p = points[:, :n]
                bins = [e for e in edges[:n]] if extra == "edges" else [2, 4, 3][:n]
                bounds = list(zip(low, high))[:n] if extra == "range" else None
                h, e = np.histogramdd(p, bins=bins, range=bounds, weights=weights if extra == "weights" else None, density=bool(density))
                xs = {"edges": edges, "range": [low, high], "weights": [weights]}.get(extra, [])
                record(w, "histogramdd", None, p, *xs, y=[h.astype(t), *(v.astype(t) for v in e)], grad=False, extra=extra, density=density, bins=[2, 4, 3][:n])
        h, ex, ey = np.histogram2d(points[:, 0], points[:, 1], bins=5)
        record(w, "histogram2d", None, points[:, 0], points[:, 1], y=[h.astype(t), ex.astype(t), ey.astype(t)], grad=False, bins=5)
        ties = rng.integers(0, 4, (4, 9)).astype(t)
        other = normal(t, 2, 5, 3)
        broken = np.array([[1, NAN, 2], [3, 1, 1]], t)
        for method in ("average", "min", "max", "dense", "ordinal"):
            for x in (ties, other, broken, np.zeros((2, 0), t), t(3)):
                for axis in ("none", *range(x.ndim)):
                    a = None if axis == "none" else axis
                    if x.size == 0 and a == 1 or x.ndim == 0 and a is not None:
                        continue
                    r = scipy.stats.rankdata(x, method, axis=a).astype(np.float64)
                    record(w, "rankdata", None, x, y=r.ravel() if a is None else r, grad=False, method=method, axis=axis)
        for axis in ("none", 0, 1, -1):
            a = None if axis == "none" else axis
            for keep in (0, 1):
                record(w, "sem", lambda x: jax.scipy.stats.sem(x, axis=a, ddof=1, keepdims=bool(keep)), other, axis=axis, keepdims=keep)
    w.write()


METHODS = {"linear": 1, "cubic": 2, "cubic-pytorch": 3, "lanczos3": 4, "lanczos5": 5, "area": 6, "nearest": 0}


def images():
    w = file("images", "jax.image: resize and scale_and_translate.")
    sizes = (((5,), (8,)), ((8,), (3,)), ((4, 6), (6, 4)), ((2, 5, 3), (2, 11, 2)), ((3, 4), (3, 4)), ((7,), (1,)), ((1,), (4,)), ((3, 2), (0, 2)))
    for t in (*FLOATS, np.int32):
        for method in METHODS:
            for antialias in (0, 1):
                for old, new in sizes if t != np.int32 else sizes[:2]:
                    x = normal(t, *old) if t != np.int32 else rng.integers(-9, 9, old).astype(t)
                    record(w, "resize", lambda x: jax.image.resize(x, new, method, bool(antialias)), x, shape=new, method=METHODS[method], antialias=antialias, smooth=False)
    for t in FLOATS:
        for method in METHODS:
            if method == "nearest" or method == "cubic-pytorch":
                continue
            for antialias in (0, 1):
                for old, new, axes, scale, shift in (
                    ((6,), (6,), (0,), (1.3,), (-0.7,)),
                    ((6,), (4,), (0,), (0.55,), (0.4,)),
                    ((5, 2, 4), (7, 2, 3), (0, 2), (1.9, 0.7), (-1.3, 0.6)),
                ):
                    f = lambda x, s, d: jax.image.scale_and_translate(x, new, axes, s, d, method, bool(antialias))  # noqa: E731
                    record(w, "scale_and_translate", f, normal(t, *old), np.array(scale, t), np.array(shift, t), shape=new, axes=axes, method=METHODS[method], antialias=antialias, smooth=False)
    w.write()


def places():
    w = file("places", "Images between their elements, and products of groups of rows.")
    modes = ("constant", "nearest", "wrap", "mirror", "reflect")
    for t in (*FLOATS, np.int32):
        draw = (lambda *s: normal(t, *s)) if t != np.int32 else (lambda *s: rng.integers(-99, 99, s).astype(t))
        for order in (0, 1):
            for k, mode in enumerate(modes):
                f = lambda x, *c: jax.scipy.ndimage.map_coordinates(x, c, order, mode, cval=2)  # noqa: E731
                c = np.float64 if t == np.int32 else t
                record(w, "map_coordinates", f, draw(5), np.array([[-3.3, -0.4, 0.2], [2.5, 4.3, 9.9]], c), order=order, mode=k, smooth=False)
                record(w, "map_coordinates", f, draw(3, 4), uniform(c, -4, 8, 6), uniform(c, -4, 8, 6), order=order, mode=k, smooth=False)
    for t in FLOATS:
        for sizes in ((2, 0, 3), (1, 1, 1), (0, 0, 5)):
            record(w, "ragged_dot", lambda a, b, s: lax.ragged_dot(a, b, s.astype(jnp.int32)), normal(t, 5, 4), normal(t, 3, 4, 2), np.array(sizes))
    w.write()


def helpers():
    w = file("convolution_helpers", "conv_transpose and conv_general_dilated_patches.")
    nhwc = ("NHWC", "HWIO", "NHWC")
    for t in FLOATS:
        for padding in ("SAME", "VALID", "explicit"):
            for stride, dilation, k in ((1, 1, 3), (2, 1, 3), (3, 1, 2), (2, 2, 2)):
                for turned in (0, 1):
                    pads = [(1, 2)] if padding == "explicit" else padding
                    f = lambda x, w: lax.conv_transpose(x, w, [stride], pads, [dilation], ("NCH", "OIH", "NCH"), bool(turned))  # noqa: E731
                    channels = (2, 3) if turned else (3, 2)
                    record(w, "conv_transpose", f, normal(t, 2, 2, 4), normal(t, *channels, k), strides=stride, dilation=dilation, padding=padding, turned=turned, layout="none")
        f = lambda x, w: lax.conv_transpose(x, w, (2, 3), "SAME", None, nhwc, False)  # noqa: E731
        record(w, "conv_transpose", f, normal(t, 1, 3, 2, 2), normal(t, 3, 2, 2, 3), strides=(2, 3), dilation=1, padding="SAME", turned=0, layout="nhwc")
        for window, strides, padding, dilation in (((3,), (1,), [(0, 0)], (1,)), ((2,), (2,), [(1, 0)], (2,))):
            f = lambda x: lax.conv_general_dilated_patches(x, window, strides, padding, None, dilation)  # noqa: E731
            record(w, "patches", f, normal(t, 2, 3, 6), window=window, strides=strides, low=padding[0][0], high=padding[0][1], dilation=dilation, layout="none")
        f = lambda x: lax.conv_general_dilated_patches(x, (2, 3), (1, 1), "VALID", None, None, nhwc)  # noqa: E731
        record(w, "patches", f, normal(t, 1, 4, 5, 2), window=(2, 3), strides=(1, 1), low=0, high=0, dilation=(1, 1), layout="nhwc")
    w.write()


families = {f.__name__: f for f in (moves, einsum, folds, bits, dots, counts, places, helpers, images)}
if __name__ == "__main__":
    for name in sys.argv[1:] or families:
        rng = np.random.default_rng(20261127)  # of each family, so that one can be made alone
        families[name]()
