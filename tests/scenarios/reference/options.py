"""Reference values of options.cpp: Heston by its characteristic function (Gatheral's stable form), SciPy quad."""
import numpy as np
from scipy.integrate import quad


def heston_call(s, k, r, t, v0, kappa, theta, xi, rho):
    def cf(u):
        b = kappa - rho * xi * 1j * u
        d = np.sqrt(b * b + xi * xi * (1j * u + u * u))
        g = (b - d) / (b + d)
        e = np.exp(-d * t)
        c = kappa * theta / xi**2 * ((b - d) * t - 2 * np.log((1 - g * e) / (1 - g)))
        return np.exp(c + v0 / xi**2 * (b - d) * (1 - e) / (1 - g * e) + 1j * u * (np.log(s) + r * t))

    f = s * np.exp(r * t)
    p1 = 0.5 + quad(lambda u: (np.exp(-1j * u * np.log(k)) * cf(u - 1j) / (1j * u * f)).real, 1e-9, 200)[0] / np.pi
    p2 = 0.5 + quad(lambda u: (np.exp(-1j * u * np.log(k)) * cf(u) / (1j * u)).real, 1e-9, 200)[0] / np.pi
    return s * p1 - k * np.exp(-r * t) * p2


args = [100., 105., 0.03, 0.5, 0.04, 2., 0.05, 0.3, -0.6]
print("call", heston_call(*args))
h = 1e-4
up, down = list(args), list(args)
up[0] += h
down[0] -= h
print("delta", (heston_call(*up) - heston_call(*down)) / (2 * h))
