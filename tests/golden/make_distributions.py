"""Draws of jax.random that are made of gamma draws or loops, with their gradients; the incomplete gamma and beta functions
and functions that are integrals by mpmath. One file each; the format is that of make_array.py."""

import sys

import jax
import jax.numpy as jnp
import jax.random as jr
import make_array
import mpmath
import numpy as np
import records
import scipy.special
from make_array import FLOATS, INF, NAN, exact, record

NAMES = {np.float64: "f64", np.float32: "f32"}


def file(name, about):
    return records.Writer(__file__, f"array_{name}.txt", about + "\n" + make_array.FORMAT.strip(), ("jax", "numpy", "scipy", "mpmath"))


def slopes(f, *xs):
    """Derivatives by each argument, in 70 digits."""
    one = lambda i: lambda *v: mpmath.diff(lambda z: f(*(z if k == i else u for k, u in enumerate(v))), v[i], h=v[i] * mpmath.mpf(10) ** -25)  # noqa: E731
    return [exact(one(i), *xs) for i in range(len(xs))]


def lower(a, x):
    return mpmath.gammainc(a, 0, x, regularized=True)


def upper(a, x):
    return mpmath.gammainc(a, x, mpmath.inf, regularized=True)


def beta(a, b, x):
    return mpmath.betainc(a, b, 0, x, regularized=True)


def incomplete():
    w = file("incomplete", "Incomplete gamma and beta functions: values and derivatives by mpmath (60 digits), edges from SciPy.")
    rng = np.random.default_rng(20261126)
    a = 10.0 ** rng.uniform(-2, 3, 32)
    x = np.concatenate([a[:24] * np.abs(1 + rng.standard_normal(24) * 3 / np.sqrt(a[:24])), a[24:] * 10.0 ** rng.uniform(-2, 0.5, 8)])
    x = np.clip(x, 1e-4, 2 * a + 20)
    shapes = 10.0 ** rng.uniform(-1.5, 2.5, (2, 32))
    inside = np.clip(rng.beta(*shapes), 1e-6, 1 - 1e-6)
    few = lambda v: v[:12].astype(np.float32)  # noqa: E731
    for name, f, xs in (("gammainc", lower, (a, x)), ("gammaincc", upper, (a, x)), ("betainc", beta, (*shapes, inside))):
        record(w, name, None, *xs, y=exact(f, *xs), slopes=slopes(f, *xs), grad=False)
        record(w, name, None, *map(few, xs), y=exact(f, *map(few, xs)).astype(np.float32), grad=False)
        calm = [np.array([0.7, 2.5, 30.0]), *([np.array([1.5, 0.4, 25.0])] if f is beta else []), np.array([0.3, 0.6, 0.4]) * (1 if f is beta else 10)]
        record(w, name, None, *calm, y=exact(f, *calm), slopes=slopes(f, *calm), grad=False, smooth_to=2)
    for t in FLOATS:
        edge = np.array([0.0, 1.0, 2.0, INF, -1.0, NAN], t)
        for name in ("gammainc", "gammaincc"):
            record(w, name, None, edge[:, None], edge, y=getattr(scipy.special, name)(edge[:, None], edge).astype(t), grad=False)
        p, q, z = np.meshgrid(np.array([1.0, 0.5, -1.0, NAN], t), np.array([2.0, -1.0], t), np.array([0.0, 1.0, -0.5, 1.5, NAN], t))
        record(w, "betainc", None, p, q, z, y=scipy.special.betainc(p, q, z).astype(t), grad=False)
        record(w, "gammainc", None, np.zeros((0, 2), t), np.zeros(2, t), y=np.zeros((0, 2), t), grad=False)
    inverses(w)
    w.write()


def inverse(probability, density, start):
    """By Newton's method for the logarithm of the probability, from SciPy's value on."""

    def f(*v):
        *parameters, p = v
        x = mpmath.mpf(float(start(*map(float, v))))
        for _ in range(5):
            below = probability(*parameters, x)
            x *= mpmath.exp(-mpmath.log(below / p) * below / (x * density(*parameters, x)))
        return x

    return f


def inverses(w):
    rng = np.random.default_rng(20261128)
    a, b = 10.0 ** np.concatenate([rng.uniform(-1, 2.3, (2, 12)), rng.uniform(0, 2.3, (2, 12))], axis=1)
    p = np.concatenate([rng.uniform(0, 1, 12), 10.0 ** -rng.uniform(1, 40, 6), 1 - 10.0 ** -rng.uniform(1, 9, 6)])
    of_gamma = lambda a, x: x ** (a - 1) * mpmath.exp(-x) / mpmath.gamma(a)  # noqa: E731
    of_beta = lambda a, b, x: x ** (a - 1) * (1 - x) ** (b - 1) / mpmath.beta(a, b)  # noqa: E731
    few = lambda v: v[:12].astype(np.float32)  # noqa: E731
    for name, f, xs in (
        ("gammaincinv", inverse(lower, of_gamma, scipy.special.gammaincinv), (a, p)),
        ("gammainccinv", inverse(upper, lambda a, x: -of_gamma(a, x), scipy.special.gammainccinv), (a, p)),
        ("betaincinv", inverse(beta, of_beta, scipy.special.betaincinv), (a, b, p)),
        ("betainccinv", inverse(lambda a, b, x: beta(b, a, 1 - x), lambda a, b, x: -of_beta(a, b, x), scipy.special.betainccinv), (a, b, p)),
    ):
        record(w, name, None, *xs, y=exact(f, *xs), slopes=slopes(f, *xs), grad=False)
        record(w, name, None, *map(few, xs), y=exact(f, *map(few, xs)).astype(np.float32), grad=False)
        calm = [np.array([0.7, 2.5, 30.0]), *([np.array([1.5, 0.4, 25.0])] if len(xs) == 3 else []), np.array([0.3, 0.6, 0.4])]
        record(w, name, None, *calm, y=exact(f, *calm), slopes=slopes(f, *calm), grad=False, smooth_to=2)
        for t in FLOATS:
            q = np.array([0.0, 1.0, -0.5, 1.5, NAN], t)
            shapes = np.meshgrid(np.array([1.0, 0.5, -1.0, NAN], t), np.array([2.0, -1.0], t), q) if len(xs) == 3 else np.meshgrid(np.array([0.0, 0.5, 1.0, 2.0, -1.0, NAN], t), q)
            record(w, name, None, *shapes, y=getattr(scipy.special, name)(*shapes).astype(t), grad=False)
            record(w, name, None, *([np.zeros(2, t)] * (len(xs) - 1)), np.zeros((0, 2), t), y=np.zeros((0, 2), t), grad=False)


def integrals():
    w = file("integrals", "Functions that are integrals: values and derivatives by mpmath (60 digits), edges from SciPy.")
    rng = np.random.default_rng(20261127)
    u = rng.uniform
    wide = 10.0 ** u(-8, 2.5, 24)
    signed = np.concatenate([wide, -wide[::2], u(-20, 20, 12)])
    mp = {
        "i0": (lambda x: mpmath.besseli(0, x), signed),
        "i1": (lambda x: mpmath.besseli(1, x), signed),
        "i0e": (lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)), np.append(signed, [1e5, -1e9])),
        "i1e": (lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)), np.append(signed, [1e5, -1e9])),
        "erfcx": (lambda x: mpmath.exp(x * x) * mpmath.erfc(x), np.concatenate([wide, u(-20, 0, 8), u(0, 30, 16), [1e5, 1e20]])),
        "dawsn": (lambda x: mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-x * x) * mpmath.erfi(x), np.append(signed, [1e5, -1e9])),
        "exp1": (mpmath.e1, np.concatenate([wide[:20], u(0, 2, 12), u(2, 40, 8), [700.0]])),
        "spence": (lambda x: mpmath.polylog(2, 1 - x), np.concatenate([wide, u(0, 3, 24)])),
        "expi": (mpmath.ei, np.concatenate([-wide[:18], wide, np.linspace(0.5, 60, 30), [1e-3, 0.3, 0.45, 700.0, 715.0]])),
    }
    for name, (f, x) in mp.items():
        record(w, name, None, x, y=exact(f, x), slopes=slopes(f, x), grad=False)
        few = x[-10:].astype(np.float32)
        if name == "erfcx":
            few = np.abs(few[:6]) + np.float32(0.1)
        record(w, name, None, few, y=exact(f, few).astype(np.float32), grad=False)
        calm = np.array([0.3, 0.9, 3.5])
        record(w, name, None, calm, y=exact(f, calm), slopes=slopes(f, calm), grad=False, smooth_to=2)
        for t in FLOATS:
            edge = np.array([0.0, -0.0, 1.0, INF, -INF, NAN, 1e4, -1.0], t)
            y = getattr(scipy.special, name)(edge).astype(t)
            if name in ("i0", "spence"):  # SciPy's NaN
                y[edge == INF] = INF if name == "i0" else -INF
            if name == "i0":
                y[edge == -INF] = INF
            record(w, name, None, edge, y=y, grad=False)
            record(w, name, None, np.zeros((2, 0), t), y=np.zeros((2, 0), t), grad=False)
    s, q = 1 + 10.0 ** u(-3, 1.5, 24), 10.0 ** u(-2, 3, 24)
    zeta = mpmath.zeta
    record(w, "zeta", None, s, q, y=exact(zeta, s, q), slopes=[exact(lambda s, q: zeta(s, q, 1), s, q), exact(lambda s, q: -s * zeta(s + 1, q), s, q)], grad=False)
    few = s[:6].astype(np.float32), q[:6].astype(np.float32)
    record(w, "zeta", None, *few, y=exact(zeta, *few).astype(np.float32), grad=False)
    calm = np.array([1.5, 3.0]), np.array([0.4, 7.0])
    record(w, "zeta", None, *calm, y=exact(zeta, *calm), slopes=[exact(lambda s, q: zeta(s, q, 1), *calm), exact(lambda s, q: -s * zeta(s + 1, q), *calm)], grad=False, smooth_to=2)
    for t in FLOATS:
        record(w, "zeta", None, np.array([1.0, 0.5, 2.0, NAN, 2.0, 2.5, 60.0], t), np.array([2.0, 2.0, 0.0, 1.0, NAN, -0.5, 1.0], t), y=np.array([INF, NAN, INF, NAN, NAN, NAN, 1.0], t), grad=False)
    w.write()


def draws():
    w = file("draws", "Draws of jax.random (threefry2x32): x0 is the key's data. Gradients of gamma draws by mpmath, of others by JAX.")

    def by_shape(a, y, logarithm):
        """The derivative of a draw by a where its probability stays."""

        def one(p, v):
            x = mpmath.exp(v) if logarithm else v
            f = (lambda s: lower(s, x)) if x < p else (lambda s: -upper(s, x))
            slope = -mpmath.diff(f, p, h=p * mpmath.mpf(10) ** -25) * mpmath.gamma(p) * mpmath.exp(x) / x ** (p - 1)
            return slope / x if logarithm else slope

        return exact(one, a, y)

    for seed in (0, 42):
        k = jr.key(seed)
        key = np.asarray(jr.key_data(k))
        for t in FLOATS:

            def draw(name, f, *p, grad=True, **text):
                record(w, name, lambda _, *q: f(*q), key, *p, grad=grad, smooth=False, dtype=NAMES[t], **text)

            u = lambda *v: np.array(v, t)  # noqa: E731
            a = u(0.05, 0.3, 0.9, 1.0, 2.5, 40.0, 3000.0)
            for name in ("gamma", "loggamma"):
                y = np.asarray(getattr(jr, name)(k, a, dtype=t))
                ct = np.cos(np.arange(a.size) + 1.0)
                slope = by_shape(a, y, name == "loggamma")
                record(w, name, None, key, a, y=y, grad=False, dtype=NAMES[t], shape=())
                w.add("ct0", ct.astype(t)), w.add("g1", (ct * slope).astype(t))
                draw(name, lambda p: getattr(jr, name)(k, p, (2, 3), t), u(1.7, 0.4, 9.0), shape=(2, 3), grad=False)
            draw("beta", lambda p, q: jr.beta(k, p, q, (4,), t), u(0.5, 1, 3, 20), u(0.7, 2, 0.3, 9), shape=(4,))
            draw("dirichlet", lambda p: jr.dirichlet(k, p, dtype=t), u(0.4, 1, 3, 2), shape=())
            draw("dirichlet", lambda p: jr.dirichlet(k, p, (2,), t), u(0.4, 1, 3), shape=(2,))
            draw("chisquare", lambda p: jr.chisquare(k, p, dtype=t), u(1, 3.5, 12), shape=())
            draw("f", lambda p, q: jr.f(k, p, q, (3,), t), u(1, 3.5, 12), u(4, 2.5, 7), shape=(3,))
            draw("t", lambda p: jr.t(k, p, dtype=t), u(1, 3.5, 12), shape=())
            draw("generalized_normal", lambda p: jr.generalized_normal(k, p, (5,), t), t(1.5), shape=(5,), grad=False)
            for p in (1.0, 2.0, 3.0):
                draw("ball", lambda: jr.ball(k, 3, p, (4,), t), shape=(4,), d=3, p=p, grad=False)
            draw("binomial", lambda n, p: jr.binomial(k, n, p, (8,), t), u(4, 12, 100, 1000, 3, 50, 0, 10), u(0.3, 0.9, 0.4, 0.02, 0, 1, 0.5, 0.5), shape=(8,), grad=False)
            draw("binomial", lambda n, p: jr.binomial(k, n, p, dtype=t), u(-1, NAN, INF, 5, 5), u(0.5, 0.5, 0.5, -0.1, NAN), shape=(), grad=False)
            draw("multinomial", lambda n, p: jr.multinomial(k, n, p, dtype=t), t(50), u(0.1, 0.4, 0.2, 0.3), shape=(), grad=False)
            draw("multinomial", lambda n, p: jr.multinomial(k, n, p, shape=(2, 3), dtype=t), u(9, 30), u(1, 0, 3), shape=(2, 3), grad=False)
            c = u(2, 0.3, 0.1, 0.3, 1, -0.2, 0.1, -0.2, 0.5).reshape(3, 3)
            draw("multivariate_normal", lambda m, s: jr.multivariate_normal(k, m, s, (4,)), u(1, -1, 0.5), c, shape=(4,))
            draw("multivariate_normal", lambda m, s: jr.multivariate_normal(k, m, s), u(1, -1, 0.5), np.stack([c, 2 * c]), shape=())
            for n, m in ((3, 3), (2, 4), (4, 2), (1, 1)):
                draw("orthogonal", lambda: jr.orthogonal(k, n, (2,), t, m), shape=(2,), n=n, m=m, grad=False)
        draw("poisson", lambda r: jr.poisson(k, r, (9,), np.int64), np.array([0, 0.1, 2, 5, 9.5, 10.5, 30, 1000, 1e6]), shape=(9,), grad=False)
        draw("poisson", lambda r: jr.poisson(k, r, dtype=np.int64), np.array([-1, NAN, 3]), shape=(), grad=False)
        x = np.arange(12.0).reshape(4, 3)
        for axis in (0, 1):
            for replace in (0, 1):
                for shape in ((2,), ()):
                    p = np.array([1.0, 3, 2, 4][: x.shape[axis]])
                    draw("choice", lambda v: jr.choice(k, v, shape, bool(replace), axis=axis), x, shape=shape, axis=axis, replace=replace, grad=False)
                    draw("choice", lambda v, p: jr.choice(k, v, shape, bool(replace), p / p.sum(), axis), x, p, shape=shape, axis=axis, replace=replace, grad=False)
        draw("choice", lambda v: jr.choice(k, v, (2, 3), False), np.arange(7), shape=(2, 3), axis=0, replace=0, grad=False)
    w.write()


if __name__ == "__main__":
    for name in sys.argv[1:] or ("incomplete", "integrals", "draws"):
        {"incomplete": incomplete, "integrals": integrals, "draws": draws}[name]()
