#!/usr/bin/env python3
"""Writes src/array/modified_bessel.hpp: the polynomials of sqrt(x) exp(-x) I0(x) and I1(x) for x from 8 on, in
t = 16 / x - 1. Chebyshev's interpolation at 60 points, cut where what follows is below 1e-17, in powers of t.
Needs mpmath."""
import pathlib

from mpmath import besseli, cos, exp, mp, mpf, pi, sqrt

mp.dps = 60
POINTS, TERMS = 60, 24


def scaled(order, t):
    u = (t + 1) / 2
    x = 8 / u
    return sqrt(x) * exp(-x) * besseli(order, x)


def chebyshev(f):
    angles = [pi * (k + mpf(1) / 2) / POINTS for k in range(POINTS)]
    values = [f(cos(a)) for a in angles]
    return [(2 if j else 1) / mpf(POINTS) * sum(v * cos(j * a) for v, a in zip(values, angles)) for j in range(TERMS)]


def powers(coefficients):
    before, now = [mpf(1)], [mpf(0), mpf(1)]
    total = [mpf(0)] * len(coefficients)
    for k, c in enumerate(coefficients):
        for i, v in enumerate(before):
            total[i] += c * v
        following = [mpf(0)] + [2 * v for v in now]
        for i, v in enumerate(before):
            following[i] -= v
        before, now = now, following
    return total


def table(name, order):
    numbers = [float(c).hex() for c in powers(chebyshev(lambda t: scaled(order, t)))]
    return f"constexpr double {name}[] = {{" + ", ".join(numbers) + "};\n"


text = """// √x e⁻ˣ I₀(x) and √x e⁻ˣ I₁(x) for x ≥ 8: polynomials in t = 16 / x - 1. Made by
// tools/bessel_coefficients.py.
#pragma once

namespace apsis::detail::arrays::modified_bessel {

""" + table("i0_far", 0) + "\n" + table("i1_far", 1) + """
}  // namespace apsis::detail::arrays::modified_bessel
"""
(pathlib.Path(__file__).resolve().parent.parent / "src/array/modified_bessel.hpp").write_text(text)
