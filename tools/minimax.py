"""Minimax polynomials, with coefficients rounded one after the other.

fit(f, basis, interval, weight, ...) finds c with  max |weight(x) (f(x) - sum c_i x^basis_i)|  least, then rounds the
coefficients to the format, lowest first, refitting the rest after each (the idea of Brisebarre and Chevillard 2007,
without the lattice). Everything in mpmath.
"""
import struct
from mpmath import mp, mpf, matrix, lu_solve, cos, pi, frexp, ldexp, nint

mp.prec = 320


def rounded(x, bits):
    if x == 0:
        return mpf(0)
    mantissa, exponent = frexp(x)
    return ldexp(nint(ldexp(mantissa, bits)), exponent - bits)


def minimax(samples, powers, fixed, sweeps):
    """Coefficients for `powers`, given fixed = {power: coefficient} and (point, value, weight) at Chebyshev points:
    Lawson's reweighted least squares, which unlike Remez's exchange needs no Haar system (odd powers alone on an interval around 0 are none)."""
    n = len(powers)
    count = len(samples)
    rows, right = [], []
    for x, value, w in samples:
        rows.append([w * x**p for p in powers])
        right.append(w * (value - sum(c * x**p for p, c in fixed.items())))
    lawson = [mpf(1)] * count
    best = None
    for _ in range(sweeps):
        m, r = matrix(n, n), matrix(n, 1)
        for row, t, w in zip(rows, right, lawson):
            for i in range(n):
                weighted = w * row[i]
                for j in range(i, n):
                    m[i, j] += weighted * row[j]
                r[i] += weighted * t
        for i in range(n):
            for j in range(i):
                m[i, j] = m[j, i]
        c = list(lu_solve(m, r))
        errors = [abs(t - sum(ci * ri for ci, ri in zip(c, row))) for row, t in zip(rows, right)]
        largest = max(errors)
        if best is None or largest < best[0]:
            best = (largest, c)
        lawson = [w * e for w, e in zip(lawson, errors)]
        total = sum(lawson)
        if total == 0:
            break
        lawson = [w * count / total for w in lawson]
    return best[1]


def fit(f, powers, interval, weight, bits=53, fixed=None):
    """Rounded coefficients by power, and the largest weighted error."""
    a, b = (mpf(x) for x in interval)
    fixed = dict(fixed or {})
    free = list(powers)
    count = 8 * len(free) + 5
    points = [(a + b) / 2 - (b - a) / 2 * cos(pi * i / (count - 1)) for i in range(count)]
    samples = [(x, f(x), weight(x)) for x in points]
    while free:
        c = minimax(samples, free, fixed, 4 if len(free) < len(powers) else 12)
        p = free.pop(0)
        fixed[p] = rounded(c[0], bits)
    worst = max(abs(w * (value - sum(c * x**p for p, c in fixed.items()))) for x, value, w in samples)
    return fixed, worst


def hexadecimal(x, bits=53):
    return float(x).hex() if bits == 53 else struct.unpack("f", struct.pack("f", float(x)))[0].hex()


def literal(x, bits=53):
    """C++ hexadecimal literal, without trailing zeros."""
    text = hexadecimal(x, bits)
    head, exponent = text.split("p")
    if "." in head:
        head = head.rstrip("0").rstrip(".")
    return f"{head}p{exponent}" + ("f" if bits == 24 else "")


def show(name, f, powers, interval, weight, bits=53, fixed=None):
    c, worst = fit(f, powers, interval, weight, bits, fixed)
    print(f"// {name}: 2^{float(mp.log(worst, 2)) if worst else float('-inf'):.1f}")
    print("{" + ", ".join(literal(c[p], bits) for p in powers) + "}")
    print(flush=True)
