"""Distributions: values and gradients of the textbook formulas in 90 digits (mpmath), each held to SciPy's first; edges
(ends of the support, infinities, NaN, parameters out of range) are SciPy's. `text smooth 1`: differences approximate
the derivatives there."""

import records
import jax
import jax.numpy as jnp
import jax.scipy.stats as js
import mpmath as mp
import numpy as np
import scipy.special
import scipy.stats as ss

ABOUT = __doc__ + """
A case `family.function` holds the inputs x0, x1, ... in the order of the function, the output y0, and where there is a
derivative the cotangent ct0 and the gradients g0, g1, ... of all inputs."""
w = records.Writer(__file__, "stats.txt", ABOUT, ("jax", "scipy", "mpmath", "numpy"))
tails = records.Writer(__file__, "stats_tails.txt", "Quantiles far in the tails, in f64, by the formulas of stats.txt in 400 digits.", ("scipy", "mpmath", "numpy"))
mp.mp.dps = 90  # differences of a step of 1e-12 lose digits
rng = np.random.default_rng(20261125)
NAN, INF = float("nan"), float("inf")

# Log densities at location 0 and scale 1, within the support.
log, exp, pi, inc = mp.log, mp.exp, mp.pi, mp.gammainc
lower = lambda a, z: inc(a, 0, z, regularized=True)  # noqa: E731
upper = lambda a, z: inc(a, z, mp.inf, regularized=True)  # noqa: E731
ibeta = lambda a, b, z: mp.betainc(a, b, 0, z, regularized=True)  # noqa: E731
phi = lambda z: -z * z / 2 - log(2 * pi) / 2  # noqa: E731
Phi = lambda z: mp.erfc(-z / mp.sqrt(2)) / 2  # noqa: E731
Q = lambda q: mp.sqrt(2) * mp.erfinv(2 * q - 1)  # noqa: E731
DENSITIES = dict(
    norm=phi,
    lognorm=lambda z, s: phi(log(z) / s) - log(z * s),
    truncnorm=lambda z, a, b: phi(z) - log(Phi(b) - Phi(a)),
    gennorm=lambda z, b: log(b / 2) - mp.loggamma(1 / b) - abs(z) ** b,
    cauchy=lambda z: -log(pi * (1 + z * z)),
    laplace=lambda z: -abs(z) - log(2),
    logistic=lambda z: -z - 2 * log(1 + exp(-z)),
    gumbel_r=lambda z: -z - exp(-z),
    gumbel_l=lambda z: z - exp(z),
    t=lambda z, v: mp.loggamma((v + 1) / 2) - mp.loggamma(v / 2) - log(v * pi) / 2 - (v + 1) / 2 * log(1 + z * z / v),
    expon=lambda z: -z,
    gamma=lambda z, a: (a - 1) * log(z) - z - mp.loggamma(a),
    chi2=lambda z, k: (k / 2 - 1) * log(z) - z / 2 - k / 2 * log(2) - mp.loggamma(k / 2),
    pareto=lambda z, b: log(b) - (b + 1) * log(z),
    rayleigh=lambda z: log(z) - z * z / 2,
    weibull_min=lambda z, c: log(c) + (c - 1) * log(z) - z**c,
    beta=lambda z, a, b: (a - 1) * log(z) + (b - 1) * log(1 - z) - log(mp.beta(a, b)),
    uniform=lambda z: 0 * z,
    vonmises=lambda z, k: k * mp.cos(z) - log(2 * pi * mp.besseli(0, k)),
    wrapcauchy=lambda z, c: log((1 - c * c) / (2 * pi * (1 + c * c - 2 * c * mp.cos(z)))),
)
# (cdf, sf): both of them, since one has the digits that the other lacks.
CDFS = dict(
    norm=(Phi, lambda z: Phi(-z)),
    lognorm=(lambda z, s: Phi(log(z) / s), lambda z, s: Phi(-log(z) / s)),
    truncnorm=(lambda z, a, b: (Phi(z) - Phi(a)) / (Phi(b) - Phi(a)), lambda z, a, b: (Phi(b) - Phi(z)) / (Phi(b) - Phi(a))),
    gennorm=(lambda z, b: upper(1 / b, abs(z) ** b) / 2 if z < 0 else 1 - upper(1 / b, abs(z) ** b) / 2,
             lambda z, b: upper(1 / b, abs(z) ** b) / 2 if z > 0 else 1 - upper(1 / b, abs(z) ** b) / 2),  # fmt: skip
    cauchy=(lambda z: mp.atan2(1, -z) / pi, lambda z: mp.atan2(1, z) / pi),
    laplace=(lambda z: exp(z) / 2 if z < 0 else 1 - exp(-z) / 2, lambda z: exp(-z) / 2 if z > 0 else 1 - exp(z) / 2),
    logistic=(lambda z: 1 / (1 + exp(-z)), lambda z: 1 / (1 + exp(z))),
    gumbel_r=(lambda z: exp(-exp(-z)), lambda z: -mp.expm1(-exp(-z))),
    gumbel_l=(lambda z: -mp.expm1(-exp(z)), lambda z: exp(-exp(z))),
    t=(lambda z, v: ibeta(v / 2, mp.mpf(1) / 2, v / (v + z * z)) / 2 if z < 0 else 1 - ibeta(v / 2, mp.mpf(1) / 2, v / (v + z * z)) / 2,
       lambda z, v: ibeta(v / 2, mp.mpf(1) / 2, v / (v + z * z)) / 2 if z > 0 else 1 - ibeta(v / 2, mp.mpf(1) / 2, v / (v + z * z)) / 2),  # fmt: skip
    expon=(lambda z: -mp.expm1(-z), lambda z: exp(-z)),
    gamma=(lambda z, a: lower(a, z), lambda z, a: upper(a, z)),
    chi2=(lambda z, k: lower(k / 2, z / 2), lambda z, k: upper(k / 2, z / 2)),
    pareto=(lambda z, b: 1 - z**-b, lambda z, b: z**-b),
    rayleigh=(lambda z: -mp.expm1(-z * z / 2), lambda z: exp(-z * z / 2)),
    weibull_min=(lambda z, c: -mp.expm1(-(z**c)), lambda z, c: exp(-(z**c))),
    beta=(lambda z, a, b: ibeta(a, b, z), lambda z, a, b: ibeta(b, a, 1 - z)),
    uniform=(lambda z: z, lambda z: 1 - z),
)
PPFS = dict(
    norm=Q,
    lognorm=lambda q, s: exp(s * Q(q)),
    cauchy=lambda q: mp.tan(pi * (q - mp.mpf(1) / 2)),
    laplace=lambda q: log(2 * q) if q < 0.5 else -log(2 * (1 - q)),
    logistic=lambda q: log(q / (1 - q)),
    gumbel_r=lambda q: -log(-log(q)),
    gumbel_l=lambda q: log(-log(1 - q)),
    expon=lambda q: -log(1 - q),
    pareto=lambda q, b: (1 - q) ** (-1 / b),
    rayleigh=lambda q: mp.sqrt(-2 * log(1 - q)),
    weibull_min=lambda q, c: (-log(1 - q)) ** (1 / c),
    uniform=lambda q: q,
)
# By Newton's method for log(cdf), from SciPy's value on.


def inverted(name):
    def f(q, *p):
        family, low, known = getattr(ss, name), q < 0.5, list(map(float, p))
        z = mp.mpf(float(family.ppf(float(q), *known) if low else family.isf(float(1 - q), *known)))
        if name == "beta" and not low:  # near 1
            z = 1 - mp.mpf(float(family.ppf(float(1 - q), *known[::-1])))
        if name == "t" and mp.isinf(z):  # the tail is a power
            z = -((CDFS[name][0](mp.mpf(-(10**9)), *p) / q) ** (1 / p[0])) * 10**9
        for _ in range(6):
            below = CDFS[name][0](z, *p)
            step = log(below / q) * below / exp(DENSITIES[name](z, *p))
            z = z - step if name in ("t", "gennorm") else z * exp(-step / z)
        return z

    return f


PPFS |= {name: inverted(name) for name in ("gamma", "chi2", "beta", "t", "gennorm")}
# Quantiles in the tails, in f64.
FAR = dict(ppf=[1e-300, 1e-30, 1e-9, 1 - 2.0**-30], isf=[1e-30, 1e-12, 1e-9, 1 - 2.0**-30])
# Parameters, and z within the support, tails included.
LINE = [-6.5, -2.25, -0.4, 0.3, 1.1, 3.7]
HALF = [0.02, 0.3, 0.9, 1.7, 4.5, 9.0]
PLACES = dict(
    norm=([], LINE), lognorm=([0.7], HALF), truncnorm=([-1.5, 2.5], [-1.4, -0.6, -0.1, 0.4, 1.3, 2.4]), gennorm=([1.6], LINE),
    cauchy=([], LINE), laplace=([], LINE), logistic=([], LINE), gumbel_r=([], [-1.6, -0.9, 0.2, 1.5, 4.0, 9.0]),
    gumbel_l=([], [1.6, 0.9, -0.2, -1.5, -4.0, -9.0]), t=([3.5], LINE), expon=([], HALF), gamma=([2.4], HALF), chi2=([4.6], HALF),
    pareto=([2.3], [1.02, 1.3, 1.9, 3.1, 6.0, 40.0]), rayleigh=([], [0.02, 0.3, 0.9, 1.7, 2.5, 4.0]), weibull_min=([1.8], [0.05, 0.3, 0.9, 1.7, 2.5, 3.0]),
    beta=([2.2, 3.4], [0.02, 0.2, 0.41, 0.6, 0.83, 0.97]), uniform=([], [0.02, 0.2, 0.41, 0.6, 0.83, 0.97]), vonmises=([2.7], [-3.0, -1.2, -0.01, 0.4, 1.9, 3.1]),
    wrapcauchy=([0.35], [0.01, 0.8, 1.9, 3.1, 4.4, 6.2]),
)  # fmt: skip
# Further parameters for one more case of each function.
MORE = dict(lognorm=[[0.2], [2.5]], truncnorm=[[1.0, INF], [-0.2, 0.3], [-INF, -3.0]], gennorm=[[0.8], [4.0]], t=[[0.6], [250.0]], gamma=[[0.6], [35.0]],
            chi2=[[1.0], [30.0]], pareto=[[0.5], [12.0]], weibull_min=[[0.7], [4.0]], beta=[[0.5, 0.6], [40.0, 7.0]], vonmises=[[0.1], [60.0]], wrapcauchy=[[0.02], [0.97]])  # fmt: skip
MORE_Z = dict(truncnorm=[[1.1, 1.7, 4.0], [-0.15, 0.02, 0.25], [-3.2, -4.0, -7.0]])
# Parameters out of their range.
WRONG = dict(lognorm=[-0.5], truncnorm=[2.0, 1.0], gennorm=[0.0], t=[-1.0], gamma=[0.0], chi2=[-2.0], pareto=[0.0], weibull_min=[-1.0], beta=[1.0, 0.0], vonmises=[-1.0], wrapcauchy=[1.0])  # fmt: skip


def functions(name):
    """(function, of z and parameters, kind: log density, plain, quantile) of a family."""
    f = DENSITIES[name]
    yield "logpdf", f, "log"
    yield "pdf", lambda *a: exp(f(*a)), "density"
    if name in CDFS:
        below, above = CDFS[name]
        yield "cdf", below, "plain"
        yield "logcdf", lambda *a: log(below(*a)) if below(*a) < 0.5 else mp.log1p(-above(*a)), "plain"
        yield "sf", above, "plain"
        yield "logsf", lambda *a: log(above(*a)) if above(*a) < 0.5 else mp.log1p(-below(*a)), "plain"
    if name in PPFS:
        g = PPFS[name]
        yield "ppf", g, "quantile"
        yield "isf", lambda q, *p: g(1 - q, *p), "quantile"


def placed(f, kind):
    def at(x, *p):
        p, loc, scale = p[:-2], p[-2], p[-1]
        if kind == "quantile":
            return loc + scale * f(x, *p)
        y = f((x - loc) / scale, *p)
        return y - log(scale) if kind == "log" else y / scale if kind == "density" else y

    return at


def broadcast(f, *xs):
    xs = np.broadcast_arrays(*xs)
    return np.array([f(*(mp.mpf(float(v)) for v in e)) for e in zip(*(x.ravel() for x in xs))], object).reshape(xs[0].shape)


def smooth_case(name, f, scipy_f, *xs, slopes=True, smooth=False, to=w):
    """Values, and gradients by differences of step 1e-12 of them."""
    t = xs[0].dtype.type
    y = broadcast(f, *xs)
    got = np.asarray(y, np.float64)
    want = np.asarray(scipy_f(*(x.astype(np.float64) for x in xs)))
    lost = to is tails and np.isinf(want)  # SciPy's root finder gives up
    assert lost or np.allclose(got, want, rtol=1e-8, atol=1e-12), (name, got, want)
    arrays = {f"x{i}": x for i, x in enumerate(xs)} | {"y0": got.astype(t)}
    if slopes:
        ct = np.cos(np.arange(y.size) + 1.0).reshape(y.shape).astype(t)
        arrays["ct0"] = ct
        h = mp.mpf(10) ** -12
        for i, x in enumerate(xs):
            if np.isinf(x).any():  # a bound that is not there
                arrays[f"g{i}"] = np.zeros(x.shape, t)
                continue
            moved = lambda d: broadcast(lambda *a: f(*a[:i], a[i] + d, *a[i + 1 :]), *xs)  # noqa: E731
            g = np.asarray((moved(h) - moved(-h)) / (2 * h), np.float64) * ct
            for axis in range(g.ndim - x.ndim):
                g = g.sum(axis=0)
            g = g.sum(axis=tuple(a for a in range(x.ndim) if x.shape[a] == 1 and g.shape[a] != 1), keepdims=True)
            arrays[f"g{i}"] = g.astype(t)
    to.case(name, {"smooth": 1} if smooth else {}, **arrays)


def limit(y, name, function, z, valid):
    """SciPy's value, but for infinite z, where its formulas may be ∞ - ∞: there densities are 0."""
    if function in ("logpdf", "pdf", "logpmf", "pmf"):
        return np.where(np.isinf(z) & valid & np.isnan(y), -INF if function.startswith("log") else 0.0, y)
    return y


def continuous():
    for name, (parameters, zs) in PLACES.items():
        family = getattr(ss, name)
        for function, f, kind in functions(name):
            at, scipy_f = placed(f, kind), getattr(family, function)
            places = [0.01, 0.2, 0.35, 0.55, 0.8, 0.97] if kind == "quantile" else zs
            loc, scale = 0.3, 1.7
            x = np.array(places) if kind == "quantile" else loc + scale * np.array(places)
            for t in (np.float64, np.float32):
                p = [np.asarray(v, t) for v in parameters]
                smooth_case(f"{name}.{function}", at, scipy_f, x.astype(t), *p, np.asarray(loc, t), np.asarray(scale, t))
            # Broadcast against each other.
            small = np.array([[0.11], [0.12]]), np.array([1.1, 1.2, 1.3])
            shifted = 0.4 if kind == "quantile" else float(zs[3]) * 1.1 + 0.22
            smooth_case(f"{name}.{function}", at, scipy_f, np.array([[shifted]]), *(np.array([v]) for v in parameters), *small, smooth=True)
            for k, more in enumerate(MORE.get(name, ())):
                values = np.array([0.02, 0.4, 0.93]) if kind == "quantile" else np.array(MORE_Z[name][k] if name in MORE_Z else zs[1:4])
                smooth_case(f"{name}.{function}", at, scipy_f, values, *map(np.asarray, more), np.array(0.0), np.array(1.0), slopes=not np.isinf(more).any())
            if kind == "quantile":
                for q in FAR[function]:
                    with mp.workdps(400):
                        smooth_case(f"{name}.{function}", at, scipy_f, np.asarray(q), *map(np.asarray, parameters), np.array(0.0), np.array(1.0), slopes=False, to=tails)
            # Nothing, and a scalar.
            none = np.zeros((2, 0))
            w.case(f"{name}.{function}", x0=none, **{f"x{i + 1}": np.asarray(v) for i, v in enumerate(parameters + [0.0, 1.0])}, y0=none)
            # Edges.
            for t in (np.float64, np.float32):
                if kind == "quantile":
                    e = np.array([0.0, 1.0, -0.1, 1.1, NAN, 0.5], t)
                else:
                    e = np.array([-INF, -1.0, 0.0, 0.5, 1.0, 3.0, INF, NAN], t)
                loc_scale = [(0.0, 1.0), (0.0, -1.0), (0.0, 0.0), (NAN, 1.0), (0.0, NAN)]
                given = [list(map(float, parameters)) + list(ls) for ls in loc_scale]
                if name in WRONG:
                    given += [list(map(float, WRONG[name])) + [0.0, 1.0], [NAN] * len(parameters) + [0.0, 1.0]]
                columns = [np.array(c, t) for c in zip(*given)]
                with np.errstate(all="ignore"):
                    y = np.array(scipy_f(e[:, None].astype(np.float64), *(c.astype(np.float64) for c in columns)))
                valid = np.arange(len(given)) == 0
                y = limit(y, name, function, e[:, None], valid)
                w.case(f"{name}.{function}", x0=e[:, None], **{f"x{i + 1}": c for i, c in enumerate(columns)}, y0=y.astype(t))


choose = lambda n, k: mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)  # noqa: E731
lbeta = lambda a, b: log(mp.beta(a, b))  # noqa: E731
MASSES = dict(
    bernoulli=(lambda k, p: log(p) if k == 1 else log(1 - p), [0.3], [0, 1]),
    binom=(lambda k, n, p: choose(n, k) + k * log(p) + (n - k) * log(1 - p), [9.0, 0.35], [0, 1, 4, 8, 9]),
    betabinom=(lambda k, n, a, b: choose(n, k) + lbeta(k + a, n - k + b) - lbeta(a, b), [9.0, 1.4, 2.3], [0, 1, 4, 8, 9]),
    geom=(lambda k, p: (k - 1) * log(1 - p) + log(p), [0.3], [1, 2, 5, 20]),
    nbinom=(lambda k, n, p: mp.loggamma(n + k) - mp.loggamma(n) - mp.loggamma(k + 1) + n * log(p) + k * log(1 - p), [3.5, 0.4], [0, 1, 4, 20]),
    poisson=(lambda k, mu: k * log(mu) - mu - mp.loggamma(k + 1), [3.2], [0, 1, 4, 15]),
)
# Of the probabilities of counts: how the functions of SciPy round k, and their derivatives by parameters.
MASS_CDFS = dict(
    bernoulli=(lambda k, p: 1 - p if k < 1 else mp.mpf(1), lambda k, p: p if k < 1 else mp.mpf(0)),
    binom=(lambda k, n, p: ibeta(n - k, k + 1, 1 - p) if k < n else mp.mpf(1), lambda k, n, p: ibeta(k + 1, n - k, p) if k < n else mp.mpf(0)),
    geom=(lambda k, p: 1 - (1 - p) ** k, lambda k, p: (1 - p) ** k),
    nbinom=(lambda k, n, p: ibeta(n, k + 1, p), lambda k, n, p: ibeta(k + 1, n, 1 - p)),
    poisson=(lambda k, mu: upper(k + 1, mu), lambda k, mu: lower(k + 1, mu)),
)
WRONG_MASSES = dict(bernoulli=[1.5], binom=[-1.0, 0.5], betabinom=[4.0, 0.0, 1.0], geom=[0.0], nbinom=[0.0, 0.5], poisson=[-1.0])


def parameters_only(name, f, scipy_f, k, *xs):
    """As smooth_case, of counts, which have no derivative; the location neither."""
    t = xs[0].dtype.type
    y = broadcast(lambda *a: f(*a[:-1]), k, *xs)
    got = np.asarray(y, np.float64)
    want = np.asarray(scipy_f(k, *(x.astype(np.float64) for x in xs)))
    assert np.allclose(got, want, rtol=1e-8, atol=1e-13), (name, got, want)
    ct = np.cos(np.arange(y.size) + 1.0).reshape(y.shape).astype(t)
    arrays = {"x0": k} | {f"x{i + 1}": x for i, x in enumerate(xs)} | {"y0": got.astype(t), "ct0": ct}
    h = mp.mpf(10) ** -12
    for i, x in enumerate(xs[:-1]):
        moved = lambda d: broadcast(lambda *a: f(*a[: i + 1], a[i + 1] + d, *a[i + 2 : -1]), k, *xs)  # noqa: E731
        slope = (moved(h) - moved(-h)) / (2 * h)
        arrays[f"g{i + 1}"] = np.asarray((np.asarray(slope, np.float64) * ct).sum(), t)
    w.case(name, {}, **arrays)


def counts():
    for name, (f, parameters, ks) in MASSES.items():
        family = getattr(ss, name)
        rows = [("logpmf", f), ("pmf", lambda *a: exp(f(*a)))]
        if name in MASS_CDFS:
            rows += [("cdf", MASS_CDFS[name][0]), ("sf", MASS_CDFS[name][1])]
        for function, g in rows:
            scipy_f = getattr(family, function)
            for t in (np.float64, np.float32):
                p = [np.asarray(v, t) for v in parameters]
                # Between k = n and beyond the derivative by n jumps.
                some = ks[:-1] if name == "binom" and function in ("cdf", "sf") else ks
                parameters_only(f"{name}.{function}", g, scipy_f, np.array(some, np.int32), *p, np.asarray(0.0, t))
                e = np.array([-INF, -1.0, 0.0, 0.5, 1.0, 2.0, 9.0, 10.0, INF, NAN], t)
                columns = [list(parameters) + [0.0], list(parameters) + [1.0], list(parameters) + [NAN], WRONG_MASSES[name] + [0.0], [NAN] * len(p) + [0.0]]
                columns = [np.array(c, t) for c in zip(*columns)]
                with np.errstate(all="ignore"):
                    y = np.array(scipy_f(e[:, None].astype(np.float64), *(c.astype(np.float64) for c in columns)))
                # Counts at infinity: SciPy's functions of them differ. NaN parameters make NaN.
                valid = np.arange(5) < 2
                ends = {"logpmf": (-INF, -INF), "pmf": (0.0, 0.0), "cdf": (0.0, 1.0), "sf": (1.0, 0.0)}[function]
                y[0], y[8] = np.where(valid, ends[0], NAN), np.where(valid, ends[1], NAN)
                y[:, ~valid], y[9] = NAN, NAN
                w.case(f"{name}.{function}", x0=e[:, None], **{f"x{i + 1}": c for i, c in enumerate(columns)}, y0=y.astype(t))
            none = np.zeros((2, 0))
            w.case(f"{name}.{function}", x0=none, **{f"x{i + 1}": np.asarray(v) for i, v in enumerate(parameters + [0.0])}, y0=none)
    for t in (np.float64, np.float32):
        q, p = np.array([0.0, 0.2, 0.6, 1.0, -0.1, 1.1, NAN], t)[:, None], np.array([0.0, 0.3, 1.0, 1.5, NAN], t)
        w.case("bernoulli.ppf", x0=q, x1=p, x2=t(0.0), y0=np.asarray(js.bernoulli.ppf(jnp.asarray(q), jnp.asarray(p))))


def jax_edges():
    """Gradients where arguments are out of the support or at its ends, those of JAX where all are finite."""
    for name, (parameters, _) in PLACES.items():
        if not hasattr(js, name):
            continue
        for function in ("logpdf", "cdf", "sf", "ppf"):
            f = getattr(getattr(js, name), function, None)
            if f is None or (name == "beta" and function != "logpdf"):  # of betainc by a and b JAX has no derivative
                continue
            p = [jnp.float64(v) for v in parameters]
            for x in (-1.0, 0.0, 1.0, 7.5):
                if function == "ppf" and not 0 < x < 1:
                    continue
                at = [jnp.float64(x), *p]
                y, slopes = jax.value_and_grad(lambda a: f(*a))(at)
                if np.isfinite(slopes).all() and not np.isnan(y):
                    w.case(f"{name}.{function}", {"edge": 1}, **{f"x{i}": np.asarray(v) for i, v in enumerate(at + [0.0, 1.0])}, y0=getattr(getattr(ss, name), function)(*map(float, at)),
                           ct0=np.float64(1.0), **{f"g{i}": np.asarray(s) for i, s in enumerate(slopes)})  # fmt: skip


def pulled(name, f, *xs, smooth=True):
    """Values of f with JAX's gradients by all arguments."""
    y, pull = jax.vjp(f, *map(jnp.asarray, xs))
    ct = np.cos(np.arange(y.size) + 1.0).reshape(y.shape).astype(y.dtype)
    slopes = pull(jnp.asarray(ct))
    w.case(name, {"smooth": 1} if smooth else {}, **{f"x{i}": x for i, x in enumerate(xs)}, y0=np.asarray(y), ct0=ct, **{f"g{i}": np.asarray(g) for i, g in enumerate(slopes)})


def several():
    """JAX's values, held to SciPy's."""
    for t in (np.float64, np.float32):
        u = lambda *s: rng.uniform(0.2, 1.5, s).astype(t)  # noqa: E731
        a = rng.standard_normal((2, 3, 3))
        covs = (a @ a.transpose(0, 2, 1) + np.eye(3)).astype(t)
        x, mean = rng.standard_normal((4, 3)).astype(t), u(3)
        for function in ("logpdf", "pdf"):
            f = getattr(js.multivariate_normal, function)
            y = np.asarray(f(x, mean, covs[0]))
            assert np.allclose(y, getattr(ss.multivariate_normal, function)(x, mean, covs[0]), rtol=1e-9 if t is np.float64 else 1e-4)
            name = f"multivariate_normal.{function}"
            exact = t is np.float64
            pulled(name, f, x, mean, covs[0], smooth=exact)
            pulled(name, f, x[:2], mean, covs, smooth=exact)  # one matrix each
            pulled(name, f, x[0], x[1], covs, smooth=exact)
            pulled(name, f, x, mean, t(0.7), smooth=exact)
            pulled(name, f, x, t(0.3), t(0.7), smooth=exact)
            negative = np.diag([1.0, -1.0, 2.0]).astype(t)
            one = t(0.0) if function == "pdf" else t(-INF)
            w.case(name, x0=x[0], x1=mean, x2=negative, y0=t(NAN))
            w.case(name, x0=np.array([1, NAN, 0], t), x1=mean, x2=covs[0], y0=t(NAN))
            w.case(name, x0=np.zeros((0, 3), t), x1=mean, x2=covs[0], y0=np.zeros(0, t))
            f, alpha = getattr(js.dirichlet, function), u(4)
            name = f"dirichlet.{function}"
            z = rng.dirichlet(np.ones(4), 3).T.astype(t)
            if exact:
                assert np.allclose(f(z, alpha), getattr(ss.dirichlet, function)(z, alpha))
            pulled(name, f, z, alpha, smooth=False)
            pulled(name, f, z[:3], alpha, smooth=exact)
            pulled(name, f, z[:3, 0], alpha, smooth=exact)
            w.case(name, x0=np.array([0.5, 0.6], t), x1=u(2), y0=one)
            w.case(name, x0=np.array([-0.5, 1.5], t), x1=u(2), y0=one)
            w.case(name, x0=np.array([0.5, 0.5], t), x1=np.array([1.0, -1.0], t), y0=t(NAN))
            w.case(name, x0=np.array([NAN, 0.5], t), x1=u(2), y0=t(NAN))
        k, p = np.array([[1, 0, 3], [2, 2, 5]]), np.array([0.2, 0.3, 0.5], t)
        n = np.array([4.0, 9.0], t)
        for function in ("logpmf", "pmf"):
            name, log = f"multinomial.{function}", ss.multinomial.logpmf(k, n, np.array([0.2, 0.3, 0.5]))
            y, ct = log if function == "logpmf" else np.exp(log), np.cos(np.arange(2) + 1.0)
            factor = ct * (1 if function == "logpmf" else y)
            w.case(name, x0=k, x1=n, x2=p, y0=y.astype(t), ct0=ct.astype(t), g1=(factor * scipy.special.digamma(n + 1.0)).astype(t), g2=(factor @ (k / p)).astype(t))
            one, sure = (t(-INF), t(0.0)) if function == "logpmf" else (t(0.0), t(1.0))
            w.case(name, x0=np.array([1, 2]), x1=t(4), x2=np.array([0.5, 0.5], t), y0=one)
            w.case(name, x0=np.array([-1, 3]), x1=t(2), x2=np.array([0.5, 0.5], t), y0=one)
            w.case(name, x0=np.array([0.5, 1.5], t), x1=t(2), x2=np.array([0.5, 0.5], t), y0=one)
            w.case(name, x0=np.array([2, 0]), x1=t(2), x2=np.array([1.0, 0.0], t), y0=sure)
            w.case(name, x0=np.array([1, 1]), x1=t(2), x2=np.array([1.5, -0.5], t), y0=t(NAN))
            w.case(name, x0=np.zeros((0, 2), np.int64), x1=t(2), x2=np.array([0.5, 0.5], t), y0=np.zeros(0, t))


continuous()
counts()
several()
jax_edges()
w.write()
tails.write()
