"""Complex functions: exact values by mpmath, values at zeros, infinities and NaN by C99 (numpy), gradients by JAX.

Writes complex_exact.txt, complex_edges.txt, complex_gradients.txt, complex_random.txt (jax.random).
"""

import itertools

import mpmath
import numpy as np
from records import Writer
import jax
import jax.numpy as jnp

mpmath.mp.prec = 2400
FUNCTIONS = "sqrt rsqrt exp exp2 expm1 log log2 log10 log1p logistic sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh".split()
OF_MPMATH = {
    "rsqrt": lambda z: 1 / mpmath.sqrt(z),
    "exp2": lambda z: mpmath.mpf(2) ** z,
    "expm1": lambda z: mpmath.exp(z) - 1,
    "log2": lambda z: mpmath.log(z) / mpmath.log(2),
    "log10": lambda z: mpmath.log(z) / mpmath.log(10),
    "log1p": lambda z: mpmath.log(1 + z),
    "logistic": lambda z: 1 / (1 + mpmath.exp(-z)),
}
REFERENCE = {name: OF_MPMATH.get(name) or getattr(mpmath, name) for name in FUNCTIONS}
REFERENCE |= {"abs": abs, "sign": lambda z: z / abs(z), "cube": lambda z: z**3, "inverse_square": lambda z: 1 / z**2}
PAIRS = {"mul": lambda z, w: z * w, "div": lambda z, w: z / w, "pow": lambda z, w: mpmath.exp(w * mpmath.log(z))}


def points(rng, parts, wide):
    """Of all sizes and of about 1; not on branch cuts, where the sign of a zero would decide that mpmath does not have."""
    size = rng.uniform(-4, 3, (24, 2)) if not wide else rng.uniform(-40, 40, (24, 2)) if parts == np.float64 else rng.uniform(-18, 18, (24, 2))
    sign = rng.choice([-1, 1], (24, 2))
    return (sign * 2.0**size).astype(parts)


def rounded(value, parts):
    """The nearest number of the dtype; f32 values are kept as doubles, which tell the error of the last place too."""
    return complex(float(value.real), float(value.imag))


def exact():
    w = Writer(__file__, "complex_exact.txt", "Values of functions of complex numbers, rounded to f64.", ("mpmath",))
    rng = np.random.default_rng(17)
    for parts, whole in ((np.float64, np.complex128), (np.float32, np.complex64)):
        top = np.finfo(parts).max
        for name, f in REFERENCE.items():
            bounded = name in "exp exp2 expm1 sinh cosh sin cos cube inverse_square".split()
            xy = np.concatenate([points(rng, parts, False), points(rng, parts, not bounded)])
            if not bounded and name not in ("tan", "tanh", "logistic"):
                big = np.array([[top / 2, top / 3], [-top / 2, 1], [1, -top], [top, top / 4]], parts)
                xy = np.concatenate([xy, big])
            z = (xy[:, 0] + 1j * xy[:, 1]).astype(whole)
            y = [f(mpmath.mpc(float(v.real), float(v.imag))) for v in z]
            y = np.array([rounded(mpmath.mpc(v), parts) for v in y])
            w.case(name, x0=z, y0=y.real if name == "abs" else y)
        for name, f in PAIRS.items():
            wide = name == "div"
            a, b = points(rng, parts, wide), points(rng, parts, wide)
            if name == "div":
                ends = np.array([top / 2, top / 3], parts)
                a = np.concatenate([a, [ends, ends, [1, 1], [1e-30, 1e30]]]).astype(parts)
                b = np.concatenate([b, [ends[::-1], [3, 5], 1 / ends, [1e30, 1e-30]]]).astype(parts)
            z, u = ((p[:, 0] + 1j * p[:, 1]).astype(whole) for p in (a, b))
            y = [f(mpmath.mpc(float(p.real), float(p.imag)), mpmath.mpc(float(q.real), float(q.imag))) for p, q in zip(z, u)]
            y = np.array([rounded(v, parts) for v in y])
            fits = np.maximum(abs(y.real), abs(y.imag)) < float(top)
            w.case(name, x0=z[fits], x1=u[fits], y0=y[fits])
    w.write()


def edges():
    w = Writer(__file__, "complex_edges.txt", "Values at zeros, ones, infinities and NaN, as the C library has them.", ("numpy",))
    parts = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]
    z = np.array([complex(a, b) for a, b in itertools.product(parts, parts)])
    with np.errstate(all="ignore"):
        for name in "sqrt exp log sinh cosh tanh sin cos tan arcsinh arccosh arctanh arcsin arccos arctan abs".split():
            w.case(name.replace("arc", "a"), x0=z, y0=getattr(np, name)(z))
    w.write()


def gradients():
    w = Writer(__file__, "complex_gradients.txt", "jax.grad of the real part of the sum of f(z) times weights: the convention and the values.")
    rng = np.random.default_rng(18)
    z = rng.normal(size=5) + 1j * rng.normal(size=5)
    v = rng.normal(size=5) + 1j * rng.normal(size=5)
    weights = rng.normal(size=5) + 1j * rng.normal(size=5)
    table = {name: getattr(jnp, name.replace("a", "arc", 1) if name in ("asin", "acos", "atan", "asinh", "acosh", "atanh") else name, None) for name in FUNCTIONS}
    table |= {"rsqrt": jax.lax.rsqrt, "logistic": jax.nn.sigmoid}
    table |= {
        "abs": jnp.abs,
        "sign": jnp.sign,
        "conj": jnp.conj,
        "real": jnp.real,
        "imag": jnp.imag,
        "angle": jnp.angle,
        "cube": lambda z: z**3,
        "quotient": lambda z: (z + 2) / (z * z + 1j),
        "cumprod": jnp.cumprod,
        "prod": jnp.prod,
        "var": jnp.var,
        "fft": jnp.fft.fft,
    }
    for name, f in table.items():
        g = jax.grad(lambda z: jnp.sum(jnp.real(f(z) * weights)))
        primal, tangent = jax.jvp(f, (z,), (v,))
        y0, t0, g0 = np.asarray(primal), np.asarray(tangent), np.asarray(g(z))
        if name == "acosh":  # where the real part is negative, JAX 0.10.2 has the derivative's negative
            slope = 1 / (np.sqrt(z - 1) * np.sqrt(z + 1))
            t0, g0 = slope * v, slope * weights
        if name == "sign":  # whose derivative JAX takes for zero
            size = abs(z)
            t0 = v / size - z * (z.conj() * v).real / size**3
            g0 = weights / size - z.conj() * (weights * z).real / size**3
        w.case(name, x0=z, v=v, weights=weights, y0=y0, t0=t0, g0=g0)
    w.write()


def draws():
    w = Writer(__file__, "complex_random.txt", "jax.random.normal and orthogonal of complex dtypes; x0 is the key.")
    for t in (np.complex128, np.complex64):
        for seed, shape in ((0, ()), (7, (5,)), (8, (2, 3))):
            key = jax.random.PRNGKey(seed)
            w.case("normal", x0=key, y0=jax.random.normal(key, shape, t))
        key = jax.random.PRNGKey(11)
        w.case("orthogonal", x0=key, y0=jax.random.orthogonal(key, 3, dtype=t, m=2))
    w.write()


if __name__ == "__main__":
    exact()
    edges()
    gradients()
    draws()
