"""Values and gradients of the functions of NumPy, SciPy, jax.nn and jax.random that room `array` composes, one file a
family. Answers are JAX's; where it has no such function, or is off in edge cases or digits, NumPy's, SciPy's or mpmath's."""

import sys

import records
import jax
import jax.numpy as jnp
import jax.random as jr
import jax.scipy.special as jsp
import mpmath
import numpy as np
import scipy.special

FORMAT = """
A case holds the inputs x0, x1, ..., parameters as texts, the outputs y0, y1, ..., and, where there is a derivative, the
cotangents ct0, ct1, ... of the floating outputs and the gradients g0, g1, ... of the floating inputs. `text smooth 1`:
differences approximate the derivatives there.
"""
FLOATS = (np.float64, np.float32)
NAN, INF = float("nan"), float("inf")
EDGES = [-0.0, 0.0, 1.0, -1.0, INF, -INF, NAN, 5e-324, 1e-300, -2.5, 1e300]


def edges(t):
    return np.array([np.finfo(t).smallest_subnormal, np.finfo(t).tiny, np.finfo(t).max, *EDGES[:7], -2.5], t)


def normal(t, *shape):
    return np.asarray(rng.standard_normal(shape), t)


def uniform(t, low, high, *shape):
    return np.asarray(rng.uniform(low, high, shape), t)


def file(name, about):
    return records.Writer(__file__, f"array_{name}.txt", about.strip() + "\n" + FORMAT.strip())


def record(w, name, f, *xs, grad=True, smooth=None, y=None, slopes=None, **text):
    """One case: f(*xs), or the answers y, and JAX's pull-back of a fixed cotangent, or that of elementwise derivatives."""
    xs = [np.asarray(x) for x in xs]
    many = lambda r: list(r) if isinstance(r, (tuple, list)) else [r]  # noqa: E731
    outs = many(y if y is not None else f(*map(jnp.asarray, xs)))
    arrays = {f"x{i}": x for i, x in enumerate(xs)} | {f"y{i}": np.asarray(v) for i, v in enumerate(outs)}
    wrt = [i for i, x in enumerate(xs) if np.issubdtype(x.dtype, np.inexact)]
    floating = [i for i, v in enumerate(outs) if jnp.issubdtype(np.asarray(v).dtype, jnp.inexact)]
    if slopes is not None:
        ct = np.cos(np.arange(outs[0].size) + 1.0).reshape(outs[0].shape)
        arrays |= {"ct0": ct} | {f"g{i}": ct * d for i, d in enumerate(slopes)}
    elif grad and wrt and floating:

        def g(*some):
            args = list(map(jnp.asarray, xs))
            for i, x in zip(wrt, some):
                args[i] = x
            r = many(f(*args))
            return [r[i] for i in floating]

        ys, pull = jax.vjp(g, *(jnp.asarray(xs[i]) for i in wrt))
        cts = [np.asarray(np.cos(np.arange(v.size) + 1.0).reshape(v.shape), v.dtype) for v in ys]
        arrays |= {f"ct{i}": ct for i, ct in zip(floating, cts)}
        arrays |= {f"g{i}": d for i, d in zip(wrt, pull([jnp.asarray(ct) for ct in cts]))}
        if smooth is None:
            smooth = all(x.dtype in (np.float64, np.complex128) for x in (xs[i] for i in wrt))
        if smooth:
            text["smooth"] = 1
    words = {k: " ".join(map(str, v)) if isinstance(v, (tuple, list)) else str(v) for k, v in text.items()}
    w.case(name, words, **arrays)


def creation():
    w = file("creation", "Creation. logspace and geomspace: JAX's.")
    for t in FLOATS:
        for count in (0, 1, 5):
            for endpoint in (0, 1):
                n = dict(count=count, endpoint=endpoint)
                record(w, "linspace", lambda a, b: jnp.linspace(a, b, count, endpoint=bool(endpoint)), t(-1.5), t(2.0), axis=0, **n)
                record(w, "logspace", lambda a, b: jnp.logspace(a, b, count, endpoint=bool(endpoint)), t(-1.0), t(2.0), axis=0, **n)
                record(w, "geomspace", lambda a, b: jnp.geomspace(a, b, count, endpoint=bool(endpoint)), t(0.5), t(64.0), axis=0, **n)
        for axis in (0, 1, -1):
            record(w, "linspace", lambda a, b: jnp.linspace(a, b, 3, axis=axis), normal(t, 2), normal(t, 3, 1), count=3, endpoint=1, axis=axis)
        record(w, "logspace", lambda a, b: jnp.logspace(a, b, 3, axis=1), normal(t, 2), normal(t, 2), count=3, endpoint=1, axis=1)
        record(w, "geomspace", lambda a, b: jnp.geomspace(a, b, 4), t(-2.0), t(-100.0), count=4, endpoint=1, axis=0)
        for k in (-2, 0, 1, 5):
            record(w, "diagflat", lambda x: jnp.diag(x, k), normal(t, 3), k=k)
            record(w, "diagflat", lambda x: jnp.diagflat(x, k), normal(t, 2, 2), k=k)
            record(w, "diagonal", lambda x: jnp.diagonal(x, k), normal(t, 3, 4), k=k, axes=(0, 1))
            record(w, "diagonal", lambda x: jnp.diagonal(x, k, 2, 0), normal(t, 3, 2, 4), k=k, axes=(2, 0))
        record(w, "diagflat", lambda x: jnp.diag(x, 1), np.zeros(0, t), k=1)
        record(w, "vander", lambda x: jnp.vander(x, 4), normal(t, 3), n=4, increasing=0)
        record(w, "vander", lambda x: jnp.vander(x, 3, True), normal(t, 2), n=3, increasing=1)
        record(w, "vander", lambda x: jnp.vander(x, 0), normal(t, 2), n=0, increasing=0)
        record(w, "fill_diagonal", lambda x, v: jnp.fill_diagonal(x, v, inplace=False), normal(t, 3, 4), t(7.0))
        record(w, "fill_diagonal", lambda x, v: jnp.fill_diagonal(x, v, inplace=False), normal(t, 3, 3, 3), t(7.0))
        for matrix in (0, 1):
            for sparse in (0, 1):
                mode = dict(indexing="ij" if matrix else "xy", sparse=bool(sparse))
                record(w, "meshgrid", lambda *v: jnp.meshgrid(*v, **mode), normal(t, 3), normal(t, 2), normal(t, 4), matrix=matrix, sparse=sparse)
                record(w, "meshgrid", lambda *v: jnp.meshgrid(*v, **mode), normal(t, 3), normal(t, 0), matrix=matrix, sparse=sparse)
    for n, m, k in ((3, 4, 0), (4, 2, 1), (2, 2, -1), (0, 3, 0), (3, 3, -9)):
        w.case("tri", {"n": n, "m": m, "k": k}, y0=np.tri(n, m, k))
    for sizes in ((2, 3), (4,), (), (2, 0)):
        w.case("indices", {"sizes": " ".join(map(str, sizes))}, y0=np.indices(sizes))
    w.case("empty", {"n": 3}, y0=np.zeros(3))
    record(w, "empty_like", jnp.zeros_like, np.ones((2, 3), np.int32))
    w.write()


def elementwise():
    w = file("elementwise", "Elementwise functions. gcd, lcm, divmod of integers, frexp, ldexp, spacing, signbit: NumPy's.")
    unary = {"sinc": jnp.sinc, "deg2rad": jnp.deg2rad, "rad2deg": jnp.rad2deg, "nan_to_num": jnp.nan_to_num}
    binary = {"fmax": jnp.fmax, "fmin": jnp.fmin, "logaddexp2": jnp.logaddexp2, "float_power": jnp.float_power, "heaviside": jnp.heaviside}
    for t in FLOATS:
        for name, f in unary.items():
            record(w, name, f, normal(t, 7))
            record(w, name, f, t(0.25))
            record(w, name, f, np.zeros((2, 0), t), grad=False)
            record(w, name, f, edges(t), grad=False, y=np.sinc(edges(t)) if name == "sinc" else None)
        record(w, "sinc", jnp.sinc, np.array([0.0, -0.0, 1.0, -2.0, 0.3, 0.32, 40.25], t), smooth=False)
        for name, f in binary.items():
            positive = name == "float_power"
            draw = (lambda *s: uniform(t, 0.5, 2, *s)) if positive else (lambda *s: normal(t, *s))
            record(w, name, f, draw(5), draw(5))
            record(w, name, f, draw(2, 1), draw(3))
            e = edges(t)
            record(w, name, f, e[:, None], e[None, :], grad=False, y=getattr(np, name)(e[:, None], e) if name in ("fmax", "fmin", "heaviside", "logaddexp2") else None)
        record(w, "logaddexp2", jnp.logaddexp2, np.array([1.0, 3.0], t), np.array([1.0, 3.0], t))
        for q in (uniform(t, -9, 9, 6), edges(t)):
            with np.errstate(all="ignore"):
                record(w, "modf", None, q, grad=False, y=np.modf(q))
                m, e = np.frexp(q)
                e = np.where(np.isfinite(q), e, 0)
                record(w, "frexp", None, q, grad=False, y=(m, e.astype(np.int32)))
                plain = q[(np.abs(q) < np.finfo(t).max) & ~((q == 0) & np.signbit(q))]
                record(w, "spacing", None, plain, grad=False, y=np.spacing(plain))
                record(w, "signbit", None, q, grad=False, y=np.signbit(q))
                record(w, "isposinf", None, q, grad=False, y=np.isposinf(q))
                record(w, "isneginf", None, q, grad=False, y=np.isneginf(q))
                for decimals in (0, 2, -1):
                    finite = q[np.abs(q) < 1e30]
                    record(w, "round", None, finite, grad=False, y=np.round(finite, decimals), decimals=decimals)
        subnormals = (np.array([1, 3, 12345, 2**20 + 1], np.float64) * np.finfo(t).smallest_subnormal).astype(t)
        record(w, "frexp", None, subnormals, grad=False, y=(np.frexp(subnormals)[0], np.frexp(subnormals)[1].astype(np.int32)))
        x = np.array([1.0, -0.75, 1.0 - 2.0**-20, 5e-39, 3.0e38, 0.0, -0.0, INF, NAN], t)
        shifts = np.array([-5000, -1100, -1074, -1073, -1050, -1022, -160, -149, -148, -130, -126, -1, 0, 1, 100, 127, 128, 256, 1023, 1024, 2000, 5000], np.int32)
        with np.errstate(all="ignore"):
            record(w, "ldexp", None, x[:, None], shifts, grad=False, y=np.ldexp(x[:, None], shifts))
        record(w, "ldexp", jnp.ldexp, normal(t, 4), np.array([2, -3, 0, 1]))
        a, b = edges(t)[:, None], edges(t)
        for nan in (0, 1):
            with np.errstate(all="ignore"):
                record(w, "isclose", None, a, b, grad=False, y=np.isclose(a, b, equal_nan=bool(nan)), nan=nan)
        near = np.array([1.0, 1 + 1e-6, 1 + 1e-4, 1e-9, 0.0], t)
        record(w, "isclose", None, near[:, None], near, grad=False, y=np.isclose(near[:, None], near), nan=0)
        for p, q in ((near, near), (near, near[::-1]), (near, near[:2])):
            record(w, "array_equal", None, p, q, grad=False, y=np.array_equal(p, q))
            if p.shape == q.shape:
                record(w, "allclose", None, p, q, grad=False, y=np.allclose(p, q))
            record(w, "array_equiv", None, p, q, grad=False, y=np.array_equiv(p, q))
        record(w, "array_equiv", None, np.ones((3, 2), t), np.ones(2, t), grad=False, y=True)
        p, q = uniform(t, -9, 9, 8), uniform(t, 0.5, 4, 8)
        record(w, "divmod", lambda a, b: jnp.divmod(a, b), p, q, grad=False)
    for t in (np.int32, np.uint8, np.int64):
        p, q = np.array([12, 18, 0, 5, 7, 100, 0], t), np.array([18, 12, 5, 0, 7, 75, 0], t)
        if t != np.uint8:
            p, q = p * np.array([1, -1, 1, 1, -1, 1, 1], t), q * np.array([1, 1, -1, 1, -1, 1, 1], t)
        record(w, "gcd", None, p, q, y=np.gcd(p, q))
        record(w, "gcd", None, p[:, None], q[None, :3], y=np.gcd(p[:, None], q[None, :3]))
        record(w, "lcm", None, p, q, y=np.lcm(p, q))
        some = q != 0
        record(w, "divmod", None, p[some], q[some], y=np.divmod(p[some], q[some]))
        record(w, "signbit", None, p, y=p < 0)
        record(w, "round", None, p, y=p, decimals=1)
        record(w, "nan_to_num", None, p, y=p)
    record(w, "gcd", None, np.zeros(0, np.int64), np.zeros(0, np.int64), y=np.zeros(0, np.int64))
    for name, f in (unary | {"sinc": jnp.sinc}).items():
        if name != "nan_to_num":
            record(w, name, f, np.array([0, 1, 2, -3]))
    w.write()


def windows():
    w = file("windows", "Windows of NumPy; kaiser's derivatives are JAX's.")
    for t in FLOATS:
        for count in (0, 1, 2, 5, 8):
            for name in ("bartlett", "blackman", "hamming", "hanning"):
                w.case(name, {"count": count, "dtype": records.DTYPES[np.dtype(t).name]}, y0=getattr(np, name)(count).astype(t))
            for beta in (0.0, 0.5, 8.6, -3.0, 800.0 if t is np.float64 else 90.0):
                exact = [mpmath.besseli(0, beta * mpmath.sqrt(1 - (mpmath.mpf(2 * i) / max(count - 1, 1) - (count > 1)) ** 2)) / mpmath.besseli(0, beta) for i in range(count)]
                record(w, "kaiser", lambda b: jnp.kaiser(count, b).astype(b.dtype), t(beta), count=count, y=np.array([float(v) for v in exact], t), grad=beta in (0.5, 8.6))
    w.write()


def polynomial():
    w = file("polynomial", "Division, roots and fits of polynomials. Of a remainder the entries that JAX fills with zeros are left out.")

    def divided(u, v):
        q, r = jnp.polydiv(u, v)
        return (q, r[-max(min(u.size, v.size - 1), 1) :]) if u.size >= v.size else (q, r)

    for t in FLOATS:
        for n, m in ((5, 3), (4, 2), (3, 3), (2, 4), (6, 5)):
            lead = np.where(np.arange(m) == 0, 2, 0).astype(t)
            record(w, "polydiv", divided, normal(t, n), normal(t, m) * t(0.5) + lead)
        u = normal(t, 3)
        record(w, "polydiv", None, u, t([2.0]), y=(u / 2, np.zeros(1, t)), grad=False)
        for n in (0, 1, 2, 5):
            record(w, "poly", (lambda z: jnp.ones(1, t) * 1) if n == 0 else jnp.poly, normal(t, n), grad=n > 0)
        for m, degree in ((6, 2), (4, 3), (5, 0), (1, 0)):
            x, y = uniform(t, -2, 2, m), normal(t, m)
            weights = uniform(t, 0.5, 2, m)
            record(w, "polyfit", lambda x, y: jnp.polyfit(x, y, degree), x, y, degree=degree, weighted=0)
            record(w, "polyfit", lambda x, y, v: jnp.polyfit(x, y, degree, w=v), x, y, weights, degree=degree, weighted=1)
            record(w, "polyfit", lambda x, y, v: jnp.polyfit(x, y, degree, w=v), x, normal(t, m, 2), weights, degree=degree, weighted=1)
        record(w, "polyfit", None, uniform(t, 9, 10, 3), normal(t, 3, 0), y=np.zeros((2, 0), t), grad=False, degree=1, weighted=0)
    record(w, "polydiv", divided, np.array([4, 2, 6, 1]), np.array([2, 1]))
    record(w, "poly", jnp.poly, np.array([1, -2, 3], np.int32))
    x, y = np.arange(4), np.array([1, 3, 2, 5])  # JAX refuses integers here
    record(w, "polyfit", None, x, y, y=np.polyfit(x, y, 1), grad=False, degree=1, weighted=0)
    w.write()


def updates():
    w = file("updates", "x.at[x1].subtract(x2) and the like.")
    places = np.array([2, -1, 0]), np.array([[0, 0], [1, 7]]), np.zeros(0, np.int64), np.array(1)
    for t in FLOATS:
        for name in ("subtract", "divide", "power"):
            for i, mode in ((places[0], "drop"), (places[1], "drop"), (places[1], "clip"), (places[2], "drop"), (places[3], "drop")):
                # Of a product over an element that is named twice there is no derivative.
                x, v = uniform(t, 0.5, 2, 4, 3), uniform(t, 0.5, 2, *i.shape, 3)
                record(w, name, lambda x, i, v: getattr(x.at[i], name)(v, mode=mode), x, i, v, mode=mode, grad=name == "subtract" or (i.ndim == 0))
            record(w, name, lambda x, i, v: getattr(x.at[i], name)(v), t([0.0, -0.0, INF, -INF, NAN, -3.0]), np.array([1, 3]), t(2.0), mode="drop", grad=False)
        for i, mode in ((places[0], "drop"), (places[2], "drop"), (np.array([1, 9]), "drop"), (np.array([1, 9]), "clip")):
            # JAX has no derivative of it.
            record(w, "apply", lambda x, i: x.at[i].apply(jnp.sin, mode=mode), normal(t, 4, 3), i, mode=mode, grad=False)
    for t in (np.int8, np.uint16, np.int64, np.uint64):
        record(w, "subtract", lambda x, i, v: x.at[i].subtract(v), rng.integers(0, 9, (4, 3)).astype(t), places[1], rng.integers(0, 9, 3).astype(np.uint8), mode="drop")
    w.write()


def reduce_options():
    w = file("reduce_options", "Reductions of some elements (x1), with an initial value (the last input) and of a dtype.")
    totals = {"sum": jnp.sum, "prod": jnp.prod, "nansum": jnp.nansum, "nanprod": jnp.nanprod}
    means = {"mean": jnp.mean, "nanmean": jnp.nanmean, "var": jnp.var, "nanvar": jnp.nanvar, "std": jnp.std, "nanstd": jnp.nanstd}
    extrema = {"max": jnp.max, "min": jnp.min, "nanmax": jnp.nanmax, "nanmin": jnp.nanmin}
    truths = {"all": jnp.all, "any": jnp.any}
    axes = {(0, 1): None, (1,): 1, (): ()}

    def case(name, f, x, axis, keep=0, where=None, initial=None, dtype=None, ddof=None, **how):
        given = {"axis": axes[axis] if len(axis) != x.ndim else None, "keepdims": bool(keep)} | ({} if dtype is None else {"dtype": dtype}) | ({} if ddof is None else {"ddof": ddof})
        inputs = [x] + [v for v in (where, initial) if v is not None]

        def g(x, *rest):
            options = dict(zip([k for k, v in (("where", where), ("initial", initial)) if v is not None], rest))
            return f(x, **given, **options)

        texts = {} if dtype is None else {"dtype": records.DTYPES[np.dtype(dtype).name]}
        record(w, name, g, *inputs, axis=axis, keep=keep, where=int(where is not None), initial=int(initial is not None), ddof=ddof or 0, **texts, **how)

    some = np.array([[True, False, True, True], [False, True, True, False], [True, True, True, True]])
    none = np.array([[True], [False], [True]])
    for t in FLOATS:
        x = uniform(t, 0.5, 2, 3, 4) * np.where(rng.uniform(size=(3, 4)) < 0.5, -1, 1).astype(t)
        gaps = np.where(np.arange(12).reshape(3, 4) % 5 == 1, NAN, x).astype(t)
        other = np.float32 if t is np.float64 else np.float64
        for name, f in (totals | means | extrema).items():
            a = gaps if name.startswith("nan") else x
            how = dict(smooth=False) if name.startswith("nan") else {}
            spread = 1 if f in (jnp.var, jnp.nanvar, jnp.std, jnp.nanstd) else None
            start = {} if name in means else dict(initial=t(0.75))
            for axis, keep in (((0, 1), 0), ((1,), 1), ((1,), 0)):
                case(name, f, a, axis, keep, where=some, ddof=spread, **start, **how)
                if name in totals:
                    case(name, f, a, axis, keep, where=some, **how)
                if start:
                    case(name, f, a, axis, keep, **start, **how)
            case(name, f, t(1.5), (), where=np.array(True), **start, grad=spread is None)
            # Rows of which nothing counts; JAX's nan-forms of extrema are NaN there, NumPy's what is initial.
            if name not in ("nanmax", "nanmin"):
                # (JAX's derivatives of the variance are NaN there too, ours 0.)
                case(name, f, a, (1,), where=none, **start, grad=spread is None, smooth=False)
                case(name, f, np.zeros((2, 0), t), (1,), **start, grad=False) if name in totals or name in extrema else None
            if name not in extrema:
                case(name, f, a, (1,), dtype=other, smooth=False)
                case(name, f, np.arange(-3, 9).reshape(3, 4), (1,), where=some, dtype=t)
            if spread is not None:
                case(name, f, a, (1,), ddof=4, grad=False)
                case(name, f, a, (1,), ddof=3, where=some, smooth=False, grad=False)
        holes = np.array([[NAN, NAN], [1.0, NAN]], t)
        for name, f in (("nanmax", np.nanmax), ("nanmin", np.nanmin)):
            record(w, name, None, holes, t(0.5), y=f(holes, axis=1, initial=t(0.5)), grad=False, axis=(1,), keep=0, where=0, initial=1, ddof=0)
        case("logsumexp", jax.scipy.special.logsumexp, x, (1,), 1, where=some)
        case("logsumexp", jax.scipy.special.logsumexp, x, (0, 1), where=none)
        case("logsumexp", jax.scipy.special.logsumexp, x, (1,), where=none, grad=False)
    for t in (np.int8, np.uint16, np.int32, np.int64, np.uint64, bool):
        x = rng.integers(0, 3, (3, 4)).astype(t)
        for name, f in (totals | extrema | truths).items():
            start = t(1) if t is bool else t(2)
            if name in truths:
                case(name, f, x, (1,), where=some)
                case(name, f, x, (0, 1), where=np.zeros(4, bool))
                continue
            case(name, f, x, (1,), where=some, initial=start)
            case(name, f, np.zeros((2, 0), t), (1,), initial=start)
            if name in totals:
                for dtype in (np.float32, np.int16, np.uint8, bool):
                    case(name, f, x, (1,), where=some, dtype=dtype)
    w.write()


def reduce():
    w = file("reduce", "Reductions.")
    holes = np.array([[1.5, NAN, -2.0, 0.5], [NAN, NAN, NAN, NAN], [3.0, 3.0, NAN, -1.0]])
    plain = {"ptp": jnp.ptp, "nansum": jnp.nansum, "nanprod": jnp.nanprod, "nanmean": jnp.nanmean, "nanmax": jnp.nanmax,
             "nanmin": jnp.nanmin, "count_nonzero": jnp.count_nonzero, "median": jnp.median, "nanmedian": jnp.nanmedian}  # fmt: skip
    one = {"nanargmax": jnp.nanargmax, "nanargmin": jnp.nanargmin}
    for t in FLOATS:
        x = normal(t, 2, 3, 4)
        gaps = np.where(rng.uniform(size=x.shape) < 0.3, NAN, x).astype(t)
        for name, f in plain.items():
            for a in (x, gaps) if name.startswith("nan") else (x,):
                for axis in ((0, 1, 2), (1,), (0, 2), (-1,)):
                    for keep in (0, 1):
                        jaxis = None if len(axis) == 3 else axis
                        if name.endswith("median") and keep == 0 and axis == (0, 2):
                            continue
                        record(w, name, lambda x: f(x, axis=jaxis, keepdims=bool(keep)), a, axis=axis, keep=keep, smooth=False if a is gaps else None)
            record(w, name, lambda x: f(x), t(1.5), axis=(), keep=0)
        for name, f in plain.items():
            if name.startswith("nan"):
                record(w, name, lambda x: f(x, axis=1), holes.astype(t), axis=(1,), keep=0, grad=False)
        for name, f in one.items():
            record(w, name, lambda x: f(x, axis=1), holes.astype(t), axis=(1,), keep=0)
            record(w, name, lambda x: f(x, axis=-1, keepdims=True), x, axis=(-1,), keep=1)
        for ddof in (0, 1):
            for name, f in (("nanvar", jnp.nanvar), ("nanstd", jnp.nanstd)):
                record(w, name, lambda x: f(x, axis=1, ddof=ddof), np.delete(holes, 1, 0).astype(t), axis=(1,), ddof=ddof, keep=0, smooth=False)
                record(w, name, lambda x: f(x, axis=(0, 2), ddof=ddof), x, axis=(0, 2), ddof=ddof, keep=0)
                record(w, name, lambda x: f(x, axis=1, ddof=ddof), holes.astype(t), axis=(1,), ddof=ddof, keep=0, grad=False)
        for name, f in (("nancumsum", jnp.nancumsum), ("nancumprod", jnp.nancumprod)):
            for axis in (0, 1, -1):
                record(w, name, lambda x: f(x, axis=axis), holes.astype(t), axis=axis, smooth=False)
        for name, f in (("cumulative_sum", jnp.cumulative_sum), ("cumulative_prod", jnp.cumulative_prod)):
            for initial in (0, 1):
                record(w, name, lambda x: f(x, axis=1, include_initial=bool(initial)), x, axis=1, initial=initial)
                record(w, name, lambda x: f(x, axis=-2, include_initial=bool(initial)), x, axis=-2, initial=initial)
        record(w, "average", lambda x: jnp.average(x), x, axis=())
        for axis, weights in ((1, normal(t, 3)), ((0, 2), normal(t, 2, 4)), (0, normal(t, 2, 3, 4)), (-1, uniform(t, 1, 2, 4))):
            record(w, "average", lambda x, v: jnp.average(x, axis=axis, weights=v), x, weights + t(3), axis=axis if isinstance(axis, tuple) else (axis,))
        for method in ("linear", "lower", "higher", "midpoint", "nearest"):
            for q in (t(0.3), np.array([0.0, 0.5, 0.77, 1.0], t)):
                for name, f in (("quantile", jnp.quantile), ("nanquantile", jnp.nanquantile)):
                    a = gaps if name.startswith("nan") else x
                    record(w, name, lambda x: f(x, q, axis=1, method=method), a, q=list(np.atleast_1d(q)), vector=np.ndim(q), method=method, axis=(1,), keep=0,
                           smooth=False if a is gaps else None)  # fmt: skip
        record(w, "quantile", lambda x: jnp.quantile(x, np.array([0.25, 0.5])), x, q=(0.25, 0.5), vector=1, method="linear", axis=(0, 1, 2), keep=0)
        record(w, "quantile", lambda x: jnp.quantile(x, 0.25, axis=(0, 2), keepdims=True), x, q=0.25, vector=0, method="linear", axis=(0, 2), keep=1)
        record(w, "quantile", lambda x: jnp.quantile(x, 0.25, axis=1), holes.astype(t), q=0.25, vector=0, method="linear", axis=(1,), keep=0, grad=False)
        record(w, "nanquantile", lambda x: jnp.nanquantile(x, 0.25, axis=1), holes.astype(t), q=0.25, vector=0, method="linear", axis=(1,), keep=0, grad=False)
        record(w, "percentile", lambda x: jnp.percentile(x, 30.0, axis=2), x, q=30.0, vector=0, method="linear", axis=(2,), keep=0)
        record(w, "nanpercentile", lambda x: jnp.nanpercentile(x, 30.0, axis=2), gaps, q=30.0, vector=0, method="linear", axis=(2,), keep=0, smooth=False)
    x = np.array([[3, 1, 2], [0, 7, 7]])
    for name in ("ptp", "nansum", "nanmax", "nanmean", "count_nonzero", "median"):
        record(w, name, lambda x: plain[name](x, axis=1), x, axis=(1,), keep=0)
    record(w, "count_nonzero", jnp.count_nonzero, np.zeros((2, 0)), axis=(0, 1), keep=0)
    record(w, "nansum", jnp.nansum, np.zeros((2, 0)), axis=(0, 1), keep=0)
    record(w, "nanmean", jnp.nanmean, np.zeros(0), axis=(0,), keep=0, grad=False)
    w.write()


def product():
    w = file("product", "Products.")
    for t in FLOATS:
        record(w, "vecdot", lambda a, b: jnp.vecdot(a, b), normal(t, 2, 3), normal(t, 3), axis=-1)
        record(w, "vecdot", lambda a, b: jnp.vecdot(a, b, axis=0), normal(t, 3, 2), normal(t, 3, 1), axis=0)
        record(w, "vecdot", lambda a, b: jnp.vecdot(a, b), normal(t, 2, 0), normal(t, 2, 0), axis=-1)
        record(w, "matvec", jnp.matvec, normal(t, 2, 3), normal(t, 3))
        record(w, "matvec", jnp.matvec, normal(t, 4, 1, 2, 3), normal(t, 5, 3))
        record(w, "vecmat", jnp.vecmat, normal(t, 2), normal(t, 2, 3))
        record(w, "vecmat", jnp.vecmat, normal(t, 5, 2), normal(t, 4, 1, 2, 3))
        for a, b in (((2, 3), (3, 2)), ((2,), (3, 2)), ((2, 1, 2), (3,)), ((), (3,)), ((2,), (0,))):
            record(w, "kron", jnp.kron, normal(t, *a), normal(t, *b))
        record(w, "cross", jnp.cross, normal(t, 3), normal(t, 3), axes=(-1, -1, -1))
        record(w, "cross", jnp.cross, normal(t, 4, 3), normal(t, 3), axes=(-1, -1, -1))
        record(w, "cross", lambda a, b: jnp.cross(a, b, 0, 1, 0), normal(t, 3, 4), normal(t, 4, 3), axes=(0, 1, 0))
        record(w, "cross", jnp.cross, normal(t, 5, 2), normal(t, 5, 2), axes=(-1, -1, -1))
        record(w, "cross", jnp.cross, normal(t, 5, 2), normal(t, 5, 3), axes=(-1, -1, -1))
        record(w, "cross", jnp.cross, normal(t, 3), normal(t, 2), axes=(-1, -1, -1))
        for k in (-1, 0, 2, 9):
            record(w, "trace", lambda x: jnp.trace(x, k), normal(t, 3, 4), k=k, axes=(0, 1))
        record(w, "trace", lambda x: jnp.trace(x, 0, 2, 0), normal(t, 3, 2, 4), k=0, axes=(2, 0))
    for t in (np.int32, np.int64):
        record(w, "kron", jnp.kron, np.array([1, 2], t), np.array([3, 4], t))
        record(w, "cross", jnp.cross, np.array([1, 2, 3], t), np.array([3, 4, 5], t), axes=(-1, -1, -1))
        record(w, "matvec", jnp.matvec, np.arange(6, dtype=t).reshape(2, 3), np.arange(3, dtype=t))
        record(w, "trace", lambda x: jnp.trace(x), np.arange(6, dtype=np.int64).reshape(2, 3), k=0, axes=(0, 1))
    w.write()


def shape():
    w = file("shape", "Shapes. LinearRamp and the statistics of pad: NumPy's.")
    for t in (np.float64, np.float32, np.int32):
        draw = (lambda *s: normal(t, *s)) if t != np.int32 else (lambda *s: rng.integers(-9, 9, s).astype(t))
        x = draw(2, 3, 4)
        for axis, start in ((2, 0), (0, 2), (1, 3), (-1, 1), (0, -1)):
            record(w, "rollaxis", lambda x: jnp.rollaxis(x, axis, start), x, axis=axis, start=start)
        record(w, "matrix_transpose", jnp.matrix_transpose, x)
        record(w, "broadcast_arrays", lambda *a: jnp.broadcast_arrays(*a), draw(3, 1), draw(4), draw())
        for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
            for s in ((), (3,), (2, 3), (1, 2, 3, 2)):
                record(w, name, lambda x: getattr(jnp, name)(x), draw(*s))
        for name in ("hstack", "vstack", "dstack", "column_stack"):
            record(w, name, lambda *a: getattr(jnp, name)(a), draw(3), draw(3))
            record(w, name, lambda *a: getattr(jnp, name)(a), draw(2, 3), draw(2, 3))
        record(w, "hstack", lambda *a: jnp.hstack(a), draw(2), draw(0), draw())
        record(w, "column_stack", lambda *a: jnp.column_stack(a), draw(2), draw(2, 3))
        record(w, "block", lambda a, b, c, d: jnp.block([[a, b], [c, d]]), draw(2, 2), draw(2, 3), draw(1, 2), draw(1, 3))
        record(w, "append", lambda a, b: jnp.append(a, b), draw(2, 2), draw(3), axis="none")
        record(w, "append", lambda a, b: jnp.append(a, b, axis=1), draw(2, 2), draw(2, 1), axis=1)
        for places in ((1,), (0, 3), (2, 0, 2), (-1,), ()):
            n = len(places)
            record(w, "insert", lambda a, v: jnp.insert(a, np.array(places, int), v, axis=1), draw(2, 3), draw(2, n), places=places, axis=1)
            kept = tuple(p for p in places if p < 3)
            record(w, "delete", lambda a: jnp.delete(a, np.array(kept, int), axis=1), draw(2, 3), places=kept, axis=1)
        record(w, "insert", lambda a, v: jnp.insert(a, np.array([1, 2]), v, axis=0), draw(3), draw(), places=(1, 2), axis=0)
        for n in (1, 2, 3, 5):
            record(w, "array_split", lambda x: jnp.array_split(x, n, 2), x, n=n, axis=2)
        record(w, "hsplit", lambda x: jnp.hsplit(x, 3), x, n=3)
        record(w, "hsplit", lambda x: jnp.hsplit(x, 3), draw(6), n=3)
        record(w, "vsplit", lambda x: jnp.vsplit(x, 2), x, n=2)
        record(w, "dsplit", lambda x: jnp.dsplit(x, 2), x, n=2)
        record(w, "fliplr", jnp.fliplr, x)
        record(w, "flipud", jnp.flipud, x)
        for k in (-1, 0, 1, 2, 3, 6):
            record(w, "rot90", lambda x: jnp.rot90(x, k), x, k=k, axes=(0, 1))
        record(w, "rot90", lambda x: jnp.rot90(x, 1, (2, 1)), x, k=1, axes=(2, 1))
        record(w, "roll", lambda x: jnp.roll(x, (1, -5), (0, 2)), x, shift=(1, -5), axes=(0, 2))
        record(w, "repeat", lambda x: jnp.repeat(x, np.array([2, 0, 3]), axis=1, total_repeat_length=5), x, counts=(2, 0, 3), axis=1)
        record(w, "repeat", lambda x: jnp.repeat(x, np.array([0, 0]), axis=0, total_repeat_length=0), x, counts=(0, 0), axis=0)
        for s in ((2, 5), (3,), (0, 2), ()):
            record(w, "resize", lambda x: jnp.resize(x, s), draw(2, 2), shape=s)
        record(w, "resize", lambda x: jnp.resize(x, (2, 2)), draw(0), shape=(2, 2))
        for mode in ("edge", "reflect", "symmetric", "wrap"):
            for low, high in (((1, 2), (0, 1)), ((0, 7), (4, 9)), ((0, 0), (0, 0))):
                record(w, "pad", lambda x: jnp.pad(x, list(zip(low, high)), mode), draw(2, 3), mode=mode, low=low, high=high, length=0)
            record(w, "pad", lambda x: jnp.pad(x, [(2, 1)], mode), draw(1), mode=mode, low=(2,), high=(1,), length=0)
        if t != np.int32:
            for mode in ("maximum", "minimum", "mean", "median"):
                for length in (0, 2):
                    kw = {"stat_length": length} if length else {}
                    record(w, "pad", lambda x: jnp.pad(x, [(1, 2), (0, 3)], mode, **kw), draw(3, 4), mode=mode, low=(1, 0), high=(2, 3), length=length)
            record(w, "pad", lambda x: jnp.pad(x, [(1, 3), (0, 2)], "linear_ramp", end_values=0.5), draw(2, 3), mode="linear_ramp", low=(1, 0), high=(3, 2), length=0)
    w.write()


def index():
    w = file("index", "Indexing. ravel_multi_index, choose: JAX's with the modes clip and wrap.")
    for t in FLOATS:
        x = normal(t, 3, 4)
        i = np.array([[0, 2, 3], [1, 1, 0], [-1, 2, 0]])
        unique = np.array([[0, 2], [3, 1], [-1, 2]])
        record(w, "put_along_axis", lambda x, i, v: jnp.put_along_axis(x, i, v, 1, inplace=False), x, unique, normal(t, 3, 2), axis=1)
        record(w, "put_along_axis", lambda x, i, v: jnp.put_along_axis(x, i, v, 0, inplace=False), x, np.array([[0, 2, 1, -1]]), normal(t), axis=0)
        c = [np.array(v) for v in ([True, False, False, True], [True, True, False, False])]
        record(w, "select", lambda c, d, a, b, e: jnp.select([c, d], [a, b], e), *c, normal(t, 4), normal(t, 3, 4), normal(t))
        for mode in ("clip", "wrap"):
            record(w, "choose", lambda i, a, b, c: jnp.choose(i, [a, b, c], mode=mode), np.array([0, 2, -1, 5]), normal(t, 4), normal(t, 2, 4), normal(t), mode=mode)
    for name in ("tril_indices", "triu_indices"):
        for n, k, m in ((3, 0, 3), (2, 1, 4), (4, -1, 2), (0, 0, 0)):
            w.case(name, {"n": n, "k": k, "m": m}, **dict(zip(("y0", "y1"), getattr(np, name)(n, k, m))))
    for n, d in ((3, 2), (2, 3), (0, 2)):
        w.case("diag_indices", {"n": n, "d": d}, **{f"y{i}": v for i, v in enumerate(np.diag_indices(n, d))})
    record(w, "ix", lambda a, b: jnp.ix_(a, b), np.array([0, 2]), np.array([1, 2, 3]))
    for s in ((2, 3, 4), (7,), (1, 1)):
        record(w, "unravel_index", lambda i: jnp.unravel_index(i, s), np.array([[0, 5], [1, -1]]) % max(2, int(np.prod(s))), shape=s)
    record(w, "unravel_index", lambda i: jnp.unravel_index(i, (2, 3)), np.array([0, 5, 99, -1, -6]), shape=(2, 3))
    for mode in ("clip", "wrap"):
        record(w, "ravel_multi_index", lambda a, b: jnp.ravel_multi_index((a, b), (3, 4), mode=mode), np.array([0, 2, 5, -1]), np.array([3, 1, 9, -2]), mode=mode, shape=(3, 4))
    w.write()


def sort():
    w = file("sort", "Sorting and sets, and results whose size depends on values: text size, -1 for exact ones (NumPy's).")
    top_k = lambda x, k: (lambda y: (y[0], y[1].astype(np.int64)))(jax.lax.top_k(x, k))  # noqa: E731
    for t in (np.float64, np.float32, np.int64):
        x = np.array([[3, 1, 2, 1], [0, -1, 0, 5]], t)
        e = np.array([2.0, NAN, -INF, 0.0, -0.0, INF, NAN, -1.0], t) if t != np.int64 else np.array([3, -2, 3, 0], t)
        for down in (0, 1):
            for a, axis in ((x, 1), (x, 0), (x, -1), (e, 0)):
                distinct = False
                record(w, "sort", lambda x: jnp.sort(x, axis=axis, descending=bool(down)), a, axis=axis, down=down, grad=distinct)
                record(w, "argsort", lambda x: jnp.argsort(x, axis=axis, descending=bool(down), stable=True), a, axis=axis, down=down)
        if t != np.int64:
            d = normal(t, 3, 5)
            for down in (0, 1):
                record(w, "sort", lambda x: jnp.sort(x, axis=0, descending=bool(down)), d, axis=0, down=down)
            for k in (0, 2, 5):
                record(w, "top_k", lambda x: top_k(x, k), d, k=k)
            record(w, "top_k", lambda x: top_k(x, 8), e, k=8, grad=False)
        record(w, "top_k", lambda x: top_k(x, 3), x, k=3, grad=False)
        record(w, "lexsort", lambda a, b: jnp.lexsort((a, b)), np.array([1, 5, 1, 4, 3, 4, 4], t), np.array([9, 4, 0, 4, 0, 2, 1], t), axis=-1)
        record(w, "lexsort", lambda a, b: jnp.lexsort((a, b), axis=0), x, x[::-1], axis=0)
        for a in (x, e, np.zeros(0, t)):
            for size in (-1, 0, 3, 12):
                kw = {} if size < 0 else {"size": size}
                if a.size or size <= 0:
                    record(w, "unique", lambda x: jnp.unique(x, **kw), a, size=size, grad=False)
                if size < 0 and a.size:
                    full = jnp.unique(a, return_index=True, return_inverse=True, return_counts=True)
                    record(w, "unique_all", None, a, size=size, grad=False, y=(full[0], *(v.astype(np.int64) for v in full[1:])))
                if a.size or size <= 0:
                    record(w, "nonzero", lambda x: jnp.nonzero(x, **kw), a, size=size, grad=False)
                    record(w, "flatnonzero", lambda x: jnp.flatnonzero(x, **kw), a, size=size, grad=False)
                    record(w, "argwhere", lambda x: jnp.argwhere(x, **kw), a, size=size, grad=False)
                    if size <= a.size:
                        record(w, "extract", lambda x: jnp.extract(x > 1, x, **kw), a, size=size, grad=False)
        for size in (-1, 1, 3):
            kw = {} if size < 0 else {"size": size, "fill_value": 0}
            record(w, "compress", lambda x: jnp.compress(np.array([True, False, True]), x, axis=1, **kw), x, size=size, axis=1, grad=False)
        a, b = np.array([3, 1, 2, 1, 7], t), np.array([1, 4, 3, 3], t)
        for size in (-1, 1, 2):
            kw = {} if size < 0 else {"size": size}
            for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d"):
                if size < 0 or name in ("union1d",):
                    record(w, name, lambda a, b: getattr(jnp, name)(a, b, **kw), a, b, size=size, grad=False)
        record(w, "isin", lambda a, b: jnp.isin(a, b), x, b, grad=False)
        record(w, "isin", lambda a, b: jnp.isin(a, b), e, e[1:3], grad=False)
        record(w, "isin", lambda a, b: jnp.isin(a, b), x, np.zeros(0, t), grad=False)
    i = np.array([1, 4, 1, 0, -3, 9])
    record(w, "bincount", lambda i: jnp.bincount(i), np.array([1, 4, 1, 0]), length=-1)
    record(w, "bincount", lambda i: jnp.bincount(i), np.zeros(0, np.int64), length=-1)
    record(w, "bincount", lambda i: jnp.bincount(i, length=5), i, length=5)
    record(w, "bincount", lambda i, v: jnp.bincount(i, v, length=5), i, normal(np.float64, 6), length=5)
    w.write()


def calculus():
    w = file("calculus", "Differences, integrals, interpolation and polynomials. cumulative_trapezoid: SciPy's formula.")
    for t in FLOATS:
        xp, fp = np.array([0.0, 1.0, 2.5, 4.0], t), normal(t, 4)
        x = np.array([-1.0, 0.25, 1.7, 3.9, 4.3], t)
        record(w, "interp", jnp.interp, x, xp, fp, ends="none")
        record(w, "interp", lambda x, xp, fp: jnp.interp(x, xp, fp, left=-7.0, right=9.0), x, xp, fp, ends="both")
        record(w, "interp", lambda x, xp, fp: jnp.interp(x, xp, fp, period=4.5), x, xp, fp, ends="period")
        record(w, "interp", jnp.interp, np.array([0.0, 1.0, 4.0, NAN, INF, -INF], t), xp, fp, ends="none", grad=False)
        record(w, "interp", jnp.interp, x, np.array([0.0, 1.0, 1.0, 4.0], t), fp, ends="none", grad=False)
        record(w, "interp", lambda x, xp, fp: jnp.interp(x, xp, fp), normal(t, 2, 2), xp, fp, ends="none")
        f = normal(t, 3, 5)
        record(w, "gradient", lambda f: jnp.gradient(f, axis=1), f, axis=1)
        record(w, "gradient", lambda f, h: jnp.gradient(f, h, axis=0), f, t(0.5), axis=0)
        record(w, "gradient", lambda f, h: jnp.gradient(f, h, axis=1), f, np.cumsum(uniform(t, 0.5, 1, 5)).astype(t), axis=1)
        record(w, "gradient", lambda f: jnp.gradient(f), normal(t, 2), axis=0)
        for n in (0, 1, 2, 6):
            record(w, "diff", lambda f: jnp.diff(f, n=n), f, n=n, axis=-1, ends=0)
        record(w, "diff", lambda f, a, b: jnp.diff(f, n=2, axis=0, prepend=a, append=b), f, normal(t, 1, 5), normal(t), n=2, axis=0, ends=1)
        record(w, "ediff1d", lambda x: jnp.ediff1d(x), f, ends=0)
        record(w, "ediff1d", lambda x, a, b: jnp.ediff1d(x, b, a), f, normal(t, 2), normal(t), ends=1)
        record(w, "trapezoid", lambda y: jnp.trapezoid(y), f, axis=-1, ends="none")
        record(w, "trapezoid", lambda y, d: jnp.trapezoid(y, dx=d, axis=0), f, t(0.5), axis=0, ends="dx")
        record(w, "trapezoid", lambda y, x: jnp.trapezoid(y, x), f, normal(t, 5), axis=-1, ends="x")
        record(w, "trapezoid", lambda y, x: jnp.trapezoid(y, x, axis=0), f, normal(t, 3, 5), axis=0, ends="x")
        record(w, "trapezoid", lambda y: jnp.trapezoid(y), normal(t, 1), axis=-1, ends="none", grad=False)
        step = lambda y: 0.5 * (y[..., 1:] + y[..., :-1])  # noqa: E731
        record(w, "cumulative_trapezoid", lambda y: jnp.cumsum(step(y), -1), f, axis=-1, ends="none")
        record(w, "cumulative_trapezoid", lambda y, x: jnp.cumsum(step(y) * jnp.diff(x), -1), f, normal(t, 5), axis=-1, ends="x")
        angles = uniform(t, -20, 20, 3, 6)
        record(w, "unwrap", lambda x: jnp.unwrap(x), angles, axis=-1)
        record(w, "unwrap", lambda x: jnp.unwrap(x, axis=0), angles, axis=0)
        record(w, "polyval", lambda p, x: jnp.polyval(p, x), normal(t, 4), normal(t, 2, 3))
        record(w, "polyval", lambda p, x: jnp.polyval(p, x), np.zeros(0, t), normal(t, 3))
        for name in ("polyadd", "polysub", "polymul"):
            record(w, name, lambda a, b: getattr(jnp, name)(a, b), normal(t, 4), normal(t, 2))
        for m in (0, 1, 3):
            record(w, "polyder", lambda p: jnp.polyder(p, m), normal(t, 5), m=m)
            record(w, "polyint", lambda p: jnp.polyint(p, m), normal(t, 3), m=m)
    i = np.array([0, 7, 3, 12, 1])
    record(w, "unwrap", lambda x: jnp.unwrap(x, period=8), i, axis=-1, period=8)
    record(w, "diff", lambda f: jnp.diff(f, n=2), i, n=2, axis=-1, ends=0)
    w.write()


def statistics():
    w = file("statistics", "Convolution, covariance, histograms, segments.")
    for t in FLOATS:
        for mode in ("full", "same", "valid"):
            for n, m in ((5, 3), (3, 5), (4, 4), (6, 1), (5, 2), (2, 5)):
                record(w, "convolve", lambda a, b: jnp.convolve(a, b, mode), normal(t, n), normal(t, m), mode=mode)
                record(w, "correlate", lambda a, b: jnp.correlate(a, b, mode), normal(t, n), normal(t, m), mode=mode)
        x = normal(t, 3, 6)
        for rows in (0, 1):
            record(w, "cov", lambda x: jnp.cov(x, rowvar=bool(rows)), x, rows=rows, ddof=1, extra="none")
            record(w, "corrcoef", lambda x: jnp.corrcoef(x, rowvar=bool(rows)), x, rows=rows, smooth=False)
        record(w, "cov", lambda x: jnp.cov(x, ddof=0), normal(t, 5), rows=1, ddof=0, extra="none")
        record(w, "cov", lambda x, y: jnp.cov(x, y), x, normal(t, 6), rows=1, ddof=1, extra="y")
        record(w, "cov", lambda x, f: jnp.cov(x, fweights=f), x, np.array([1, 2, 1, 3, 1, 1]), rows=1, ddof=1, extra="f")
        record(w, "cov", lambda x, a: jnp.cov(x, aweights=a), x, uniform(t, 0.5, 2, 6), rows=1, ddof=1, extra="a")
        record(w, "corrcoef", lambda x: jnp.corrcoef(x), normal(t, 5), rows=1, smooth=False, grad=False)
        values = uniform(t, -2, 3, 40)
        record(w, "histogram", lambda x: jnp.histogram(x), values, bins=10, extra="none", density=0, grad=False)
        record(w, "histogram", lambda x: jnp.histogram(x, 4, (-1.0, 1.5), density=True), values, bins=4, extra="range", density=1, grad=False)
        record(w, "histogram", lambda x, e: jnp.histogram(x, e), values, np.array([-1.0, 0.0, 0.25, 3.5], t), bins=0, extra="edges", density=0, grad=False)
        record(w, "histogram", lambda x, v: jnp.histogram(x, 5, weights=v), values, uniform(t, 0, 1, 40), bins=5, extra="weights", density=0, grad=False)
        record(w, "histogram", lambda x: jnp.histogram(x, 3), np.full(4, 2.0, t), bins=3, extra="none", density=0, grad=False)
        for bins in ([0.0, 1.0, 2.0], [2.0, 1.0, 0.0], [1.0]):
            for right in (0, 1):
                record(w, "digitize", lambda x, b: jnp.digitize(x, b, bool(right)).astype(np.int64), np.array([-1.0, 0.0, 0.5, 1.0, 2.0, 9.0], t), np.array(bins, t), right=right)
        ids = np.array([0, 2, 0, 5, -1, 2])
        for name in ("segment_sum", "segment_prod", "segment_max", "segment_min"):
            f = getattr(jax.ops, name)
            gradient = name == "segment_sum"
            record(w, name, lambda x, i: f(x, i, 4), normal(t, 6), ids, segments=4, grad=gradient)
            record(w, name, lambda x, i: f(x, i, 3), normal(t, 6, 2), ids, segments=3, grad=gradient)
            record(w, name, lambda x, i: f(x, i), normal(t, 3), np.array([1, 0, 1]), segments=-1, grad=gradient)
    i = np.array([5, 3, 9, 1, 1, 1], np.int32)
    for name in ("segment_sum", "segment_prod", "segment_max", "segment_min"):
        record(w, name, lambda x, s: getattr(jax.ops, name)(x, s, 4), i, np.array([0, 2, 0, 5, -1, 2]), segments=4)
    w.write()


def exact(f, *xs):
    """f in 60 digits, rounded to f64."""
    with mpmath.workdps(70):
        one = lambda *v: float(mpmath.re(f(*(mpmath.mpf(float(x)) for x in v))))  # noqa: E731
        return np.vectorize(one, otypes=[np.float64])(*xs)


def special():
    w = file("special", "Special functions: f64 values from mpmath (60 digits), edges from SciPy, gradients from JAX.")
    mp = {
        "gamma": mpmath.gamma, "factorial": mpmath.factorial, "betaln": lambda a, b: mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b), "beta": mpmath.beta,
        "logit": lambda x: mpmath.log(x / (1 - x)), "ndtr": mpmath.ncdf, "log_ndtr": lambda x: mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2),
        "ndtri": lambda p: mpmath.findroot(lambda x: mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2) - mpmath.log(p), float(scipy.special.ndtri(float(p)))),
        "entr": lambda x: -x * mpmath.log(x), "xlogy": lambda x, y: x * mpmath.log(y), "xlog1py": lambda x, y: x * mpmath.log1p(y),
        "rel_entr": lambda x, y: x * mpmath.log(x / y), "kl_div": lambda x, y: x * mpmath.log(x / y) - x + y,
        "poch": lambda z, m: mpmath.gamma(z + m) / mpmath.gamma(z),
    }  # fmt: skip
    u = rng.uniform
    inputs = {
        "gamma": [np.concatenate([u(0, 3, 12), u(3, 30, 12), u(30, 171, 16), u(-8, 0, 12), 10.0 ** u(-300, -1, 4), [1.0, 2.0, 0.5, 10.0, 171.6]])],
        "factorial": [np.arange(0.0, 171.0, 10)], "logit": [np.concatenate([u(0, 1, 12), 0.5 + u(-1e-6, 1e-6, 4), 10.0 ** u(-300, -1, 4), 1 - 10.0 ** u(-15, -1, 4)])],
        "ndtr": [u(-37, 8, 30)], "log_ndtr": [np.concatenate([u(-40, 8, 24), u(-1e5, -40, 4), u(-0.5, 0.5, 4)])],
        "ndtri": [np.concatenate([u(0, 1, 16), 10.0 ** u(-300, -1, 12), 1 - 10.0 ** u(-15, -1, 6)])],
        "entr": [u(0, 5, 10)], "xlogy": [normal(np.float64, 10), u(0, 5, 10)], "xlog1py": [normal(np.float64, 10), u(-0.9, 1e-3, 10)],
        "rel_entr": [u(0, 5, 10), u(0, 5, 10)], "kl_div": [u(0, 5, 10), u(5, 9, 10)],
        "beta": [u(0.1, 40, 24), u(0.1, 40, 24)], "betaln": [10.0 ** u(-3, 6, 40), 10.0 ** u(-3, 6, 40)], "poch": [u(0.5, 20, 10), u(-0.4, 20, 10)],
    }  # fmt: skip
    def slopes(name, xs):
        if name == "ndtri":
            return [exact(lambda p: mpmath.sqrt(2 * mpmath.pi) * mpmath.exp(mp["ndtri"](p) ** 2 / 2), *xs)]
        if name == "factorial":
            return [exact(lambda n: mpmath.factorial(n) * mpmath.digamma(n + 1), *xs)]
        if len(xs) == 1:
            return [exact(lambda x: mpmath.diff(mp[name], x, h=x * mpmath.mpf(10) ** -25), *xs)]
        partial = lambda i: lambda *v: mpmath.diff(lambda z: mp[name](*(z if k == i else v[k] for k in (0, 1))), v[i], h=v[i] * mpmath.mpf(10) ** -25)  # noqa: E731
        return [exact(partial(i), *xs) for i in (0, 1)]

    for name, xs in inputs.items():
        record(w, name, None, *xs, y=exact(mp[name], *xs), slopes=slopes(name, xs) if name != "ndtri" else None, grad=False)
        small = [x[:8].astype(np.float32) for x in xs]
        if name == "gamma":
            small = [u(0.1, 20, 8).astype(np.float32)]
        record(w, name, None, *small, y=exact(mp[name], *small).astype(np.float32), grad=False)
    p = [u(0.01, 0.99, 10)]
    record(w, "ndtri", None, *p, y=exact(mp["ndtri"], *p), slopes=slopes("ndtri", p))
    for t in FLOATS:
        e = np.array([0.0, -0.0, 1.0, -1.0, -2.5, 0.5, INF, -INF, NAN], t)
        for name in ("gamma", "gammasgn", "logit", "ndtr", "log_ndtr", "ndtri", "entr", "factorial"):
            y = getattr(scipy.special, name)(e).astype(t)
            if name == "factorial":
                e2 = np.array([0.0, -1.0, 1.0, 3.0, INF, NAN], t)
                record(w, name, None, e2, y=np.array([1.0, 0.0, 1.0, 6.0, INF, NAN], t), grad=False)
                continue
            if name == "gammasgn":
                y = np.asarray(jsp.gammasgn(e))
            if name == "gamma":
                y[7] = NAN  # of -inf
            record(w, name, None, e, y=y, grad=False)
        for name in ("xlogy", "xlog1py", "rel_entr", "kl_div"):
            record(w, name, None, e[:, None], e, y=getattr(scipy.special, name)(e[:, None], e).astype(t), grad=False)
        record(w, "gammasgn", jsp.gammasgn, np.array([-0.5, -1.5, -2.5, 3.0], t), grad=False)
        for d in (0, 1, 3):
            record(w, "multigammaln", lambda a: jsp.multigammaln(a, d), uniform(t, 2, 9, 2, 3), d=d)
        record(w, "xlogy", jsp.xlogy, np.array([0.0, 0.0, 2.0], t), np.array([2.0, 0.5, 3.0], t), smooth=False)
        record(w, "xlog1py", jsp.xlog1py, np.array([0.0, 0.0, 2.0], t), np.array([2.0, 0.5, 3.0], t), smooth=False)
        record(w, "poch", None, np.array([2.0, 3.0, 0.5, 200.0], t), np.array([0.0, 2.0, 1.0, 2.0], t), y=np.array([1.0, 12.0, 0.5, 40200.0], t), grad=False)
        record(w, "ndtr", jsp.ndtr, np.zeros((2, 0), t), grad=False)
    w.write()


def nn():
    w = file("nn", "Activations of jax.nn.")
    nn = jax.nn
    unary = {"selu": nn.selu, "relu6": nn.relu6, "gelu_tanh": lambda x: nn.gelu(x, approximate=True), "mish": nn.mish, "log_sigmoid": nn.log_sigmoid,
             "soft_sign": nn.soft_sign, "hard_tanh": nn.hard_tanh, "hard_sigmoid": nn.hard_sigmoid, "hard_silu": nn.hard_silu,
             "sparse_plus": nn.sparse_plus, "sparse_sigmoid": nn.sparse_sigmoid, "squareplus": nn.squareplus, "celu": nn.celu}  # fmt: skip
    for t in FLOATS:
        e = np.array([0.0, -0.0, 30.0, -30.0, 1000.0, -1000.0, INF, NAN], t)
        for name, f in unary.items():
            record(w, name, f, uniform(t, -4, 8, 9))
            record(w, name, f, e, grad=False)
            record(w, name, f, np.array([0.3], t)[0])
        record(w, "celu_alpha", nn.celu, uniform(t, -4, 4, 2, 3), t(0.7))
        record(w, "squareplus_b", nn.squareplus, uniform(t, -4, 4, 2, 3), t(0.7))
        record(w, "log1mexp", nn.log1mexp, np.concatenate([uniform(t, 0.1, 4, 6), [1e-5, 30.0]]).astype(t), smooth=False)
        for axis in (0, 1, -1):
            record(w, "glu", lambda x: nn.glu(x, axis), normal(t, 4, 2, 6), axis=axis)
        for axis in ((0, 1), (1,), (0,)):
            for keep in (0, 1):
                record(w, "logmeanexp", lambda x: nn.logmeanexp(x, axis, keepdims=bool(keep)), normal(t, 3, 4) * 9, axis=axis, keep=keep)
        record(w, "standardize", lambda x: nn.standardize(x), normal(t, 3, 4), axis=(-1,))
        record(w, "standardize", lambda x: nn.standardize(x, axis=(0, 1)), normal(t, 3, 4), axis=(0, 1))
    for axis in (-1, 0, 1):
        record(w, "one_hot", lambda x: nn.one_hot(x, 3, dtype=jnp.float32, axis=axis), np.array([[0, 2, 1], [-1, 3, 2]]), n=3, axis=axis)
    record(w, "one_hot", lambda x: nn.one_hot(x, 4, dtype=jnp.float32), np.array(2), n=4, axis=-1)
    w.write()


def random():
    w = file("random", "Distributions of jax.random (threefry2x32): x0 is the key's data.")
    key = jr.key_data
    for seed in (0, 42):
        k = jr.key(seed)
        for t in FLOATS:
            draw = lambda name, f, *p, **text: record(w, name, lambda _, *q: f(k, *q), key(k), *p, grad=False, dtype={8: "f64", 4: "f32"}[np.dtype(t).itemsize], **text)  # noqa: E731
            for s in ((), (5,), (2, 3)):
                for name in ("cauchy", "laplace", "logistic", "maxwell"):
                    draw(name, lambda k: getattr(jr, name)(k, s, t), shape=s)
                draw("rademacher", lambda k: jr.rademacher(k, s, np.int64), shape=s)
            for name, values in (("lognormal", (0.5,)), ("pareto", (2.5,)), ("rayleigh", (1.5,)), ("wald", (0.75,))):
                p = [t(v) for v in values]
                draw(name, lambda k, *q: getattr(jr, name)(k, *q, shape=(5,), dtype=t), *p, shape=(5,))
                vector = uniform(t, 0.5, 2, 3)
                draw(name, lambda k, *q: getattr(jr, name)(k, *q, shape=(3,), dtype=t), vector, shape=())
            draw("geometric", lambda k, p: jr.geometric(k, p, (6,), np.int64), t(0.2), shape=(6,))
            draw("triangular", lambda k, a, b, c: jr.triangular(k, a, b, c, (6,), t), t(-1), t(0.5), t(2), shape=(6,))
            draw("weibull_min", lambda k, a, b: jr.weibull_min(k, a, b, (6,), t), t(2), t(1.5), shape=(6,))
            draw("double_sided_maxwell", lambda k, a, b: jr.double_sided_maxwell(k, a, b, (6,), t), t(0.5), t(2), shape=(6,))
    w.write()


def convolution():
    w = file("convolution", "Convolutions and windows: jax.lax's.")
    lax = jax.lax
    # Where f32 is padded behind and cropped in front, XLA reads beyond the array.
    crop = lambda t: (-1, 1) if t is np.float64 else (1, -1)  # noqa: E731
    pairs = lambda n, t: ([(0, 0)] * n, [(1, 1)] * n, [(2, 1), (0, 3)][:n], [crop(t), (0, -1)][:n], "SAME", "SAME_LOWER", "VALID")  # noqa: E731
    flat = lambda p: dict(padding=p) if isinstance(p, str) else dict(low=[a for a, _ in p], high=[b for _, b in p])  # noqa: E731

    def conv(lhs, rhs, strides, padding, lhs_dilation=None, rhs_dilation=None, groups=1, batch_groups=1, numbers=None, **more):
        n = lhs.ndim - 2
        given = dict(zip(("lhs", "rhs", "out"), numbers)) if numbers else {}
        record(
            w,
            "conv",
            lambda a, b: lax.conv_general_dilated(a, b, strides, padding, lhs_dilation, rhs_dilation, numbers, groups, batch_groups),
            lhs,
            rhs,
            strides=strides,
            lhs_dilation=lhs_dilation or [1] * n,
            rhs_dilation=rhs_dilation or [1] * n,
            groups=groups,
            batch_groups=batch_groups,
            **flat(padding),
            **given,
            **more,
        )

    for t in FLOATS:
        for p in pairs(1, t):
            for s in (1, 2):
                conv(normal(t, 2, 3, 7), normal(t, 4, 3, 3), [s], p)
        conv(normal(t, 1, 2, 9), normal(t, 2, 2, 3), [2], [(1, 2)], [2], [2])
        conv(normal(t, 1, 2, 2), normal(t, 2, 2, 3), [1], [(0, 0)], smooth=False)  # no window fits
        conv(normal(t, 1, 2, 5), normal(t, 3, 2, 1), [1], "VALID")
        for p in pairs(2, t):
            conv(normal(t, 2, 2, 5, 6), normal(t, 3, 2, 3, 2), [2, 1], p)
        conv(normal(t, 1, 4, 5, 5), normal(t, 6, 2, 3, 3), [1, 2], [(1, 1), (1, 1)], groups=2)
        conv(normal(t, 2, 4, 5, 4), normal(t, 4, 1, 2, 2), [1, 1], "SAME", rhs_dilation=[2, 1], groups=4)
        conv(normal(t, 1, 2, 3, 4), normal(t, 2, 2, 3, 3), [1, 1], [(2, 2), (1, 3)], lhs_dilation=[2, 3], rhs_dilation=[1, 2])
        conv(normal(t, 4, 2, 5), normal(t, 6, 2, 3), [1], [(1, 0)], batch_groups=2)
        conv(normal(t, 2, 5, 6, 3), normal(t, 3, 2, 3, 4), [1, 1], "SAME", numbers=("NHWC", "HWIO", "NHWC"))
        conv(normal(t, 5, 6, 3, 2), normal(t, 3, 4, 2, 3), [1, 2], "VALID", numbers=("HWCN", "IOHW", "NHWC"))
        conv(normal(t, 1, 2, 4, 3, 3), normal(t, 2, 2, 2, 3, 1), [2, 1, 1], [(1, 0), (1, 1), (0, 0)])
        conv(normal(t, 3, 4), normal(t, 2, 4), [], [])
    ties = lambda t, *s: np.asarray(rng.integers(0, 3, s), t)  # noqa: E731
    kinds = dict(reduce_window_sum=(0, lax.add), reduce_window_max=(-np.inf, lax.max), reduce_window_min=(np.inf, lax.min))
    for t in FLOATS:
        for name, (start, op) in kinds.items():
            for shape, window, strides, padding, dilation in (
                ((7,), [3], [2], [(0, 0)], [1]),
                ((7,), [3], [1], "SAME", [2]),
                ((4, 6), [2, 3], [1, 2], [(1, 0), (1, 2)], [1, 1]),
                ((2, 5, 5), [1, 3, 2], [1, 2, 1], "SAME_LOWER", [1, 1, 1]),
                ((2,), [3], [1], "VALID", [1]),
            ):
                if padding == "SAME_LOWER":
                    effective = [(k - 1) * d + 1 for k, d in zip(window, dilation)]
                    padding = lax.padtype_to_pads(shape, effective, strides, "SAME_LOWER")
                for data in (normal, ties):
                    record(
                        w,
                        name,
                        lambda x: lax.reduce_window(x, t(start), op, window, strides, padding, None, dilation),
                        data(t, *shape),
                        window=window,
                        strides=strides,
                        dilation=dilation,
                        grad=op is lax.add or max(dilation) == 1,  # JAX has no derivative of other extrema
                        smooth=False if data is ties else None,
                        **flat(padding),
                    )
    w.write()


families = {f.__name__: f for f in (creation, elementwise, reduce, reduce_options, windows, polynomial, updates, product, shape, index, sort, calculus, statistics, special, nn, random, convolution)}
if __name__ == "__main__":
    for name in sys.argv[1:] or families:
        rng = np.random.default_rng(20261125)  # of each family, so that one can be made alone
        families[name]()
