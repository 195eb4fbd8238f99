"""Special functions by mpmath, with first and second derivatives; edges from SciPy. One file a family of functions; the format
is that of make_array.py, with elementwise derivatives besides."""

import sys

import jax
import make_array
import mpmath
import numpy as np
import records
import scipy.special
from make_array import FLOATS, INF, NAN, exact, record

mp = mpmath
FORMAT = """`text ulp N`: values are within N units in the last place (of `scale`, where that is given); elementwise derivatives are
d0, d1, ..., second ones d00, d01, ...."""


def file(name, about):
    about += " Values and derivatives by mpmath (70 digits), edges from SciPy.\n" + make_array.FORMAT.strip()
    return records.Writer(__file__, f"array_{name}.txt", about + "\n" + FORMAT, ("jax", "numpy", "scipy", "mpmath"))


def partial(f, *orders):
    """The derivative of f by its arguments of these numbers, by central differences in 70 digits."""

    def of(*v):
        i = orders[-1]
        inner = partial(f, *orders[:-1]) if len(orders) > 1 else f
        h = (abs(v[i]) or 1) * mp.mpf(10) ** -(12 if len(orders) == 2 else 20)
        if len(orders) == 2:  # the first one is a difference, too
            inner = partial(f, orders[0])
        at = lambda t: inner(*(t if k == i else u for k, u in enumerate(v)))  # noqa: E731
        return (8 * (at(v[i] + h) - at(v[i] - h)) - (at(v[i] + 2 * h) - at(v[i] - 2 * h))) / (12 * h)

    return of


def accurate(w, name, f, *xs, ulp, by=None, scale=None, first=None, second=None, text=None):
    """A case of values and derivatives, and one in f32. `by`: the arguments that have derivatives; `first`, `second`:
    derivatives that are known, else they are differences."""
    xs = [np.asarray(x, np.float64) for x in xs]
    by = range(len(xs)) if by is None else by
    record(w, name, None, *xs, y=exact(f, *xs), grad=False, ulp=ulp, **(text or {}))
    if scale is not None:
        w.add("scale", exact(scale, *xs))
    for k, i in enumerate(by):
        slope = partial(f, i) if first is None else first[k] if isinstance(first, list) else first
        w.add(f"d{i}", exact(slope, *xs))
        for j in by:
            if j >= i:
                curve = second or (partial(f, i, j) if first is None else partial(slope, j))
                w.add(f"d{i}{j}", exact(curve, *xs))
    few = [x[:6].astype(np.float32) for x in xs]
    record(w, name, None, *few, y=exact(f, *few).astype(np.float32), grad=False, **(text or {}))


def edges(w, name, *xs, f=None, fix=(), text=None):
    """SciPy's answers; `fix`: (number, answer) of those that are not right."""
    f = f or getattr(scipy.special, name)
    for t in FLOATS:
        v = [np.asarray(x, t) for x in xs]
        y = np.array(f(*v)).astype(t)
        for i, right in fix:
            y.flat[i] = right
        record(w, name, None, *v, y=y, grad=False, **(text or {}))
        empty = [np.zeros((2, 0), t) for _ in xs]
        record(w, name, None, *empty, y=np.zeros((2, 0), t), grad=False, **(text or {}))


def combinatorics():
    w = file("combinatorics", "Numbers of choices and functions that belong to them.")
    rng = np.random.default_rng(20261201)
    n = np.array([1, 5, 10, 52, 60, 1000, 1e6, 1e12, 7.5, 30, 56, 100])
    k = np.array([1, 2, 5, 5, 30, 3, 4, 2, 3, 29, 28, 97])
    accurate(w, "comb", mp.binomial, n, k, ulp=4)
    n = np.concatenate([rng.uniform(0.5, 20, 10), [200, 90, 1e4]])
    k = np.concatenate([n[:10] * rng.uniform(0.05, 0.95, 10), [100, 45, 40]])
    accurate(w, "comb", mp.binomial, n, k, ulp=8)
    grid = np.array([0.0, 1.0, 4.0, -1.0, 20.0])
    edges(w, "comb", grid[:, None], grid, f=lambda n, k: scipy.special.comb(n, k))
    for t in FLOATS:
        record(w, "comb_repeated", None, np.array([0.0, 1, 4, 3, 0], t), np.array([0.0, 2, 3, 0, 2], t), y=np.array([1, 1, 20, 1, 0], t), grad=False)
    choices = lambda n, k: mp.gamma(n + 1) / mp.gamma(n - k + 1)  # noqa: E731
    accurate(w, "perm", choices, np.array([1, 5, 10, 52, 60, 1000, 1e6, 7.5, 30.25]), np.array([1, 2, 5, 5, 30, 3, 4, 3, 29]), ulp=8)
    n = rng.uniform(0.5, 20, 10)
    accurate(w, "perm", choices, n, n * rng.uniform(0.05, 0.95, 10), ulp=8)
    edges(w, "perm", grid[:, None], grid, f=lambda n, k: scipy.special.perm(n, k))
    edges(w, "loggamma", np.array([0.0, 1.0, 2.5, -0.5, INF, NAN, 300.0]), fix=[(4, INF)])
    order, x = np.repeat(np.arange(6.0), 5), 10.0 ** rng.uniform(-1, 2, 30)
    accurate(w, "polygamma", lambda n, x: mp.polygamma(int(n), x), order[5:], x[5:], ulp=8, by=[1])
    edges(w, "polygamma", np.array([0, 1, 2, 3, 0.0]), np.array([1, 2, 3.5, 0.25, 10]))
    for t in FLOATS:
        record(w, "polygamma", None, np.array([-1, 0.5, 1, 0, 2], t), np.array([1, 1, 0, NAN, NAN], t), y=np.array([NAN, NAN, INF, NAN, NAN], t), grad=False)
    numbers = [float(mp.bernoulli(i)) for i in range(301)]
    for count in (0, 1, 5, 300):
        w.case("bernoulli", {"n": count}, y0=np.array(numbers[: count + 1]))
    w.write()


def box_cox():
    w = file("box_cox", "Transformations of Box and Cox, and functions of robust fits.")
    rng = np.random.default_rng(20261202)
    x, lam = 10.0 ** rng.uniform(-3, 3, 24), rng.uniform(-2, 2, 24)
    lam[:4] = [1e-9, -1e-5, 1, 2]
    y = rng.uniform(-2, 3, 24)
    y = np.where(lam * y > -0.8, y, 0.3)
    power = lambda x, p: (x**p - 1) / p  # noqa: E731
    inverse = lambda y, p: mp.exp(mp.log1p(p * y) / p)  # noqa: E731
    accurate(w, "boxcox", power, x, lam, ulp=8)
    accurate(w, "boxcox1p", lambda x, p: power(1 + x, p), np.concatenate([x[:16], -x[16:] / 1001]), lam, ulp=8)
    accurate(w, "inv_boxcox", inverse, y, lam, ulp=8)
    accurate(w, "inv_boxcox1p", lambda y, p: inverse(y, p) - 1, y, lam, ulp=8)
    at = np.array([0.5, 2.0, 3.0])
    zero = np.zeros(3)
    log = [np.log(at), 1 / at, np.log(at) ** 2 / 2]
    record(w, "boxcox", None, at, zero, y=log[0], slopes=log[1:], grad=False)
    record(w, "boxcox1p", None, at - 1, zero, y=log[0], slopes=log[1:], grad=False)
    record(w, "inv_boxcox", None, at, zero, y=np.exp(at), slopes=[np.exp(at), -(at**2) / 2 * np.exp(at)], grad=False)
    record(w, "inv_boxcox1p", None, at, zero, y=np.expm1(at), slopes=[np.exp(at), -(at**2) / 2 * np.exp(at)], grad=False)
    p = np.array([0.0, 1.0, -1.0, 0.5, NAN])
    for name, v in (("boxcox", [0.0, 1.0, -1.0, INF, NAN]), ("boxcox1p", [0.0, -1.0, -1.5, INF, NAN]), ("inv_boxcox", [0.0, -1.0, 1.0, NAN, -3.0]), ("inv_boxcox1p", [0.0, -1.0, 1.0, NAN, -3.0])):
        edges(w, name, np.array(v)[:, None], p)
    accurate(w, "log_expit", lambda x: -mp.log1p(mp.exp(-x)), np.concatenate([rng.uniform(-30, 30, 10), [-0.1, 1e-3]]), ulp=4)
    edges(w, "log_expit", np.array([0.0, -0.0, 1e4, -1e4, INF, -INF, NAN]))
    d, r = rng.uniform(0.5, 3, 12), rng.uniform(-5, 5, 12)
    accurate(w, "huber", lambda d, r: r * r / 2 if abs(r) <= d else d * (abs(r) - d / 2), d, r, ulp=4)
    accurate(w, "pseudo_huber", lambda d, r: d * d * (mp.sqrt(1 + (r / d) ** 2) - 1), d, r * 10.0 ** rng.uniform(-4, 0, 12), ulp=4)
    d, r = np.array([0.0, -1.0, 1.0, 2.0, NAN])[:, None], np.array([0.0, 1.0, -3.0, INF, NAN])
    edges(w, "huber", d, r)
    edges(w, "pseudo_huber", d, r, fix=[(20, NAN), (23, NAN)])  # of NaN, where SciPy says 0 and infinity
    w.write()


def of_pair(f, k):
    return lambda *x: f(*x)[k]


def more_integrals():
    w = file("more_integrals", "Exponential, sine, cosine, hyperbolic and Fresnel's integrals, Owen's T, the inverse of erfc.")
    rng = np.random.default_rng(20261203)
    u = rng.uniform

    def expn(n, x):
        if n == 0:
            return mp.exp(-x) / x
        end = min(160 / (x + n - 1), mp.log1p(160 / x))
        return mp.exp(-x) * mp.quad(lambda t: mp.exp(-x * mp.expm1(t) - (n - 1) * t), mp.linspace(0, end, 9))

    n, x = np.concatenate([[0, 0, 1, 1, 1, 2, 2], rng.integers(2, 60, 12), [200, 1e5]]), 10.0 ** u(-4, 2, 21)
    accurate(w, "expn", expn, n, x, ulp=6, by=[1], second=lambda n, x: expn(n - 2, x) if n > 1 else mp.exp(-x) * (1 + 1 / x) / x if n == 1 else mp.exp(-x) * (1 / x + 2 / x**2 + 2 / x**3), first=lambda n, x: -expn(n - 1, x) if n > 0 else -mp.exp(-x) * (1 + 1 / x) / x)
    edges(w, "expn", np.array([0, 0, 1, 1, 2, 3, -1, 2, 2, 2.0]), np.array([0, 1, 0, 1, 0, 0, 1, -1, INF, NAN]))
    x = np.concatenate([10.0 ** u(-4, 3, 14), -(10.0 ** u(-2, 2, 4)), np.linspace(0.7, 9, 12)])
    accurate(w, "si", mp.si, x, ulp=6)
    accurate(w, "ci", lambda x: mp.ci(abs(x)), x, ulp=8, scale=lambda x: 1 if abs(x) < 6 else 1 / abs(x))
    x = np.concatenate([10.0 ** u(-4, 2.6, 14), -(10.0 ** u(-2, 2, 4)), np.linspace(0.7, 25, 12)])
    accurate(w, "shi", mp.shi, x, ulp=8)
    accurate(w, "chi", lambda x: mp.chi(abs(x)), x, ulp=8, scale=lambda x: max(1, abs(mp.chi(abs(x)))))
    x = np.concatenate([10.0 ** u(-3, 3, 12), -(10.0 ** u(-2, 1, 4)), np.linspace(0.7, 6, 14)])
    accurate(w, "fresnel_s", mp.fresnels, x, ulp=8)
    accurate(w, "fresnel_c", mp.fresnelc, x, ulp=8)
    at = np.array([0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 100.0])
    for name, f in (("si", "sici"), ("ci", "sici"), ("shi", "shichi"), ("chi", "shichi"), ("fresnel_s", "fresnel"), ("fresnel_c", "fresnel")):
        edges(w, name, at, f=of_pair(getattr(scipy.special, f), name in ("ci", "chi", "fresnel_c")))

    def owens(h, a):
        end = min(abs(a), 20 / abs(h))
        density = lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t)  # noqa: E731
        return mp.sign(a) * mp.quad(density, mp.linspace(0, end, 41), method="gauss-legendre", maxdegree=5) / (2 * mp.pi)

    h, a = np.concatenate([10.0 ** u(-3, 0.7, 16), u(5, 25, 4), u(-3, 3, 4)]), np.concatenate([10.0 ** u(-3, 3, 20), u(-3, 3, 4)])
    by_h = lambda h, a: -mp.exp(-h * h / 2) * mp.erf(a * h / mp.sqrt(2)) / (2 * mp.sqrt(2 * mp.pi))  # noqa: E731
    by_a = lambda h, a: mp.exp(-h * h * (1 + a * a) / 2) / (2 * mp.pi * (1 + a * a))  # noqa: E731
    accurate(w, "owens_t", owens, h, a, ulp=8, first=[by_h, by_a])
    edges(w, "owens_t", np.array([0, 0, 1, INF, 1, 1, -1, NAN, 0, 2]), np.array([0, 1, 0, 1, INF, -INF, -1, 1, INF, -0.5]))
    q = np.concatenate([u(0, 2, 12), 10.0 ** u(-300, -1, 12)])
    accurate(w, "erfcinv", lambda q: mp.findroot(lambda x: mp.log(mp.erfc(x) / q), float(scipy.special.erfcinv(float(q)))), q, ulp=4, first=lambda q: -mp.sqrt(mp.pi) / 2 * mp.exp(mp.findroot(lambda x: mp.log(mp.erfc(x) / q), float(scipy.special.erfcinv(float(q)))) ** 2))
    edges(w, "erfcinv", np.array([0.0, 1.0, 2.0, -0.1, 2.5, NAN, 0.5]), fix=[(1, 0)])
    w.write()


def bessel():
    w = file("bessel", "Bessel functions of real order.")
    rng = np.random.default_rng(20261204)
    u = rng.uniform
    safe = lambda f: lambda v, x: mp.re(f(mp.mpf(v), mp.mpf(x)))  # noqa: E731
    j, y = safe(mp.besselj), safe(mp.bessely)
    i, k = safe(mp.besseli), safe(mp.besselk)
    # J and Y oscillate for x > v: error and derivatives by their envelope.
    envelope = lambda v, x: mp.sqrt(j(v, x) ** 2 + y(v, x) ** 2) if abs(x) > v else None  # noqa: E731

    def slopes(f, sign):  # f' = (f(v - 1) + sign f(v + 1)) / 2, and f''
        first = lambda v, x: (f(v - 1, x) + sign * f(v + 1, x)) / 2  # noqa: E731
        second = lambda v, x: (f(v - 2, x) + 2 * sign * f(v, x) + f(v + 2, x)) / 4  # noqa: E731
        return dict(first=first, second=second, by=[1])

    v = np.concatenate([np.repeat([0.0, 1.0], 14), rng.integers(2, 12, 8), u(0, 6, 16), u(5, 60, 10)])
    x = np.concatenate([np.tile(np.concatenate([10.0 ** u(-3, 3, 8), u(0.4, 12, 6)]), 2), 10.0 ** u(-1, 2.3, 8), 10.0 ** u(-2, 2.3, 16), u(1, 120, 10)])
    for name, f in (("jv", j), ("yv", y)):
        accurate(w, name, f, v, x, ulp=8, scale=lambda v, x: envelope(v, x) or abs(f(v, x)) * (1 + abs(mp.log(abs(f(v, x))))), **slopes(f, -1))
    few = np.array([-0.5, -1.5, -3.0, -2.3, 2.0, 3.0]), np.array([1.0, 0.3, 2.0, 7.0, -1.5, -4.0])
    record(w, "jv", None, *few, y=exact(j, *few), grad=False)
    record(w, "yv", None, few[0][:4], few[1][:4], y=exact(y, few[0][:4], few[1][:4]), grad=False)
    v = np.concatenate([np.repeat([0.0, 1.0], 8), u(0, 6, 14), u(5, 60, 10)])
    x = np.concatenate([np.tile(10.0 ** u(-2, 2.5, 8), 2), 10.0 ** u(-2, 2, 14), 10.0 ** u(-1, 2.3, 10)])
    size = lambda f: lambda v, x: abs(f(v, x)) * (1 + abs(mp.log(abs(f(v, x)))))  # noqa: E731
    accurate(w, "iv", i, v, x, ulp=8, scale=size(i), **slopes(i, 1))
    accurate(w, "kv", k, v, x, ulp=8, scale=size(k), first=lambda v, x: -(k(v - 1, x) + k(v + 1, x)) / 2, second=lambda v, x: (k(v - 2, x) + 2 * k(v, x) + k(v + 2, x)) / 4, by=[1])
    scaled = lambda v, x: i(v, x) * mp.exp(-abs(x))  # noqa: E731
    accurate(w, "ive", scaled, v, x, ulp=8, scale=size(scaled), by=[1])
    grown = lambda v, x: k(v, x) * mp.exp(x)  # noqa: E731
    accurate(w, "kve", grown, v, x, ulp=8, scale=size(grown), by=[1])
    far = np.array([0.0, 2.5, 700.0, 900.0]), np.array([1e5, 1e9, 300.0, 1e-3])
    for name in ("ive", "kve"):
        record(w, name, None, *far, y=getattr(scipy.special, name)(*far), grad=False)
    few = np.array([-0.5, -1.5, -3.0, 2.0, 3.0]), np.array([1.0, 0.3, 2.0, -1.5, -4.0])
    record(w, "iv", None, *few, y=exact(i, *few), grad=False)
    orders, at = np.array([0.0, 1.0, 2.5, -0.5, -2.0, NAN])[:, None], np.array([0.0, INF, -1.0, NAN])
    zeros = [(i, 0) for i in (1, 5, 9, 13, 17)]  # the limits at infinity, where SciPy has NaN
    fix = {"jv": zeros, "yv": zeros, "iv": [], "kv": [(20, NAN)], "ive": [*zeros, (12, INF)], "kve": [*zeros, (20, NAN)]}
    for name, right in fix.items():
        edges(w, name, orders, at, fix=right)
    x = np.array([0.0, 0.7, 3.0, 40.0])
    for t in FLOATS:
        record(w, "bessel_jn", None, x.astype(t), y=exact(lambda n, x: mp.besselj(int(n), x), np.arange(6.0)[:, None] + 0 * x, x.astype(t) + 0 * np.arange(6.0)[:, None]).astype(t), grad=False, v=5)
    for name in ("j0", "j1", "y0", "y1", "k0", "k1", "k0e", "k1e"):
        edges(w, name, np.array([0.0, 1.0, 2.5, INF, NAN, 30.0]), fix=[(3, 0)])
    w.write()


def hypergeometric():
    w = file("hypergeometric", "Kummer's and Gauss' hypergeometric functions.")
    rng = np.random.default_rng(20261205)
    u = rng.uniform
    a, b = u(0.1, 8, 20), u(0.2, 8, 20)
    x = np.concatenate([u(-5, 5, 8), u(-60, 60, 6), u(-600, 400, 6)])
    accurate(w, "hyp1f1", mp.hyp1f1, a, b, x, ulp=24)
    a, b, x = u(-3, 3, 10), u(0.3, 3, 10), u(-2, 2, 10)
    a[:2] = [0, -1]
    accurate(w, "hyp1f1", mp.hyp1f1, a, b, x, ulp=24, scale=lambda a, b, x: mp.hyp1f1(abs(a), b, abs(x)))
    edges(w, "hyp1f1", np.array([0, 0, 2, 1, 2, NAN, 1.0]), np.array([1, 0, 0, -1, 2, 1, 1.0]), np.array([3, 1, 1, 1, 0.5, 1, NAN]), fix=[(1, 1)])
    accurate(w, "hyp2f1", mp.hyp2f1, u(0.1, 4, 24), u(0.1, 4, 24), u(0.3, 6, 24), np.concatenate([u(-1, 0.5, 8), u(0.5, 1, 6), 1 - 10.0 ** -u(1, 6, 4), -(10.0 ** u(0, 4, 6))]), ulp=20)
    # c - a - b an integer, series that end
    a, b, c = np.array([1, 2, 0.5, 1.5, 1, 2]), np.array([1, 1, 0.5, 2.5, 2, 3.0]), np.array([2, 3, 1, 4, 4, 2.0])
    accurate(w, "hyp2f1", mp.hyp2f1, a, b, c, np.array([0.7, -0.5, 0.99, 0.8, -3, 0.95]), ulp=20)
    a, b, c, x = np.array([-2, -3, 1.5, -1]), np.array([1.5, 0.5, -2, 3.0]), np.array([0.7, 2, 1.2, 2]), np.array([0.4, -2, 2.5, 1])
    record(w, "hyp2f1", None, a, b, c, x, y=exact(mp.hyp2f1, a, b, c, x), grad=False)
    edges(w, "hyp2f1", np.array([1, 1, 0.5, 1, NAN, 2]), np.array([1, 2, 0.5, 1, 1, 3.0]), np.array([3, 2, 2, 0, 1, 1.5]), np.array([1, 1, 1, 0.5, 0.5, 1.5]))
    w.write()


def of_the_plane():
    w = file("of_the_plane", "Spherical harmonics and Faddeeva's function, of real and imaginary parts.")
    rng = np.random.default_rng(20261206)
    u = rng.uniform

    def legendre(n, m, t):
        p = abs(int(m))
        x, s = mp.cos(t), mp.sin(t)
        below, at = mp.mpf(0), (-s) ** p * mp.fac2(2 * p - 1)
        for k in range(p + 1, int(n) + 1):
            below, at = at, ((2 * k - 1) * x * at - (k + p - 1) * below) / (k - p)
        size = mp.sqrt((2 * n + 1) / (4 * mp.pi) * mp.factorial(n - p) / mp.factorial(n + p))
        return size * at * (-1 if m < 0 and p % 2 else 1)

    n = np.concatenate([np.repeat(np.arange(4.0), [1, 3, 5, 7]), [20, 20, 50, 100]])
    m = np.concatenate([[0, -1, 0, 1, -2, -1, 0, 1, 2, -3, -2, -1, 0, 1, 2, 3], [7, -13, 50, 3]])
    theta, phi = u(0.1, 3, 20), u(-3, 3, 20)
    near_one = lambda *v: 1  # noqa: E731
    accurate(w, "sph_legendre_p", legendre, n, m, theta, ulp=8, by=[2], scale=near_one)
    real = lambda n, m, t, p: legendre(n, m, t) * mp.cos(m * p)  # noqa: E731
    imaginary = lambda n, m, t, p: legendre(n, m, t) * mp.sin(m * p)  # noqa: E731
    accurate(w, "sph_harm_re", real, n, m, theta, phi, ulp=8, by=[2, 3], scale=near_one)
    accurate(w, "sph_harm_im", imaginary, n, m, theta, phi, ulp=8, by=[2, 3], scale=near_one)
    edges(w, "sph_legendre_p", np.array([0, 1, 1, 2, 3, 2]), np.array([0, 0, 2, -3, 1, 0]), np.array([0, 0, 1, 1, 0, NAN]), f=lambda n, m, t: np.vectorize(lambda n, m, t: np.asarray(scipy.special.sph_legendre_p(int(n), int(m), t)).item(), otypes=[float])(n, m, t))
    for t in FLOATS:
        record(w, "sph_legendre_p", None, np.array([-1, 0.5, 2], t), np.array([0, 0, 0.5], t), np.array([1, 1, 1], t), y=np.full(3, NAN, t), grad=False)
        few = np.array([2, 3, 1]), np.array([-1, 2, 0]), np.array([0.3, 1.2, 2.0], t), np.array([1.0, -2.0, 0.5], t)
        y = np.asarray(jax.scipy.special.sph_harm_y(*few, n_max=3))
        record(w, "sph_harm_re", None, *few, y=y.real.astype(t), grad=False)
        record(w, "sph_harm_im", None, *few, y=y.imag.astype(t), grad=False)

    faddeeva = lambda x, y: mp.exp(-mp.mpc(x, y) ** 2) * mp.erfc(-1j * mp.mpc(x, y))  # noqa: E731
    x = np.concatenate([10.0 ** u(-3, 1.5, 16), u(-6, 6, 8), [0.0, 1e4], u(-3, 3, 4)])
    y = np.concatenate([10.0 ** u(-3, 1.5, 16), u(0, 7, 8), [2.0, 1e-3], u(-2, 0, 4)])
    size = lambda x, y: abs(faddeeva(x, y)) + (2 * abs(mp.exp(-mp.mpc(x, y) ** 2)) if y < 0 else 0)  # noqa: E731
    accurate(w, "wofz_re", lambda x, y: faddeeva(x, y).real, x, y, ulp=8, scale=size)
    accurate(w, "wofz_im", lambda x, y: faddeeva(x, y).imag, x, y, ulp=8, scale=size)
    for t in FLOATS:
        at = np.array([0.0, 0, 1, -1, NAN, 1e10], t), np.array([0.0, 1, 0, -0.5, 1, 0], t)
        z = scipy.special.wofz(at[0].astype(np.float64) + 1j * at[1])
        z[4] = complex(NAN, NAN)
        record(w, "wofz_re", None, *at, y=z.real.astype(t), grad=False)
        record(w, "wofz_im", None, *at, y=z.imag.astype(t), grad=False)
    w.write()


if __name__ == "__main__":
    families = {f.__name__: f for f in (combinatorics, box_cox, more_integrals, bessel, hypergeometric, of_the_plane)}
    for name in sys.argv[1:] or families:
        families[name]()
