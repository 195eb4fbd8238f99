"""sde/*: ensembles of stochastic equations, by Diffrax and by scans written by hand; derivatives of an option's value."""

import common
import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

jax.config.update("jax_enable_x64", True)

PATHS, STEPS = 1000, 1000
RATE, VOLATILITY = 0.05, 0.2


def growth(path):
    def one(key):
        terms = diffrax.MultiTerm(
            diffrax.ODETerm(lambda t, y, args: RATE * y), diffrax.ControlTerm(lambda t, y, args: VOLATILITY * y, path(key))
        )  # fmt: skip
        return diffrax.diffeqsolve(
            terms, diffrax.Euler(), 0.0, 1.0, 1 / STEPS, jnp.float64(1.0), adjoint=diffrax.ForwardMode()
        ).ys[-1]  # fmt: skip

    return jax.jit(jax.vmap(one))


def scan_growth(keys):
    def one(key):
        def step(y, k):
            w = np.sqrt(1 / STEPS) * jax.random.normal(k)
            return y + RATE * y / STEPS + VOLATILITY * y * w, None

        return lax.scan(step, 1.0, jax.random.split(key, STEPS))[0]

    return jax.vmap(one)(keys)


def heston_greeks():
    many, few = 65_536, 250
    pull, level, width, correlation, interest, strike = 1.5, 0.04, 0.3, -0.6, 0.03, 100.0
    other = np.sqrt(1 - correlation**2)

    def payoff(market, key):
        def step(y, k):
            v = jnp.maximum(y[1], 0.0)
            d = jnp.sqrt(jnp.maximum(y[1], 1e-12))
            w = np.sqrt(1 / few) * jax.random.normal(k, (2,))
            x = y[0] + (interest - 0.5 * v) / few + d * w[0]
            return (x, y[1] + pull * (level - v) / few + width * d * (correlation * w[0] + other * w[1])), None

        (x, _), _ = lax.scan(step, (jnp.log(market[0]), market[1]), jax.random.split(key, few))
        return np.exp(-interest) * jnp.maximum(jnp.exp(x) - strike, 0.0)

    @jax.jit
    def run(market, keys):
        values, slopes = jax.vmap(jax.value_and_grad(payoff), in_axes=(None, 0))(market, keys)
        return jnp.concatenate([jnp.mean(values)[None], jnp.mean(slopes, axis=0)])

    keys = jax.random.split(jax.random.key(0), many)
    time, found = common.median_seconds(run, jnp.array([100.0, 0.04]), keys)
    common.emit("sde/heston-greeks", "ns/path-step", time * 1e9 / (many * few), "jax", found)


def noise():
    keys = jax.random.split(jax.random.key(0), PATHS)
    tree = growth(lambda key: diffrax.VirtualBrownianTree(0.0, 1.0, 0.5 / STEPS, (), key))
    unsafe = growth(lambda key: diffrax.UnsafeBrownianPath((), key))
    for name, run, peer in (
        ("tree", tree, "diffrax"), ("unsafe", unsafe, "diffrax"), ("scan", jax.jit(scan_growth), "jax")
    ):  # fmt: skip
        time, end = common.median_seconds(run, keys)
        common.emit(f"sde/gbm-{name}", "ns/path-step", time * 1e9 / (PATHS * STEPS), peer, jnp.mean(end))
    heston_greeks()


if __name__ == "__main__":
    common.main({"noise": noise})
