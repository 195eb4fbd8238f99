"""Reference values of learning.cpp: NumPy and SciPy."""
import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

rows = [r for r in open("../data/iris.csv").read().split("\n") if r and not r.startswith("#")][1:]
d = np.array([[float(v) for v in r.split(",")] for r in rows])
x, y = (d[:, :4] - d[:, :4].mean(0)) / d[:, :4].std(0), d[:, 4].astype(int)
xb = np.hstack([x, np.ones((150, 1))])


def loss(w):
    z = xb @ w.reshape(5, 3)
    return np.mean(logsumexp(z, axis=1) - z[np.arange(150), y]) + 0.01 * np.sum(w**2)


best = minimize(loss, np.zeros(15), method="BFGS", options={"gtol": 1e-9})
z = xb @ best.x.reshape(5, 3)
print("logistic", best.fun, "right", int((z.argmax(1) == y).sum()))

u, s, vt = np.linalg.svd(d[:, :4] - d[:, :4].mean(0), full_matrices=False)
print("pca variances", (s**2 / 149).tolist())

# Gaussian process on the Nile: squared exponential and noise.
rows = [r for r in open("../data/nile.csv").read().split("\n") if r and not r.startswith("#")][1:]
n = np.array([[float(v) for v in r.split(",")] for r in rows])
t, f = n[:, 0] - 1871, (n[:, 1] - 900) / 150


def gp(p):
    a, l, e = np.exp(p)
    k = a**2 * np.exp(-0.5 * ((t[:, None] - t) / l) ** 2) + e**2 * np.eye(100)
    sign, logdet = np.linalg.slogdet(k)
    return -0.5 * (f @ np.linalg.solve(k, f) + logdet + 100 * np.log(2 * np.pi)), k


p = np.array([0.0, 2.0, -0.2])
v, k = gp(p)
a, l, e = np.exp(p)
ks = a**2 * np.exp(-0.5 * ((np.array([[-5.0], [50.5], [105.0]]) - t) / l) ** 2)
print("gp", v, "mean", (ks @ np.linalg.solve(k, f)).tolist(), "variance", (a**2 - np.sum(ks * np.linalg.solve(k, ks.T).T, 1)).tolist())
g = []
for i in range(3):  # Richardson: h^4 error
    def dd(h):
        q = np.zeros(3); q[i] = h
        return (gp(p + q)[0] - gp(p - q)[0]) / (2 * h)
    g.append((4 * dd(1e-3) - dd(2e-3)) / 3)
print("gp gradient", g)

# AR(9) of the sunspots by least squares.
rows = [r for r in open("../data/sunspots_yearly.csv").read().split("\n") if r and not r.startswith("#")][1:]
s = np.array([[float(v) for v in r.split(",")] for r in rows])[:, 1]
m = s - s.mean()
lag = np.stack([m[9 - k: len(m) - k] for k in range(1, 10)], 1)
c, res, _, _ = np.linalg.lstsq(lag, m[9:], rcond=None)
print("ar", c.tolist(), "sigma2", float(res[0] / len(lag)))
p = np.abs(np.fft.rfft(m)) ** 2
print("periodogram peak", int(p.argmax()), float(p.max()), "length", len(m))

# CO2: a parabola and two harmonics of the year, missing weeks left out.
rows = [r for r in open("../data/co2_mauna_loa_weekly.csv").read().split("\n") if r and not r.startswith("#")][1:]
vals = [(i, r.split(",")[1]) for i, r in enumerate(rows)]
tt = np.array([i for i, v in vals if v]) * 7 / 365.25
cc = np.array([float(v) for i, v in vals if v])
w = 2 * np.pi * tt
A = np.stack([np.ones_like(tt), tt - 20, (tt - 20) ** 2, np.cos(w), np.sin(w), np.cos(2 * w), np.sin(2 * w)], 1)
c, res, _, _ = np.linalg.lstsq(A, cc, rcond=None)
print("co2", c.tolist(), float(np.sqrt(res[0] / len(cc))), len(cc))

# Lloyd's k-means from rows 0, 60, 120 of the standardised irises.
c = x[[0, 60, 120]]
while True:
    label = ((x[:, None] - c) ** 2).sum(2).argmin(1)
    new = np.stack([x[label == k].mean(0) for k in range(3)])
    if np.array_equal(new, c):
        break
    c = new
print("kmeans", float(((x - c[label]) ** 2).sum()), np.bincount(label).tolist())
