"""brusselator/*: stiff reactions with diffusion, on a line and in the plane; the peer's Jacobians are dense."""

import common
import diffrax
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)


def on_a_line(t, y, args):
    u, v = y
    n = u.size
    factor = (n + 1) ** 2 / 50

    def second(w, end):
        wide = jnp.concatenate([jnp.array([end]), w, jnp.array([end])])
        return wide[:-2] - 2 * w + wide[2:]

    reaction = u * u * v
    return jnp.stack([1 + reaction - 4 * u + factor * second(u, 1.0), 3 * u - reaction + factor * second(v, 3.0)])


def in_the_plane(t, y, args):
    u, v = y
    factor = u.shape[0] ** 2 / 10

    def laplacian(w):
        return jnp.roll(w, 1, 0) + jnp.roll(w, -1, 0) + jnp.roll(w, 1, 1) + jnp.roll(w, -1, 1) - 4 * w

    reaction = u * u * v
    return jnp.stack([1 + reaction - 4.4 * u + factor * laplacian(u), 3.4 * u - reaction + factor * laplacian(v)])


def measure(name, field, t1, y0, rtol, probed):
    @jax.jit
    def run(start):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(field), diffrax.Kvaerno5(), 0.0, t1, None, start,
            stepsize_controller=diffrax.PIDController(rtol=rtol, atol=rtol),
        ).ys[0]  # fmt: skip

    time, y = common.median_seconds(run, y0, budget=3.0)
    common.emit(name, "ms", time * 1e3, "diffrax Kvaerno5", y.ravel()[jnp.array(probed)])


def brusselator():
    n = 256
    x = jnp.arange(1, n + 1) / (n + 1)
    y0 = jnp.stack([1 + jnp.sin(2 * jnp.pi * x), jnp.full_like(x, 3)])
    measure("brusselator/banded", on_a_line, 10.0, y0, 1e-6, [0, 63, 127, 256, 319, 383])

    side = 20
    at = jnp.arange(side) / side
    bump, flat = (at * (1 - at)) ** 1.5, jnp.ones(side)
    y0 = jnp.stack([22 * bump * flat[:, None], 27 * bump[:, None] * flat])
    measure("brusselator/2d", in_the_plane, 11.5, y0, 1e-6, [0, 105, 210, 400, 505, 610])


if __name__ == "__main__":
    common.main({"brusselator": brusselator})
