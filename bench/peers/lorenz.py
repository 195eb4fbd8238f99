"""lorenz/*: adaptive Tsit5 on the Lorenz system: one solve, ensembles, gradients, first calls."""

import common
import diffrax
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
MEMBERS = 1000
RHO = jnp.linspace(0.5, 40.0, MEMBERS)
PROBES = jnp.array([0, 100, 250, 400])  # members below the chaotic range


def field(t, y, args):
    sigma, rho, beta = args
    return jnp.stack([sigma * (y[1] - y[0]), y[0] * (rho - y[2]) - y[1], y[0] * y[1] - beta * y[2]])


def solve(rho, t1, sigma=10.0, beta=8.0 / 3.0, max_steps=4096):
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(field), diffrax.Tsit5(), 0.0, t1, 0.01, jnp.ones(3), (sigma, rho, beta), max_steps=max_steps,
        stepsize_controller=diffrax.PIDController(rtol=1e-8, atol=1e-8),
    )  # fmt: skip
    return solution.ys[0], solution.stats["num_steps"]


def scalar(v):
    return jnp.asarray(v, jnp.float64)


def lorenz():
    time, (y, steps) = common.median_seconds(jax.jit(solve), scalar(28), scalar(20))
    common.emit("lorenz/step", "ns/step", time / int(steps) * 1e9, "diffrax", y)

    gradient = jax.jit(jax.grad(lambda rho: jnp.sum(solve(rho, 5.0)[0])))
    time, g = common.median_seconds(gradient, scalar(28))
    common.emit("lorenz/grad", "us", time * 1e6, "diffrax", g)


def ensemble():
    time, (y, steps) = common.median_seconds(jax.jit(jax.vmap(solve, in_axes=(0, None))), RHO, scalar(20))
    answer = jnp.concatenate([scalar(jnp.sum(steps))[None], y[PROBES].ravel()])
    for name in ("lorenz/ensemble", "lorenz/ensemble-tuned"):
        common.emit(name, "ns/lane-step", time / int(jnp.sum(steps)) * 1e9, "diffrax", answer)


def straggler():
    t1 = jnp.ones(256).at[-1].set(100.0)
    solves = jax.jit(jax.vmap(lambda t1: solve(10.0, t1, max_steps=100_000)))
    time, (y, steps) = common.median_seconds(solves, t1)
    common.emit("lorenz/ensemble-straggler", "us", time * 1e6, "diffrax", jnp.concatenate([y[0], y[-1]]))


def ensemble_grad():
    @jax.jit
    @jax.value_and_grad
    def loss(parameters):
        sigma, beta = parameters
        return jnp.mean(jax.vmap(lambda rho: jnp.sum(solve(rho, 5.0, sigma, beta)[0]))(RHO))

    time, (value, g) = common.median_seconds(loss, (scalar(10), scalar(8 / 3)))
    common.emit("lorenz/ensemble-grad", "ms", time * 1e3, "diffrax", [value, *g])


def first():
    common.warm_compiler()
    time, (y, steps) = common.seconds(jax.jit(solve), scalar(28), scalar(20))
    common.emit("lorenz/first-call", "ms", time * 1e3, "diffrax", y)


def grad_first():
    common.warm_compiler()
    time, g = common.seconds(jax.jit(jax.grad(lambda rho: jnp.sum(solve(rho, 5.0)[0]))), scalar(28))
    common.emit("lorenz/grad-first-call", "ms", time * 1e3, "diffrax", g)


if __name__ == "__main__":
    common.main(
        {
            "lorenz": lorenz,
            "ensemble": ensemble,
            "straggler": straggler,
            "ensemble-grad": ensemble_grad,
            "lorenz-first": first,
            "lorenz-grad-first": grad_first,
        }
    )
