"""pleiades/*: seven stars in the plane (Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I)."""

import common
import diffrax
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)


def attraction(t, state, args):
    x, y, vx, vy = state
    mass, dx, dy = jnp.arange(1.0, 8.0), x - x[:, None], y - y[:, None]
    squared = dx * dx + dy * dy
    apart = jnp.where(squared > 0, squared, 1.0)
    weight = jnp.where(squared > 0, mass / (apart * jnp.sqrt(apart)), 0.0)
    return jnp.stack([vx, vy, jnp.sum(weight * dx, 1), jnp.sum(weight * dy, 1)])


@jax.jit
def run(start):
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(attraction), diffrax.Dopri8(), 0.0, 3.0, None, start,
        stepsize_controller=diffrax.PIDController(rtol=1e-9, atol=1e-9),
    )  # fmt: skip
    return solution.ys[0], solution.stats["num_steps"]


def pleiades():
    start = jnp.array([[3, 3, -1, -3, 2, -2, 2], [3, -3, 2, 0, 0, -4, 4], [0, 0, 0, 0, 0, 1.75, -1.5],
                       [0, 0, 0, -1.25, 1, 0, 0]])  # fmt: skip
    time, (state, steps) = common.median_seconds(run, start)
    common.emit("pleiades/step", "us/step", time / int(steps) * 1e6, "diffrax", state)


if __name__ == "__main__":
    common.main({"pleiades": pleiades})
