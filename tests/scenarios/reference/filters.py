"""Reference values of filters.cpp: no recursion, the whole covariance at once (NumPy, mpmath-free)."""
import numpy as np
from scipy.optimize import minimize

y = np.loadtxt("../data/nile.csv", delimiter=",", skiprows=3)[:, 1]
n = len(y)
i = np.arange(n)


def loglik(log_eps, log_eta):
    """y_t = a_t + e_t, a_{t+1} = a_t + h_t, a_0 ~ N(1000, 500^2)."""
    k = 500.0**2 + np.exp(log_eta) * np.minimum.outer(i, i)
    k = k + np.exp(log_eps) * np.eye(n)
    r = y - 1000.0
    sign, logdet = np.linalg.slogdet(k)
    w = np.linalg.solve(k, r)
    value = -0.5 * (n * np.log(2 * np.pi) + logdet + r @ w)
    inv = np.linalg.inv(k)
    d = [np.exp(log_eps) * np.eye(n), np.exp(log_eta) * np.minimum.outer(i, i).astype(float)]
    grad = [0.5 * (w @ m @ w - np.trace(inv @ m)) for m in d]
    fisher = [[0.5 * np.trace(inv @ a @ inv @ b) for b in d] for a in d]
    hess = [[None] * 2 for _ in range(2)]
    for p in range(2):
        for q in range(2):
            second = d[p] if p == q else 0 * d[p]
            hess[p][q] = (-0.5 * (np.trace(inv @ second) - np.trace(inv @ d[q] @ inv @ d[p]))
                          + 0.5 * (w @ second @ w) - w @ d[q] @ inv @ d[p] @ w)
    level = 1000.0 + (k - np.exp(log_eps) * np.eye(n)) @ w  # smoothed
    return value, grad, hess, level


v, g, h, level = loglik(9.6, 7.3)
print("loglik", repr(v), "grad", [float(a) for a in g], "hess", [[float(b) for b in a] for a in h])
print("smoothed level", [float(level[k]) for k in (0, 28, 50, 99)])
best = minimize(lambda p: -loglik(*p)[0], [9.6, 7.3], jac=lambda p: -np.array(loglik(*p)[1]), method="BFGS",
                options={"gtol": 1e-10})
print("maximum", [float(b) for b in best.x], -float(best.fun))
