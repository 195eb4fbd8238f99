"""fit/*: many small fits at once."""

import common
import jax
import jax.numpy as jnp
import optimistix

jax.config.update("jax_enable_x64", True)
FITS, POINTS = 10_000, 20
T = jnp.linspace(0.0, 4.0, POINTS)
SOLVER = optimistix.LevenbergMarquardt(rtol=1e-8, atol=1e-8)


def residual(p, readings):
    a, b, c = p
    return a * jnp.exp(-b * T) + c - readings


@jax.jit
@jax.vmap
def run(readings):
    start = tuple(jnp.asarray(v) for v in (1.0, 1.0, 0.0))
    return optimistix.least_squares(residual, SOLVER, start, readings, max_steps=1000).value


def levenberg():
    k = jnp.arange(FITS) / FITS
    a, b, c = (v[:, None] for v in (1 + k, 0.5 + 2 * k * k, 0.3 - k))
    readings = a * jnp.exp(-b * T) + c + 0.01 * jnp.sin(37 * T + 100 * k[:, None])
    time, found = common.median_seconds(run, readings)
    probes = jnp.array([0, 2500, 5000, 7500, 9999])
    common.emit("fit/levenberg", "ms", time * 1e3, "optimistix LevenbergMarquardt", jnp.stack([v[probes] for v in found]))


if __name__ == "__main__":
    common.main({"levenberg": levenberg})
