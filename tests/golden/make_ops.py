"""Values and gradients of JAX's operations on fixed inputs: one file a family, edge cases first."""

import records
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

FORMAT = """
A case holds the inputs x0, x1, ..., the parameters of the operation as text or integer fields, the outputs y0, y1, ...,
and, where there is a derivative, the cotangents ct0, ct1, ... of the floating outputs and the gradients g0, g1, ... of
the floating inputs. Texts: `axis` and other lists are separated by spaces.
"""
rng = np.random.default_rng(20261121)
FLOATS = (np.float64, np.float32)
NAN, INF = float("nan"), float("inf")


def file(name, about):
    return records.Writer(__file__, f"ops_{name}.txt", about.strip() + "\n" + FORMAT.strip())


def record(w, name, f, *xs, grad=True, only=None, **text):
    """One case: f(*xs), and its pull-back of a fixed cotangent (of the inputs listed in `only`, or of all)."""
    xs = [np.asarray(x) for x in xs]
    ys = f(*map(jnp.asarray, xs))
    many = isinstance(ys, (tuple, list))
    outs = list(ys) if many else [ys]
    arrays = {f"x{i}": x for i, x in enumerate(xs)} | {f"y{i}": y for i, y in enumerate(outs)}
    wrt = [i for i, x in enumerate(xs) if np.issubdtype(x.dtype, np.inexact) and (only is None or i in only)]
    floating = [i for i, y in enumerate(outs) if jnp.issubdtype(y.dtype, jnp.inexact)]
    if grad and wrt and floating:

        def g(*some):
            args = list(map(jnp.asarray, xs))
            for i, x in zip(wrt, some):
                args[i] = x
            r = f(*args)
            r = list(r) if many else [r]
            return [r[i] for i in floating]

        _, pull = jax.vjp(g, *(jnp.asarray(xs[i]) for i in wrt))
        cts = [np.asarray(np.cos(np.arange(outs[i].size) + 1.0).reshape(outs[i].shape), outs[i].dtype) for i in floating]
        arrays |= {f"ct{i}": ct for i, ct in zip(floating, cts)}
        arrays |= {f"g{i}": d for i, d in zip(wrt, pull([jnp.asarray(ct) for ct in cts]))}
    words = {k: " ".join(map(str, v)) if isinstance(v, (tuple, list)) else str(v) for k, v in text.items()}
    w.case(name, words, **arrays)


def normal(dtype, *shape):
    return rng.standard_normal(shape).astype(dtype)


def reduce():
    w = file("reduce", "Reductions, arg reductions and cumulative reductions. Gradients at ties of max and min are shared equally by the tied elements.")
    reductions = {"sum": jnp.sum, "prod": jnp.prod, "max": jnp.max, "min": jnp.min, "mean": jnp.mean, "var": jnp.var,
                  "std": jnp.std, "logsumexp": jax.nn.logsumexp}  # fmt: skip
    tied = [[1.0, 3.0, 3.0, -2.0], [3.0, 0.5, 3.0, 3.0], [-0.0, 0.0, -1.0, 0.0]]
    for t in FLOATS:
        inputs = [normal(t, 7), normal(t, 2, 3, 4), np.array(tied, t)]
        for name, f in reductions.items():
            for x in inputs:
                axes = [tuple(range(x.ndim))] + ([(1,), (0,), (0, x.ndim - 1)] if x.ndim > 1 else [])
                for axis in dict.fromkeys(axes):
                    record(w, name, lambda x: f(x, axis=axis), x, axis=axis)
            record(w, name, lambda x: f(x, axis=(0,)), np.zeros((1, 3), t) + 2, axis=(0,), grad=name != "std")
        for name in ("sum", "prod"):
            record(w, name, lambda x: reductions[name](x, axis=(1,)), np.zeros((2, 0, 3), t), axis=(1,))
        record(w, "prod", jnp.prod, np.array([2.0, 0.0, 3.0], t), axis=(0,))
        record(w, "prod", jnp.prod, np.array([2.0, 0.0, 0.0], t), axis=(0,))
        special = np.array([[1.0, NAN, 2.0], [INF, -INF, 0.0], [-0.0, 0.0, -0.0], [NAN, INF, 1.0]], t)
        for name in ("sum", "prod", "max", "min"):
            record(w, name, lambda x: reductions[name](x, axis=(1,)), special, axis=(1,), grad=False)
        for name, f in {"argmax": jnp.argmax, "argmin": jnp.argmin}.items():
            for x in (np.array(tied, t), special, normal(t, 2, 3, 4)):
                for axis in range(x.ndim):
                    record(w, name, lambda x: f(x, axis=axis), x, axis=axis)
        record(w, "logsumexp", lambda x: jax.nn.logsumexp(x, axis=(1,)),
               np.array([[-INF, -INF], [INF, 1.0], [1e4, 1e4], [-1e4, -INF]], t), axis=(1,), grad=False)  # fmt: skip
        cumulative = {"cumsum": lax.cumsum, "cumprod": lax.cumprod, "cummax": lax.cummax, "cummin": lax.cummin,
                      "cumlogsumexp": lax.cumlogsumexp}  # fmt: skip
        for name, f in cumulative.items():
            for x in (normal(t, 6), normal(t, 3, 4)):
                for axis in range(x.ndim):
                    for reverse in (False, True):
                        record(w, name, lambda x: f(x, axis=axis, reverse=reverse), x, axis=axis, reverse=int(reverse))
    for t in (np.int32, np.uint8, np.int64):
        x = np.array([[3, 1, 3], [7, 120, 101]], t)
        for name in ("sum", "prod", "max", "min"):
            record(w, f"lax_{name}", lambda x: getattr(lax, f"reduce_{name}")(x, (1,)), x, axis=(1,))
        record(w, "argmax", lambda x: jnp.argmax(x, axis=1), x, axis=1)
        record(w, "cumsum", lambda x: lax.cumsum(x, axis=1), x, axis=1, reverse=0)
    b = np.array([[True, False], [True, True], [False, False]])
    for name, f in {"any": jnp.any, "all": jnp.all}.items():
        record(w, name, lambda x: f(x, axis=(1,)), b, axis=(1,))
    record(w, "all", lambda x: jnp.all(x, axis=(1,)), np.zeros((2, 0), bool), axis=(1,))
    w.write()


def index():
    w = file("index", """
Indexing. `take`, `at_*`: along the first axis with modes clip, fill and drop (fill: out-of-range reads give NaN or the
type's extreme; drop: out-of-range writes are left out); negative indices count from the end. `at_*` with repeated
indices are applied in order; the gradient of `at_set` with repeated indices is not recorded.
`dynamic_slice` and `dynamic_update_slice` count negative starts from the end, then move the start so that the window lies
inside.""")  # fmt: skip
    indices = [np.array([0, 2, 1, 2]), np.array([-1, -4, 0]), np.array([5, -9, 3, 4]), np.array([[1, 7], [-5, 0]])]
    for t in FLOATS:
        for x in (normal(t, 4), normal(t, 4, 3)):
            for i in indices:
                for mode in ("clip", "fill"):
                    record(w, "take", lambda x, i: x.at[i].get(mode=mode), x, i, mode=mode)
                for mode in ("clip", "drop"):
                    u = normal(t, *i.shape, *x.shape[1:])
                    unique = len(np.unique(np.clip(i, 0, 3))) == i.size
                    for op in ("set", "add", "mul", "min", "max"):
                        if op == "set":
                            distinct = unique and mode == "drop"
                        # The gradient of repeated multiplication is refused by JAX; min and max have none.
                        has_gradient = op == "add" or (op == "set" and distinct)
                        record(w, f"at_{op}", lambda x, i, u: getattr(x.at[i], op)(u, mode=mode), x, i, u, mode=mode,
                               grad=has_gradient)  # fmt: skip
        x = normal(t, 4, 3)
        for i, j in [((0, 3, 1), (2, 0, 1)), ((-1, 4, 2), (0, 0, -3))]:
            record(w, "take_pairs", lambda x, i, j: x.at[i, j].get(mode="fill"), x, np.array(i), np.array(j), mode="fill")
            record(w, "add_pairs", lambda x, i, j, u: x.at[i, j].add(u, mode="drop"), x, np.array(i), np.array(j),
                   normal(t, 3), mode="drop")  # fmt: skip
        record(w, "take_along_axis", lambda x, i: jnp.take_along_axis(x, i, axis=1), x, np.array([[0, 2], [1, 1], [2, 0], [0, 0]]), axis=1)
        for start in [(0, 0), (1, 1), (3, 2), (-1, 0), (-9, 50)]:
            s = np.array(start)
            record(w, "dynamic_slice", lambda x, s: lax.dynamic_slice(x, (s[0], s[1]), (2, 2)), x, s, sizes=(2, 2))
            record(w, "dynamic_update_slice", lambda x, u, s: lax.dynamic_update_slice(x, u, (s[0], s[1])), x, normal(t, 2, 2), s)
    x = np.arange(5, dtype=np.int32)
    record(w, "take", lambda x, i: x.at[i].get(mode="fill"), x, indices[2], mode="fill")
    record(w, "take", lambda x, i: x.at[i].get(mode="fill"), x.astype(np.uint8), indices[2], mode="fill")
    record(w, "take", lambda x, i: x.at[i].get(mode="fill"), x > 2, indices[2], mode="fill")
    w.write()


def sort():
    w = file("sort", """
Sorting along an axis. NaNs (of either sign) come last; `sort` and `argsort` are stable, -0 and 0 are equal.
`sort_pairs` sorts x1 by the keys x0. `searchsorted` has sides left and right.""")  # fmt: skip
    for t in FLOATS:
        edge = np.array([2.0, NAN, -INF, 0.0, -0.0, np.finfo(t).tiny, INF, -1.0, NAN, -0.0, 0.0, 2.0], t)
        negative_nan = np.array([1.0, np.copysign(NAN, -1.0), -1.0], t)
        for x in (edge, negative_nan, normal(t, 9), np.array([2.0, 1.0, 2.0, 1.0, 2.0], t)):
            distinct = np.isfinite(x).all()
            record(w, "sort", jnp.sort, x, axis=0, grad=distinct)
            record(w, "sort_descending", lambda x: jnp.sort(x, descending=True), x, axis=0, grad=distinct)
            record(w, "argsort", jnp.argsort, x, axis=0)
            record(w, "argsort_descending", lambda x: jnp.argsort(x, descending=True), x, axis=0)
        x = normal(t, 3, 5)
        for axis in (0, 1):
            record(w, "sort", lambda x: jnp.sort(x, axis=axis), x, axis=axis)
            record(w, "argsort", lambda x: jnp.argsort(x, axis=axis), x, axis=axis)
        keys = np.array([3.0, 1.0, 3.0, NAN, 1.0, -2.0], t)
        record(w, "sort_pairs", lambda k, v: lax.sort((k, v), num_keys=1), keys, normal(t, 6), only=[1])
        record(w, "top_k", lambda x: lax.top_k(x, 3), normal(t, 2, 6), k=3)
        grid = np.array([-1.0, 0.0, 0.0, 2.0, 5.0], t)
        for side in ("left", "right"):
            record(w, "searchsorted", lambda a, v: jnp.searchsorted(a, v, side=side), grid,
                   np.array([-2.0, -1.0, 0.0, 1.0, 5.0, 6.0, NAN], t), side=side, grad=False)  # fmt: skip
    for t in (np.int32, np.uint8, bool):
        x = np.array([3, 0, 255, 3, 1, 0]).astype(t)
        record(w, "sort", jnp.sort, x, axis=0)
        record(w, "argsort", jnp.argsort, x, axis=0)
        record(w, "argsort_descending", lambda x: jnp.argsort(x, descending=True), x, axis=0)
    w.write()


def integer():
    w = file("integer", """
Integer arithmetic, its edges included: division and remainder by zero, the least value by -1, shifts by the width or
more, wrap-around. `div` and `rem` truncate, `floor_divide` and `mod` (the operators // and %) floor.""")  # fmt: skip
    binary = {"div": lax.div, "rem": lax.rem, "floor_divide": jnp.floor_divide, "mod": jnp.mod, "add": lax.add,
              "sub": lax.sub, "mul": lax.mul, "max": lax.max, "min": lax.min, "shift_left": lax.shift_left,
              "shift_right_arithmetic": lax.shift_right_arithmetic, "shift_right_logical": lax.shift_right_logical,
              "and": lax.bitwise_and, "or": lax.bitwise_or, "xor": lax.bitwise_xor}  # fmt: skip
    unary = {"neg": lax.neg, "abs": jnp.abs, "sign": jnp.sign, "not": lax.bitwise_not, "population_count": lax.population_count,
             "clz": lax.clz}  # fmt: skip
    for t in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64):
        lo, hi = np.iinfo(t).min, np.iinfo(t).max
        some = [lo, lo + 1, hi, hi - 1, 0, 1, 2, 3, 7, 31, 64] + ([-1, -2, -7] if lo else [])
        some = np.unique(np.array([v for v in some if lo <= v <= hi], dtype=t))
        a, b = (m.ravel() for m in np.meshgrid(some, some, indexing="ij"))
        for name, f in binary.items():
            record(w, name, f, a, b)
        for name, f in unary.items():
            record(w, name, f, some)
        bases = np.array([0, 1, 2, 3, hi] + ([-1, -2, -3, lo] if lo else []), dtype=t)
        powers = np.array([0, 1, 2, 3, 5, 31], dtype=t)
        a, b = (m.ravel() for m in np.meshgrid(bases, powers, indexing="ij"))
        record(w, "power", jnp.power, a, b)
    w.write()


def convert():
    w = file("convert", """
Conversions. Floating to integer truncates and saturates, NaN gives 0; integer to integer wraps; to a narrower floating
type rounds to nearest even; anything to bool is x != 0. The text `to` is the target's name. What XLA leaves undefined
(floating values outside the range of an 8- or 16-bit integer) and subnormal values, which it flushes, are left out.""")  # fmt: skip
    edges = [0.0, -0.0, 0.5, -0.5, 0.999, 1.5, -1.5, 2.5, 100.0, -100.0, NAN, INF, -INF, 127.0, 128.0, -128.0,
             -129.0, 255.9, 256.0, 32767.5, 65504.0, 65519.9, 65520.0, 2.0**24 + 1, 2.0**31 - 1, 2.0**31, -(2.0**31), -(2.0**31) - 1,
             2.0**32 - 1, 2.0**32, 2.0**53 + 1, 2.0**63 - 1024, 2.0**63, -(2.0**63), 2.0**64, 1e300, -1e300, 3.4028235677973366e38,
             1.0009765625, 1.00048828125, 1.00146484375, 1.00390625, 1.01171875]  # fmt: skip
    import ml_dtypes

    floats = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16]
    for source in floats:
        x = np.array(edges).astype(source)
        for to in floats:
            record(w, "convert", lambda x: x.astype(to), x, to=records.DTYPES[np.dtype(to).name], grad=False)
        for to in (np.int32, np.int64, np.uint32, np.uint64):
            record(w, "convert", lambda x: x.astype(to), x, to=records.DTYPES[np.dtype(to).name])
        for to in (np.int8, np.int16, np.uint8, np.uint16):
            info = np.iinfo(to)
            wide = x.astype(np.float64)
            inside = x[(wide > info.min - 1) & (wide < info.max + 1)]
            record(w, "convert", lambda x: x.astype(to), inside, to=records.DTYPES[np.dtype(to).name])
        record(w, "convert", lambda x: x.astype(bool), x, to="bool")
    integers = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
    for source in integers:
        info = np.iinfo(source)
        some = [info.min, info.min + 1, 0, 1, 100, info.max // 2, info.max // 2 + 1, info.max - 1, info.max, 2**24 + 1, 2**24 + 3, 2**53 + 1]
        x = np.array(sorted({v for v in some if info.min <= v <= info.max}), source)
        for to in integers + floats + [bool]:
            record(w, "convert", lambda x: x.astype(to), x, to=records.DTYPES[np.dtype(to).name])
    record(w, "convert", lambda x: x.astype(np.float32), normal(np.float64, 5), to="f32")
    record(w, "convert", lambda x: x.astype(np.float64), normal(np.float32, 5), to="f64")
    w.write()


def elementwise():
    w = file("elementwise", """
Elementwise functions on floating values, edges included, with gradients where they are finite and the point is inside
the domain (cases `NAME_edges` are values only).""")  # fmt: skip
    special = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 2.5, -2.5, INF, -INF, NAN]
    unary = {"sin": jnp.sin, "cos": jnp.cos, "tan": jnp.tan, "exp": jnp.exp, "exp2": jnp.exp2, "expm1": jnp.expm1, "tanh": jnp.tanh,
             "sinh": jnp.sinh, "cosh": jnp.cosh, "atan": jnp.arctan, "asinh": jnp.arcsinh, "cbrt": jnp.cbrt, "abs": jnp.abs,
             "sign": jnp.sign, "floor": jnp.floor, "ceil": jnp.ceil, "round": jnp.round, "square": jnp.square, "erf": jax.scipy.special.erf,
             "erfc": jax.scipy.special.erfc, "logistic": jax.nn.sigmoid, "neg": jnp.negative, "softplus": jax.nn.softplus,
             "relu": jax.nn.relu, "gelu": lambda x: jax.nn.gelu(x, approximate=False), "silu": jax.nn.silu, "elu": jax.nn.elu}  # fmt: skip
    positive = {"log": jnp.log, "log2": jnp.log2, "log10": jnp.log10, "sqrt": jnp.sqrt, "rsqrt": lax.rsqrt, "reciprocal": jnp.reciprocal}
    inside = {"asin": jnp.arcsin, "acos": jnp.arccos, "atanh": jnp.arctanh, "log1p": jnp.log1p, "erf_inv": jax.scipy.special.erfinv}
    binary = {"pow": jnp.power, "atan2": jnp.arctan2, "div": jnp.divide, "mod": jnp.mod, "rem": lax.rem, "floor_divide": jnp.floor_divide,
              "max": jnp.maximum, "min": jnp.minimum, "hypot": jnp.hypot, "nextafter": jnp.nextafter, "copysign": jnp.copysign,
              "logaddexp": jnp.logaddexp}  # fmt: skip
    no_gradient = {"nextafter", "copysign"}
    for t in FLOATS:
        # Away from the subnormal numbers, in inputs and results: whether those are flushed is XLA's affair.
        tiny, big = (1e-300, 1e307) if t is np.float64 else (1e-36, 1e37)
        edges = np.array(special + [tiny, big, -big]).astype(t)
        x = np.concatenate([normal(t, 8), (normal(t, 4) * 3).astype(t)])
        for name, f in unary.items():
            record(w, name, f, x)
            record(w, f"{name}_edges", f, edges, grad=False)
        for name, f in positive.items():
            record(w, name, f, np.abs(x) + t(0.01))
            record(w, f"{name}_edges", f, edges, grad=False)
        for name, f in inside.items():
            record(w, name, f, np.tanh(x))
            record(w, f"{name}_edges", f, edges, grad=False)
        for name in ("abs", "relu", "sign", "sqrt"):
            record(w, f"{name}_at_zero", (unary | positive)[name], np.array([0.0, -0.0], t))
        a, b = (m.ravel() for m in np.meshgrid(edges, edges, indexing="ij"))
        for name, f in binary.items():
            if name not in no_gradient:
                record(w, name, f, np.abs(x) + t(0.1) if name == "pow" else x, normal(t, 12) + t(0.05))
            record(w, f"{name}_edges", f, a, b, grad=False)
        record(w, "max_ties", jnp.maximum, np.array([1.0, 2.0, 0.0], t), np.array([1.0, 1.0, -0.0], t))
        record(w, "min_ties", jnp.minimum, np.array([1.0, 2.0, 0.0], t), np.array([1.0, 1.0, -0.0], t))
        record(w, "pow_zero_base", jnp.power, np.array([0.0, 0.0, 0.0], t), np.array([1.0, 2.0, 3.0], t))
        record(w, "pow_negative_base", jnp.power, np.array([-2.0, -1.5, -3.0], t), np.array([2.0, 3.0, -1.0], t), only=[0])
        for n in (-3, -1, 0, 1, 2, 3, 7):
            record(w, "integer_pow", lambda x: lax.integer_pow(x, n), x, n=n)
        record(w, "integer_pow_zero", lambda x: lax.integer_pow(x, 0), np.array([0.0, NAN, INF], t), n=0)
        record(w, "clamp", lambda lo, x, hi: lax.clamp(lo, x, hi), np.array([-1.0, -1.0, -1.0], t),
               np.array([-2.0, 0.3, 5.0], t), np.array([1.0, 1.0, 1.0], t))  # fmt: skip
        record(w, "clamp_edges", lambda lo, x, hi: lax.clamp(lo, x, hi), np.array([-1.0, -1.0, -INF], t),
               np.array([NAN, INF, -INF], t), np.array([1.0, 1.0, INF], t), grad=False)  # fmt: skip
        record(w, "where", lambda c, a, b: jnp.where(c, a, b), np.array([True, False, True]), normal(t, 3), normal(t, 3))
        for name in ("is_finite", "isnan", "isinf", "signbit"):
            record(w, name, {"is_finite": lax.is_finite, "isnan": jnp.isnan, "isinf": jnp.isinf, "signbit": jnp.signbit}[name], edges)
        for name in ("eq", "ne", "lt", "le", "gt", "ge"):
            record(w, name, getattr(lax, name), a, b)
    w.write()


def dot():
    w = file("dot", "Contractions: dot_general with any contracting and batch dimensions (texts lhs_contract, rhs_contract, lhs_batch, rhs_batch), and matmul with broadcasting.")
    forms = [((3,), (3,), ((0,), (0,)), ((), ())), ((2, 3), (3, 4), ((1,), (0,)), ((), ())), ((2, 3), (4, 3), ((1,), (1,)), ((), ())),
             ((3, 2), (3, 4), ((0,), (0,)), ((), ())), ((5, 2, 3), (5, 3, 4), ((2,), (1,)), ((0,), (0,))),
             ((2, 5, 3), (3, 4, 5), ((2,), (0,)), ((1,), (2,))), ((2, 3, 4), (4, 3, 5), ((1, 2), (1, 0)), ((), ())),
             ((2, 6, 3, 4), (6, 4, 2, 3), ((3, 2), (1, 3)), ((0, 1), (2, 0))), ((2, 3), (4, 5), ((), ()), ((), ())),
             ((4,), (4,), ((), ()), ((0,), (0,))), ((2, 0), (0, 3), ((1,), (0,)), ((), ())), ((17, 33), (33, 9), ((1,), (0,)), ((), ()))]  # fmt: skip
    for t in FLOATS:
        for ls, rs, contract, batch in forms:
            record(w, "dot_general", lambda a, b: lax.dot_general(a, b, (contract, batch), precision="highest"), normal(t, *ls), normal(t, *rs),
                   lhs_contract=contract[0], rhs_contract=contract[1], lhs_batch=batch[0], rhs_batch=batch[1])  # fmt: skip
        for ls, rs in [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 1, 2, 3), (4, 3, 2)), ((3,), (5, 3, 2))]:
            record(w, "matmul", lambda a, b: jnp.matmul(a, b, precision="highest"), normal(t, *ls), normal(t, *rs))
    for t in (np.int32, np.uint8, np.int64):
        a, b = rng.integers(0, 100, (3, 4)).astype(t), rng.integers(0, 100, (4, 2)).astype(t)
        record(w, "dot_general", lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ()))), a, b,
               lhs_contract=(1,), rhs_contract=(0,), lhs_batch=(), rhs_batch=())  # fmt: skip
    w.write()


def shape():
    w = file("shape", """
Shape operations. pad: texts lo, hi, interior; negative lo and hi crop. slice: texts start, limit, strides.""")
    for t in FLOATS:
        x = normal(t, 3, 4)
        record(w, "transpose", lambda x: jnp.transpose(x, (2, 0, 1)), normal(t, 2, 3, 4), permutation=(2, 0, 1))
        record(w, "reshape", lambda x: jnp.reshape(x, (2, 6)), x, shape=(2, 6))
        record(w, "rev", lambda x: lax.rev(x, (0,)), x, axes=(0,))
        record(w, "rev", lambda x: lax.rev(x, (0, 1)), x, axes=(0, 1))
        record(w, "concatenate", lambda a, b, c: jnp.concatenate([a, b, c], 1), x, normal(t, 3, 1), normal(t, 3, 0), axis=1)
        record(w, "broadcast_in_dim", lambda v: lax.broadcast_in_dim(v, (2, 3, 4), (1,)), normal(t, 3), shape=(2, 3, 4), dims=(1,))
        record(w, "broadcast_in_dim", lambda v: lax.broadcast_in_dim(v, (3, 4), (0, 1)), normal(t, 3, 1), shape=(3, 4), dims=(0, 1))
        for start, limit, strides in [((0, 0), (3, 4), (1, 1)), ((1, 0), (3, 4), (1, 2)), ((0, 3), (3, 4), (2, 3)), ((2, 2), (2, 4), (1, 1))]:
            record(w, "slice", lambda x: lax.slice(x, start, limit, strides), x, start=start, limit=limit, strides=strides)
        for lo, hi, interior in [((1, 0), (0, 2), (0, 0)), ((0, 0), (0, 0), (1, 2)), ((-1, 1), (1, -2), (0, 0)), ((-1, -2), (-1, 1), (1, 1)), ((2, -5), (-4, 3), (1, 0))]:
            record(w, "pad", lambda x, v: lax.pad(x, v, list(zip(lo, hi, interior))), x, np.array(0.75, t), lo=lo, hi=hi, interior=interior)
        record(w, "roll", lambda x: jnp.roll(x, (1, -2), (0, 1)), x, shift=(1, -2), axes=(0, 1))
        record(w, "tril", jnp.tril, x)
        record(w, "triu", lambda x: jnp.triu(x, 1), x, k=1)
        record(w, "repeat", lambda x: jnp.repeat(x, 2, axis=1), x, repeats=2, axis=1)
        record(w, "tile", lambda x: jnp.tile(x, (2, 1, 3)), x, repeats=(2, 1, 3))
        record(w, "linspace", lambda a, b: jnp.linspace(a, b, 7), np.array(-1.0, t), np.array(2.0, t), num=7)
    w.write()


# All of them draw from one stream: a family alone would have other inputs.
for family in (reduce, index, sort, integer, convert, elementwise, dot, shape):
    family()
