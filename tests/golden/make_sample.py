"""Modes, density estimates and the entropy of Poisson's distribution: by jax.scipy.stats, the
entropy by mpmath. The format is that of make_array.py."""

import jax
import jax.numpy as jnp
import jax.random as jr
import jax.scipy.stats as stats
import make_array
import mpmath
import numpy as np
import records
from make_array import FLOATS, NAN, exact, record

def entropy(mu):
    if mu == 0:
        return mpmath.mpf(0)
    total = mpmath.mpf(0)
    for k in range(int(mu + 30 * mpmath.sqrt(mu) + 60)):
        logarithm = k * mpmath.log(mu) - mu - mpmath.loggamma(k + 1)
        total -= mpmath.exp(logarithm) * logarithm
    return total


def entropy_slope(mu):
    return mpmath.diff(entropy, mu, h=mu * mpmath.mpf(10) ** -20)


def modes(w):
    rng = np.random.default_rng(20261207)
    for t in (*FLOATS, np.int32):
        x = rng.integers(0, 4, (5, 6)).astype(t)
        for axis in (None, 0, 1):
            for keepdims in (0, 1):
                record(w, "mode", lambda v: [r.astype(k) for r, k in zip(stats.mode(v, axis, keepdims=bool(keepdims)), (t, np.int64))], x, axis=-9 if axis is None else axis, keepdims=keepdims, grad=False)


def density_estimates(w):
    rng = np.random.default_rng(20261208)
    for t in FLOATS:
        one, other = rng.standard_normal(9).astype(t), rng.uniform(-1, 1, 5).astype(t)
        two, weights = rng.standard_normal((2, 8)).astype(t), rng.uniform(0.2, 1, 8).astype(t)
        at = rng.standard_normal(4).astype(t)
        for name in ("pdf", "logpdf"):
            record(w, name, lambda x, p: getattr(stats.gaussian_kde(x), name)(p), one, at, rule=0)
            record(w, name, lambda x, p: getattr(stats.gaussian_kde(x, "silverman"), name)(p), two, rng.standard_normal((2, 3)).astype(t), rule=1)
            record(w, name, lambda x, p, v: getattr(stats.gaussian_kde(x, weights=v), name)(p), two, rng.standard_normal((2, 3)).astype(t), weights, rule=0)
        record(w, "integrate_gaussian", lambda x, m, c: stats.gaussian_kde(x).integrate_gaussian(m, (c + c.T) / 2), two, np.array([0.3, -0.2], t), np.array([[1.0, 0.2], [0.2, 0.5]], t))
        record(w, "integrate_box_1d", lambda x, a, b: stats.gaussian_kde(x).integrate_box_1d(a, b), one, t(-0.5), t(1.2))
        record(w, "integrate_kde", lambda x, y: stats.gaussian_kde(x).integrate_kde(stats.gaussian_kde(y)), one, other)
        key = np.asarray(jr.key_data(jr.key(3)))
        record(w, "resample", lambda k, x: stats.gaussian_kde(x).resample(jr.wrap_key_data(k), (6,)), key, two, grad=False)


def main():
    w = records.Writer(__file__, "sample.txt", __doc__.strip() + "\n" + make_array.FORMAT.strip(), ("jax", "numpy", "mpmath"))
    modes(w)
    density_estimates(w)
    mu = np.array([0.05, 0.7, 3.0, 19.5, 120.0, 199.0, 201.0, 900.0, 5000.0])
    record(w, "entropy", None, mu, y=exact(entropy, mu), slopes=[exact(entropy_slope, mu)], grad=False)
    for t in FLOATS:
        edge = np.array([0.0, -1.0, NAN, 1e12], t)
        y = np.array([0, NAN, NAN, 0.5 * np.log(2 * np.pi * np.e * 1e12)], t)
        record(w, "entropy", None, edge, y=y, grad=False)
        record(w, "entropy", None, mu.astype(t), y=exact(entropy, mu.astype(t)).astype(t), grad=False)
    w.write()


if __name__ == "__main__":
    main()
