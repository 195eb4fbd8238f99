"""Prints the polynomial coefficients of src/ops/math. Run: python3 tools/elementary_coefficients.py [name ...]"""
import sys
from mpmath import mp, mpf, exp, expm1, log, log1p, sin, cos, pi, sqrt, atan, atanh, tan, erf, asin
from minimax import show, literal, rounded

jobs = {}


def job(f):
    jobs[f.__name__] = f
    return f


def quotient(f, g, at_zero):
    """f(x)/g(x) with its limit at 0."""
    return lambda x: f(x) / g(x) if x != 0 else at_zero


@job
def constants():
    ln2 = log(mpf(2))
    for bits, head in ((53, 42), (24, 15)):
        high = rounded(ln2, head)
        print("ln2", literal(high, bits), literal(ln2 - high, bits))
        print("log2(e)", literal(1 / ln2, bits))
        p1 = rounded(pi, bits)
        p2 = rounded(pi - p1, bits)
        p3 = rounded(pi - p1 - p2, bits)
        print("pi", literal(p1, bits), literal(p2, bits), literal(p3, bits), "1/pi", literal(1 / pi, bits))


@job
def exponential():
    half = log(mpf(2)) / 2 * mpf("1.0005")
    q = lambda x: (exp(x) - 1 - x) / x**2 if abs(x) > mpf("1e-12") else mpf(1) / 2 + x / 6
    for bits, n in ((53, 10), (24, 5), (24, 4)):
        # exp r = 1 + r + r^2 q(r); error relative to expm1 r, which also serves expm1 and tanh
        show(f"exp q, {n} terms", q, list(range(n)), (-half, half), lambda x: max(abs(x), mpf("1e-9")), bits)


@job
def expm1_wide():
    q = lambda x: (exp(x) - 1 - x) / x**2 if abs(x) > mpf("1e-12") else mpf(1) / 2 + x / 6
    for bits, n in ((53, 11), (53, 12), (24, 6)):
        show(f"expm1 q, {n} terms", q, list(range(n)), (mpf("-0.53"), mpf("0.53")), lambda x: max(abs(x), mpf("1e-9")), bits)


@job
def hyperbolic_tangent():
    # (expm1(2 r)/2 - r) / r^2
    q = lambda x: (expm1(2 * x) / 2 - x) / x**2 if abs(x) > mpf("1e-12") else 1 + 2 * x / 3
    h = log(mpf(2)) / 8 * mpf("1.001")
    for bits, n in ((53, 9), (53, 10), (24, 4), (24, 5)):
        show(f"tanh q, {n} terms", q, list(range(n)), (-h, 3 * h), lambda x: max(abs(x), mpf("1e-9")), bits)


@job
def exponential2():
    h = mpf("0.50001")
    ln2 = log(mpf(2))
    q = lambda x: (mpf(2)**x - 1) / x if abs(x) > mpf("1e-15") else ln2
    for bits, n in ((53, 12), (24, 7)):
        show(f"exp2 q, {n} terms (first unrounded remainder {literal(ln2 - rounded(ln2, bits), bits)})", q, list(range(n)), (-h, h), lambda x: mpf(1), bits)


@job
def logarithm():
    # log((1+s)/(1-s)) = 2 s + s r(s^2), r(z) = z * p(z); s^2 up to ((sqrt2-1)/(sqrt2+1))^2
    top = ((sqrt(mpf(2)) - 1) / (sqrt(mpf(2)) + 1))**2 * mpf("1.001")
    def p(z):
        s = sqrt(z)
        return (2 * atanh(s) - 2 * s) / s**3 if z > mpf("1e-20") else mpf(2) / 3
    for bits, n in ((53, 7), (24, 4), (24, 3)):
        show(f"log p, {n} terms", p, list(range(n)), (mpf(0), top), lambda z: z if z > 0 else mpf("1e-9"), bits)
    # f32: log(1+f) = f - f^2/2 + f^3 q(f)
    q = lambda f: (log1p(f) - f + f * f / 2) / f**3 if abs(f) > mpf("1e-12") else mpf(1) / 3 - f / 4
    for n in (6, 7, 8, 9):
        show(f"log q in f, {n} terms", q, list(range(n)), (sqrt(mpf(2)) / 2 - 1 - mpf("1e-4"), sqrt(mpf(2)) - 1 + mpf("1e-4")),
             lambda f: f * f if abs(f) > mpf("1e-6") else mpf("1e-12"), 24)


@job
def power():
    # log2((1+s)/(1-s)) = s (c0 + c1 z + z^2 p(z)), z = s^2
    ln2 = log(mpf(2))
    top = ((sqrt(mpf(2)) - 1) / (sqrt(mpf(2)) + 1))**2 * mpf("1.001")
    c0, c1 = 2 / ln2, 2 / (3 * ln2)
    print("c0", literal(rounded(c0, 53)), literal(c0 - rounded(c0, 53)))
    print("c1", literal(rounded(c1, 53)), literal(c1 - rounded(c1, 53)))
    def p(z):
        s = sqrt(z)
        return (2 * atanh(s) / ln2 / s - c0 - c1 * z) / z**2 if z > mpf("1e-15") else mpf(2) / 5 / ln2 + z * mpf(2) / 7 / ln2
    for n in (7, 8):
        show(f"pow p, {n} terms", p, list(range(n)), (mpf(0), top), lambda z: max(z, mpf("1e-9"))**2)
    def p32(z):
        s = sqrt(z)
        return (2 * atanh(s) / ln2 / s - c0) / z if z > mpf("1e-15") else c1
    for n in (4, 5):
        show(f"pow p for f32, {n} terms", p32, list(range(n)), (mpf(0), top), lambda z: max(z, mpf("1e-9")))
    h = mpf("0.50001")
    q = lambda x: (mpf(2)**x - 1) / x if abs(x) > mpf("1e-15") else ln2
    for n in (6, 7):
        show(f"exp2 q for f32 in f64, {n} terms", q, list(range(n)), (-h, h), lambda x: max(abs(x), mpf("1e-9")))


@job
def exponential2_tail():
    h = mpf("0.50001")
    ln2 = log(mpf(2))
    q = lambda x: ((mpf(2)**x - 1) / x - rounded(ln2, 53)) / x if abs(x) > mpf("1e-12") else ln2**2 / 2
    for bits, n in ((53, 11), (24, 6)):
        c0 = rounded(ln2, bits)
        q = lambda x: ((mpf(2)**x - 1) / x - c0) / x if abs(x) > mpf("1e-4") else ln2**2 / 2 + x * ln2**3 / 6 + x**2 * ln2**4 / 24 + x**3 * ln2**5 / 120
        show(f"exp2 after ln2, {n} terms", q, list(range(n)), (-h, h), lambda x: x * x + mpf("1e-6"), bits)


@job
def sine():
    top = (pi / 2)**2 * mpf("1.0005")
    def p(z):
        r = sqrt(z)
        return (sin(r) - r) / r**3 if z > mpf("1e-20") else -mpf(1) / 6
    # error relative to sin r: weight r^3 / sin r
    w = lambda z: z * sqrt(z) / sin(sqrt(z)) if z > 0 else mpf("1e-9")
    for bits, n in ((53, 8), (24, 4), (24, 5)):
        show(f"sin p on [0, pi/2], {n} terms", p, list(range(n)), (mpf(0), top), w, bits)


for name in sys.argv[1:] or jobs:
    print(f"# {name}")
    jobs[name]()
