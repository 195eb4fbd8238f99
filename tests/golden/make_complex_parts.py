"""Writes complex_parts.txt: complex functions by MPC with 500 bits (gmpy2), and which parts of the values are no small
difference of large numbers, by which the error of each part alone is asked for."""

import gmpy2
import numpy as np
from records import Writer

gmpy2.set_context(gmpy2.context(precision=500, emax=10**8, emin=-(10**8)))
COUNT = 40
PLAIN = 0.5  # of the larger of the numbers that are added


def points(rng, span, parts):
    return (rng.choice([-1, 1], (COUNT, 2)) * 2.0 ** rng.uniform(-span, span, (COUNT, 2))).astype(parts)


def product_terms(z, w):
    return (z.real * w.real, -z.imag * w.imag), (z.real * w.imag, z.imag * w.real)


def quotient_terms(z, w):
    return (z.real * w.real, z.imag * w.imag), (z.imag * w.real, -z.real * w.imag)


def plain(terms):
    return abs(sum(terms)) >= PLAIN * max(abs(t) for t in terms)


def always(z, w):
    return True, True


# The value, and for each of its parts whether nothing cancels. Of a logarithm that is the real part near |z| = 1; of a
# power, e^(w log z), both parts of its exponent, which is bounded as well: its rounding is one of the value.
def log_plain(z, w):
    return abs(gmpy2.log(abs(z))) >= PLAIN, True


def pow_plain(z, w):
    exponent = w * gmpy2.log(z)
    terms = product_terms(w, gmpy2.log(z))
    value = gmpy2.exp(exponent)
    least = min(abs(value.real), abs(value.imag)) >= PLAIN * abs(value)
    return (all(plain(t) for t in terms) and abs(exponent) <= 2 and least,) * 2


FUNCTIONS = {
    "mul": (lambda z, w: z * w, lambda z, w: tuple(map(plain, product_terms(z, w)))),
    "div": (lambda z, w: z / w, lambda z, w: tuple(map(plain, quotient_terms(z, w)))),
    "abs": (lambda z, w: gmpy2.mpc(abs(z)), always),
    "sqrt": (lambda z, w: gmpy2.sqrt(z), always),
    "exp": (lambda z, w: gmpy2.exp(z), always),
    "log": (lambda z, w: gmpy2.log(z), log_plain),
    "pow": (lambda z, w: gmpy2.exp(w * gmpy2.log(z)), pow_plain),
}


def exact(number):
    return gmpy2.mpc(float(number.real), float(number.imag))


def main():
    out = Writer(__file__, "complex_parts.txt", "Values, rounded to f64; `parts`: which parts of them are to be exact.", ("gmpy2",))
    rng = np.random.default_rng(41)
    for parts, whole, wide in ((np.float64, np.complex128, 200), (np.float32, np.complex64, 20)):
        for name, (f, is_plain) in FUNCTIONS.items():
            for span in (1, 3) if name in ("exp", "pow") else (1, wide):
                a, b = ((p[:, 0] + 1j * p[:, 1]).astype(whole) for p in (points(rng, span, parts), points(rng, span, parts)))
                y = [f(exact(z), exact(w)) for z, w in zip(a, b)]
                fields = {"x0": a} | ({"x1": b} if name in ("mul", "div", "pow") else {})
                values = np.array([complex(float(v.real), float(v.imag)) for v in y])
                fields["y0"] = values.real if name == "abs" else values
                fields["parts"] = np.array([is_plain(exact(z), exact(w)) for z, w in zip(a, b)])
                out.case(name, **fields)
    out.write()


if __name__ == "__main__":
    main()
