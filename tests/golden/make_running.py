"""Running quantiles by P², written after the paper, and its own example."""

import records
import numpy as np

ABOUT = """
Estimates of the quantile `p` by the P² algorithm (Jain and Chlamtac 1985) of `x`: after each observation from the fifth
on, by the five markers `heights` at `positions`. The case `paper` has the observations of the paper's example, whose last median is 4.44.
"""

w = records.Writer(__file__, "running.txt", ABOUT, ("numpy",))


def p_square(x, p):
    q = sorted(x[:5])
    n = [1, 2, 3, 4, 5]
    wanted = [1, 1 + 2 * p, 1 + 4 * p, 3 + 2 * p, 5]
    step = [0, p / 2, p, (1 + p) / 2, 1]
    rows = [(list(q), list(n))]
    for v in x[5:]:
        if v < q[0]:
            q[0], k = v, 0
        elif v > q[4]:
            q[4], k = v, 3
        else:
            k = next(i for i in range(4) if v < q[i + 1] or i == 3)
        for i in range(k + 1, 5):
            n[i] += 1
        wanted = [a + b for a, b in zip(wanted, step)]
        for i in (1, 2, 3):
            d = wanted[i] - n[i]
            if (d >= 1 and n[i + 1] - n[i] > 1) or (d <= -1 and n[i - 1] - n[i] < -1):
                d = 1 if d >= 0 else -1
                a = (n[i] - n[i - 1] + d) * (q[i + 1] - q[i]) / (n[i + 1] - n[i])
                b = (n[i + 1] - n[i] - d) * (q[i] - q[i - 1]) / (n[i] - n[i - 1])
                new = q[i] + d / (n[i + 1] - n[i - 1]) * (a + b)
                if not q[i - 1] < new < q[i + 1]:
                    new = q[i] + d * (q[i + d] - q[i]) / (n[i + d] - n[i])
                q[i] = new
                n[i] += d
        rows.append((list(q), list(n)))
    return np.array([r[0] for r in rows]), np.array([r[1] for r in rows])


def case(name, x, p):
    heights, positions = p_square(list(x), p)
    w.case(name, p=np.array(p), x=np.array(x), heights=heights, positions=positions)
    return heights[-1, 2]


PAPER = [0.02, 0.15, 0.74, 3.39, 0.83, 22.37, 10.15, 15.43, 38.62, 15.92,
         34.60, 10.28, 1.47, 0.40, 0.05, 11.39, 0.27, 0.42, 0.09, 11.37]  # fmt: skip
assert round(case("paper", PAPER, 0.5), 2) == 4.44
rng = np.random.default_rng(0)
# Eighths: so that desired positions, which are sums in the paper, are exact.
case("normal", rng.normal(size=200), 0.125)
case("exponential", rng.exponential(size=200), 0.875)
case("ties", rng.integers(0, 4, size=100).astype(float), 0.5)
case("falling", np.linspace(1.0, -1.0, 60), 0.25)
w.write()
