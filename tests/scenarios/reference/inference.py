"""Reference values of inference.cpp: SciPy's integrators and optimisers."""
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares

rows = [r for r in open("../data/influenza_boarding_school_1978.csv").read().split("\n") if r and not r.startswith("#")][1:]
d = np.array([[float(v) for v in r.split(",")] for r in rows])
t, bed = d[:, 0], d[:, 1]


def sir(p):
    b, g = np.exp(p)
    s = solve_ivp(lambda _, y: [-b * y[0] * y[1] / 763, b * y[0] * y[1] / 763 - g * y[1]], (0, t[-1]), [760, 3],
                  method="DOP853", t_eval=t, rtol=1e-12, atol=1e-12)
    return s.y[1]


f = least_squares(lambda p: sir(p) - bed, [0.5, -0.8], xtol=1e-15, ftol=1e-15, gtol=1e-12)
print("sir", np.exp(f.x).tolist(), "cost", float(2 * f.cost), len(t))

rows = [r for r in open("../data/hudson_bay_lynx_hare.csv").read().split("\n") if r and not r.startswith("#")][1:]
d = np.array([[float(v) for v in r.split(",")] for r in rows])
obs = np.log(d[:, 1:3])


def lv(p):
    a, b, c, e, u0, v0 = np.exp(p)
    s = solve_ivp(lambda _, y: [y[0] * (a - b * y[1]), y[1] * (e * y[0] - c)], (0, 20), [u0, v0], method="DOP853",
                  t_eval=np.arange(21.0), rtol=1e-11, atol=1e-11)
    return np.log(s.y.T)


start = np.log([0.55, 0.03, 0.8, 0.025, 33.0, 6.0])
f = least_squares(lambda p: (lv(p) - obs).ravel(), start, xtol=1e-15, ftol=1e-15, gtol=1e-12)
print("lotka", np.exp(f.x).tolist(), "cost", float(2 * f.cost))
