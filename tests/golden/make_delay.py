"""Writes delay.txt: solutions of equations with delays, by collocation.

On each piece between the points where derivatives jump the solution is a Chebyshev series, found by Picard iteration
of the integral equation to rounding; no step size control, no Runge-Kutta method."""

import records
import numpy as np
from numpy.polynomial import chebyshev as C

ABOUT = """
Equations with delays: y' = 0.2 p / (1 + p^10) - 0.1 y, p = y(t - 17), history 1.2 (Mackey and Glass 1977); and
u' = -u(t - 1) v(t - 0.3), v' = 0.5 u(t - 1) - v, history (cos t, sin t). `values` at the times `ts`.
"""

w = records.Writer(__file__, "delay.txt", ABOUT, ("numpy",))


def solve(field, history, delays, y0, end, degree=40, piece=None):
    """Pieces (a, b, series [degree + 1, n])."""
    marks = {0.0, end}
    frontier = {0.0}
    for _ in range(60):
        frontier = {m + d for m in frontier for d in delays if m + d < end}
        marks |= {round(m, 12) for m in frontier}
        if not frontier:
            break
    marks = sorted(marks)
    edges = [marks[0]]
    for m in marks[1:]:
        if m - edges[-1] < 1e-9:
            continue
        parts = max(1, int(np.ceil((m - edges[-1]) / (piece or min(delays)))))
        start = edges[-1]
        edges += [start + (m - start) * k / parts for k in range(1, parts + 1)]
    nodes = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    pieces = []

    def past(t):  # nodes are inside of pieces, and so are the times a delay before them
        if t < 0:
            return history(t)
        for a, b, series in pieces:
            if a <= t < b:
                return C.chebval((2 * t - a - b) / (b - a), series)
        raise ValueError(t)

    y = np.asarray(y0, float)
    for a, b in zip(edges[:-1], edges[1:]):
        ts = a + (b - a) * (nodes + 1) / 2
        lagged = [np.array([past(t - d) for t in ts]) for d in delays]
        values = np.tile(y, (degree + 1, 1))
        for _ in range(400):
            slopes = np.array([field(ts[k], values[k], [g[k] for g in lagged]) for k in range(degree + 1)])
            series = C.chebint(C.chebfit(nodes, slopes, degree), lbnd=-1, axis=0) * (b - a) / 2
            series[0] += y
            new = np.array([C.chebval(x, series) for x in nodes])
            change = np.max(np.abs(new - values))
            values = new
            if change < 1e-15:
                break
        pieces.append((a, b, series))
        y = C.chebval(1.0, series)
    return pieces


def at(pieces, ts):
    out = []
    for t in ts:
        for a, b, series in pieces:
            if a <= t <= b + 1e-12:
                out.append(C.chebval((2 * t - a - b) / (b - a), series))
                break
    return np.array(out)


def case(name, field, history, delays, y0, ts, choices):
    """Two choices of degree and pieces must agree."""
    one, other = (at(solve(field, history, delays, y0, ts[-1], *choice), ts) for choice in choices)
    assert np.max(np.abs(one - other)) < 1e-12, (name, np.max(np.abs(one - other)))
    w.case(name, ts=ts, values=one if len(y0) > 1 else one[:, 0])


case(
    "mackey_glass", lambda t, y, p: 0.2 * p[0] / (1 + p[0] ** 10) - 0.1 * y, lambda t: np.array([1.2]), [17.0], [1.2],
    np.linspace(0.0, 120.0, 25), ((40, 2.0), (48, 1.7)),
)  # fmt: skip
case(
    "two_delays", lambda t, y, p: np.array([-p[0][0] * p[1][1], 0.5 * p[0][0] - y[1]]),
    lambda t: np.array([np.cos(t), np.sin(t)]), [1.0, 0.3], [1.0, 0.0], np.linspace(0.0, 6.0, 13), ((20,), (26,)),
)  # fmt: skip
w.write()
