#!/usr/bin/env python3
"""Writes solve.txt: minima between bounds as SciPy finds them.

Problems stand in tests/solve, by the name of the case.
"""

import numpy as np
import scipy
from scipy.optimize import minimize


def field(key, values):
    values = np.atleast_1d(np.asarray(values, dtype=float))
    print(key, "f64 1", len(values), *[float(v).hex() if np.isfinite(v) else str(float(v)) for v in values])


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def wood(x):
    return (100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2 + 90 * (x[3] - x[2] ** 2) ** 2 + (1 - x[2]) ** 2
            + 10 * (x[1] + x[3] - 2) ** 2 + 0.1 * (x[1] - x[3]) ** 2)


def powell(x):
    return (x[0] + 10 * x[1]) ** 2 + 5 * (x[2] - x[3]) ** 2 + (x[1] - 2 * x[2]) ** 4 + 10 * (x[0] - x[3]) ** 4


def beale(x):
    return sum((c - x[0] * (1 - x[1] ** k)) ** 2 for k, c in ((1, 1.5), (2, 2.25), (3, 2.625)))


def booth(x):
    return (x[0] + 2 * x[1] - 7) ** 2 + (2 * x[0] + x[1] - 5) ** 2


def quadratic(x):
    i = np.arange(1.0, len(x) + 1)
    return np.sum(i * (x - i / 4) ** 2) + 0.5 * np.sum(x) ** 2



def exponential(x):
    return np.sum(np.exp(x) - np.arange(1.0, len(x) + 1) * x)


INF = float("inf")
PROBLEMS = [
    # name, function, start, lower, upper
    ("rosenbrock_low", rosenbrock, [0.5, 2.0], [-2, 1.5], [2, 3]),
    ("rosenbrock_high", rosenbrock, [-1.2, 0.3], [-INF, -INF], [0.5, 2]),
    ("rosenbrock_five", rosenbrock, [0.2, 0.5, 0.5, 0.6, 0.0], [-INF] * 5, [0.8] * 5),
    ("rosenbrock_inside", rosenbrock, [0.1, 0.2, 0.3], [0, 0, 0], [2, 2, 2]),
    ("wood", wood, [0.5, 0.5, 0.5, 0.5], [-5] * 4, [5, 5, 0.9, 5]),
    ("powell", powell, [3.0, 1.0, 0.5, 1.0], [0.1, -INF, -INF, 0.2], [INF, 5, 0.8, 2]),
    ("beale", beale, [1.0, 1.0], [-1, -1], [2.5, 0.4]),
    ("booth", booth, [0.0, 0.0], [-10, -10], [0.5, 10]),
    ("quadratic", quadratic, [0.0] * 10, [0.0] * 10, [0.5, 0.2, 1, 2, 0.1, INF, INF, INF, 1.5, INF]),
    ("exponential", exponential, [0.0] * 6, [-1] * 6, [0.5, 0.5, 2, 1, 1.2, 3]),
]


def main():
    print("# Minima between bounds by SciPy's L-BFGS-B, polished by Newton steps on what no bound holds; `x`, `value`.")
    print(f"# SciPy {scipy.__version__}")
    for name, f, start, lower, upper in PROBLEMS:
        bounds = list(zip([b if np.isfinite(b) else None for b in lower], [b if np.isfinite(b) else None for b in upper]))
        found = minimize(f, np.array(start), method="L-BFGS-B", bounds=bounds,
                         options={"ftol": 1e-16, "gtol": 1e-10, "maxiter": 10000, "maxfun": 100000, "eps": 1e-9})
        x = polish(f, found.x, np.array(lower, float), np.array(upper, float))
        print("case", name)
        field("start", start)
        field("lower", lower)
        field("upper", upper)
        field("x", x)
        field("value", f(x))


def polish(f, x, lower, upper):
    """Newton steps with complex-step gradients on the elements that SciPy has left between their bounds."""
    free = (x > lower + 1e-7) & (x < upper - 1e-7)
    x = np.where(free, x, np.where(np.abs(x - lower) < np.abs(x - upper), lower, upper))
    index = np.flatnonzero(free)

    def gradient(x):
        g = np.empty(len(index))
        for k, i in enumerate(index):
            z = x.astype(complex)
            z[i] += 1e-30j
            g[k] = np.imag(f(z)) / 1e-30
        return g

    for _ in range(6):
        h = np.empty((len(index), len(index)))
        for k, i in enumerate(index):
            d = np.zeros(len(x))
            d[i] = 1e-6
            h[:, k] = (gradient(x + d) - gradient(x - d)) / 2e-6
        if len(index):
            x = x.copy()
            x[index] -= np.linalg.lstsq(h, gradient(x), rcond=None)[0]
    return x


main()
