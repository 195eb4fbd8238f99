"""Prints the polynomial coefficients of src/ops/math. Run: python3 tools/elementary_coefficients.py [name ...]"""
import sys
from mpmath import mp, mpf, exp, expm1, log, log1p, sin, cos, pi, sqrt, atan, atanh, tan, erf, erfc, asin, sinh
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
    for bits, n in ((53, 10), (24, 5)):
        # exp r = 1 + r + r^2 q(r); error relative to expm1 r, which also serves expm1 and tanh
        show(f"exp q, {n} terms", q, list(range(n)), (-half, half), lambda x: max(abs(x), mpf("1e-9")), bits)


@job
def expm1_wide():
    q = lambda x: (exp(x) - 1 - x) / x**2 if abs(x) > mpf("1e-12") else mpf(1) / 2 + x / 6
    for bits, n in ((53, 12), (24, 6)):
        show(f"expm1 q, {n} terms", q, list(range(n)), (mpf("-0.53"), mpf("0.53")), lambda x: max(abs(x), mpf("1e-9")), bits)


@job
def hyperbolic_tangent():
    # (expm1(2 r)/2 - r) / r^2
    q = lambda x: (expm1(2 * x) / 2 - x) / x**2 if abs(x) > mpf("1e-12") else 1 + 2 * x / 3
    h = log(mpf(2)) / 8 * mpf("1.001")
    for bits, n in ((53, 10), (24, 5)):
        show(f"tanh q, {n} terms", q, list(range(n)), (-h, 3 * h), lambda x: max(abs(x), mpf("1e-9")), bits)


@job
def logarithm():
    # log(1+f) = f - f^2/2 + f^3 q(f)
    q = lambda f: (log1p(f) - f + f * f / 2) / f**3 if abs(f) > mpf("1e-12") else mpf(1) / 3 - f / 4
    for bits, n in ((53, 19), (24, 8)):
        show(f"log q in f, {n} terms", q, list(range(n)), (sqrt(mpf(2)) / 2 - 1 - mpf("1e-4"), sqrt(mpf(2)) - 1 + mpf("1e-4")),
             lambda f: f * f if abs(f) > mpf("1e-6") else mpf("1e-12"), bits)


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
    show("pow p", p, list(range(8)), (mpf(0), top), lambda z: max(z, mpf("1e-9"))**2)
    def p32(z):
        s = sqrt(z)
        return (2 * atanh(s) / ln2 / s - c0) / z if z > mpf("1e-15") else c1
    show("pow p for f32", p32, list(range(4)), (mpf(0), top), lambda z: max(z, mpf("1e-9")))
    h = mpf("0.50001")
    q = lambda x: (mpf(2)**x - 1) / x if abs(x) > mpf("1e-15") else ln2
    show("exp2 q for f32 in f64", q, list(range(6)), (-h, h), lambda x: max(abs(x), mpf("1e-9")))


@job
def exponential2():
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
    for bits, n in ((53, 8), (24, 4)):
        show(f"sin p on [0, pi/2], {n} terms", p, list(range(n)), (mpf(0), top), w, bits)


def odd_rest(f, second, at_zero):
    """(f(r) - r) / r^3 as a function of z = r^2, and its weight r^3 / f(r)."""
    def p(z):
        r = sqrt(z)
        return (f(r) - r) / r**3 if z > mpf("1e-18") else second
    return p, lambda z: z * sqrt(z) / f(sqrt(z)) if z > 0 else at_zero


@job
def tangent():
    p, w = odd_rest(tan, mpf(1) / 3, mpf("1e-9"))
    for bits, n in ((53, 14), (24, 7)):
        show(f"tan p on [0, pi/4], {n} terms", p, list(range(n)), (mpf(0), (pi / 4)**2 * mpf("1.001")), w, bits)
    half = pi / 2
    for bits, short in ((53, 33), (24, 12)):
        p1 = rounded(half, bits)
        p2 = rounded(half - p1, short)  # k times this is exact
        p3 = rounded(half - p1 - p2, bits)
        print("pi/2", literal(p1, bits), literal(p2, bits), literal(p3, bits), "2/pi", literal(2 / pi, bits))


@job
def arctangent():
    p, w = odd_rest(atan, -mpf(1) / 3, mpf("1e-9"))
    for bits, n in ((53, 20), (24, 10)):
        show(f"atan p on [0, 1], {n} terms", p, list(range(n)), (mpf(0), mpf(1)), w, bits)


@job
def arcsine():
    p, w = odd_rest(asin, mpf(1) / 6, mpf("1e-9"))
    for bits, n in ((53, 12), (24, 5)):
        show(f"asin p on [0, 1/2], {n} terms", p, list(range(n)), (mpf(0), mpf("0.2503")), w, bits)


@job
def hyperbolic_sine():
    p, w = odd_rest(sinh, mpf(1) / 6, mpf("1e-9"))
    for bits, n in ((53, 7), (24, 4)):
        show(f"sinh p on [0, 1], {n} terms", p, list(range(n)), (mpf(0), mpf("1.001")), w, bits)


@job
def cube_root():
    f = lambda m: m**(-mpf(1) / 3)
    for bits, n in ((53, 6), (24, 4)):
        show(f"m^(-1/3), {n} terms", f, list(range(n)), (mpf("0.7071"), mpf("1.4143")), lambda m: m**(mpf(1) / 3), bits)


@job
def error_function():
    e = lambda z: erf(sqrt(z)) / sqrt(z) - 1 if z > mpf("1e-25") else 2 / sqrt(pi) - 1
    w = lambda z: sqrt(z) / erf(sqrt(z)) if z > 0 else mpf(1)
    show("erf(x)/x - 1 on [0, 3/4]", e, list(range(11)), (mpf(0), mpf("0.5626")), w)
    show("erf(x)/x - 1 on [0, 0.9], f32", e, list(range(7)), (mpf(0), mpf("0.811")), w, 24)
    show("-log2 erfc(x) on [0.89, 3.95], f32", lambda x: -log(erfc(x)) / log(mpf(2)), list(range(7)), (mpf("0.89"), mpf("3.95")), lambda x: erfc(x), 24)
    # (1 + 2 x) exp(x^2) erfc(x) in t = (x - centre) / (x + centre)
    def g(t, centre=3):
        x = centre * (1 + t) / (1 - t)
        return (1 + 2 * x) * exp(x * x) * erfc(x)
    w0 = g(mpf(0))
    print("w0", literal(rounded(w0, 53)), literal(w0 - rounded(w0, 53)))
    show("scaled erfc on [1/2, 28], less w0", g, list(range(1, 23)), (mpf("-2.51") / mpf("3.49"), mpf(25) / mpf(31)), lambda t: mpf(1), 53, {0: w0})
    centre, low, high = mpf("1.5"), mpf("0.499"), mpf("10.1")
    f = lambda t: g(t, centre)
    show("scaled erfc on [1/2, 10], f32", f, list(range(11)), ((low - centre) / (low + centre), (high - centre) / (high + centre)), lambda t: 1 / f(t), 24)


@job
def error_function_inverse():
    # erfinv(x)/x, from w = -log(1 - x^2), near 0 in w - 1, beyond in sqrt(w)
    def f(w):
        x = sqrt(-expm1(-w))
        return mp.erfinv(x) / x if w > mpf("1e-20") else sqrt(pi) / 2
    near, far = f(mpf(1)), f(mpf(16))
    for y in (near, far):
        print("constant", literal(rounded(y, 53)), literal(y - rounded(y, 53)))
    show("erfinv(x)/x in w - 1, less its constant", lambda v: f(v + 1), list(range(1, 26)), (mpf(-1), mpf("5.25")), lambda v: 1 / f(v + 1), 53, {0: near})
    # 1 is taken from the first of these
    show("erfinv(x)/x in sqrt(w) - 4, less its constant", lambda v: f((v + 4)**2), list(range(1, 31)), (mpf("2.499") - 4, mpf("2.1")), lambda v: 1 / f((v + 4)**2), 53, {0: far})
    show("erfinv(x)/x in w - 1, 24 bits", lambda v: f(v + 1), list(range(11)), (mpf(-1), mpf(4)), lambda v: 1 / f(v + 1), 24)
    show("erfinv(x)/x in sqrt(w) - 3, 24 bits", lambda v: f((v + 3)**2), list(range(11)), (sqrt(mpf(5)) - 3 - mpf("0.001"), mpf("1.2")), lambda v: 1 / f((v + 3)**2), 24)


@job
def gamma_functions():
    lg = lambda y: mp.loggamma(y).real
    def P(v):
        y = v + mpf("1.75")
        a, b = y - 1, y - 2
        if abs(a) < mpf("1e-15"): return mp.euler
        if abs(b) < mpf("1e-15"): return 1 - mp.euler
        return lg(y) / (a * b)
    show("lgamma(y)/((y-1)(y-2)) in y - 1.75", P, list(range(24)), (mpf("-0.75"), mpf("0.75")), lambda v: 1 / abs(P(v)))
    def h(u):
        if u < mpf("1e-8"): return mpf(1) / 12 - u / 360 + u * u / 1260
        x = 1 / sqrt(u)
        return x * (lg(x) - (x - mpf(1) / 2) * log(x) + x - log(2 * pi) / 2)
    show("Stirling h(1/x^2), x >= 2.5", h, list(range(14)), (mpf(0), mpf("0.16")), lambda u: sqrt(u) + mpf("1e-3"))
    root = mp.findroot(mp.digamma, mpf("1.4616321449683623"))
    print("digamma root", literal(rounded(root, 53)), literal(root - rounded(root, 53)))
    def D(v):
        y = v + mpf("1.75")
        return mp.digamma(y) / (y - root) if abs(y - root) > mpf("1e-30") else mp.psi(1, root)
    show("digamma(y)/(y-root) in y - 1.75", D, list(range(25)), (mpf("-0.75"), mpf("0.75")), lambda v: 1 / D(v))
    def g(u):
        if u < mpf("1e-8"): return mpf(1) / 12 - u / 120 + u * u / 252
        x = 1 / sqrt(u)
        return x * x * (log(x) - 1 / (2 * x) - mp.digamma(x))
    show("digamma g(1/x^2), x >= 2.5", g, list(range(14)), (mpf(0), mpf("0.16")), lambda u: u + mpf("1e-3"))


for name in sys.argv[1:] or jobs:
    print(f"# {name}")
    jobs[name]()
