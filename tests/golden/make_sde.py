"""Stochastic equations by Diffrax along virtual trees: steps at prescribed times, with gradients, and adaptive steps."""

import records
import diffrax
import jax
import jax.numpy as jnp
import lineax
import numpy as np

ABOUT = """
Stochastic solvers by Diffrax on prescribed steps (StepTo), along VirtualBrownianTree(0, 1, 1/64, shape, key(seed)) with the Lévy area
that the solver needs. Saved: `ys` at the ends of all steps, and the gradients of sum(weights * y1^2) by `parameters` p and `y0`.
Text noise says what the equation is; the drift is always (p0 y0 cos t - y1, p1 - y0 y1):
    diagonal     g = diag(p2 y0, p2 sin y1),  W in R^2
    general      g = (p2 y0, y1, 0.3; 0.2, p2 y0 y1, y0),  W in R^3
    scalar       g = (p2 y1, -p2 y0),  W in R
    additive     g = (p2 (1 + t), 0.2; 0.1 cos t, p2),  W in R^2
Cases of kind adaptive take PIDController(rtol=tolerance, atol=tolerance), where `store` is not 0 within
ClipStepSizeController(store_rejected_steps=store), along VirtualBrownianTree(0, 1, 1/2, ...), and save the ends `times` of accepted
steps, the states `ys` there, and the counts `accepted` and `rejected`.
"""

SOLVERS = {
    "euler": (diffrax.Euler(), ("diagonal", "general", "scalar", "additive")),
    "heun": (diffrax.Heun(), ("diagonal", "general", "scalar", "additive")),
    "midpoint": (diffrax.Midpoint(), ("general",)),
    "ralston": (diffrax.Ralston(), ("general",)),
    "reversible_heun": (diffrax.ReversibleHeun(), ("diagonal", "general", "scalar", "additive")),
    "euler_heun": (diffrax.EulerHeun(), ("diagonal", "general", "scalar", "additive")),
    "ito_milstein": (diffrax.ItoMilstein(), ("diagonal", "scalar", "additive")),
    "stratonovich_milstein": (diffrax.StratonovichMilstein(), ("diagonal", "scalar", "additive")),
    "half_heun": (diffrax.HalfSolver(diffrax.Heun()), ("general",)),
    "half_euler_heun": (diffrax.HalfSolver(diffrax.EulerHeun()), ()),
    "sea": (diffrax.SEA(), ("additive",)),
    "sra1": (diffrax.SRA1(), ("additive",)),
    "shark": (diffrax.ShARK(), ("additive",)),
    "general_shark": (diffrax.GeneralShARK(), ("diagonal", "general", "scalar", "additive")),
    "slow_rk": (diffrax.SlowRK(), ("diagonal", "scalar", "additive")),
    "spark": (diffrax.SPaRK(), ("diagonal", "general", "scalar", "additive")),
}
SIZES = {"diagonal": (2,), "general": (3,), "scalar": (), "additive": (2,)}
STEPS = np.array([0.0, 0.125, 0.25, 0.3125, 0.55, 0.8, 1.0])
WEIGHTS = np.array([1.0, 2.0])
P, Y0 = np.array([0.7, 0.3, 0.4]), np.array([1.0, 0.5])

w = records.Writer(__file__, "sde.txt", ABOUT, ("jax", "diffrax", "lineax", "equinox", "numpy"))


def drift(t, y, p):
    return jnp.stack([p[0] * y[0] * jnp.cos(t) - y[1], p[1] - y[0] * y[1]])


def diagonal(t, y, p):
    return lineax.DiagonalLinearOperator(jnp.stack([p[2] * y[0], p[2] * jnp.sin(y[1])]))


def general(t, y, p):
    return jnp.stack([jnp.stack([p[2] * y[0], y[1], 0.3 + 0 * t]), jnp.stack([0.2 + 0 * t, p[2] * y[0] * y[1], y[0]])])


def scalar(t, y, p):
    return jnp.stack([p[2] * y[1], -p[2] * y[0]])


def additive(t, y, p):
    return jnp.stack([jnp.stack([p[2] * (1 + t), 0.2 + 0 * t]), jnp.stack([0.1 * jnp.cos(t), p[2] + 0 * t])])


FIELDS = {"diagonal": diagonal, "general": general, "scalar": scalar, "additive": additive}


def solve(solver, noise, seed, tol, p, y0, **options):
    levy = diffrax.SpaceTimeLevyArea if hasattr(solver, "minimal_levy_area") else diffrax.BrownianIncrement
    path = diffrax.VirtualBrownianTree(0.0, 1.0, tol, SIZES[noise], jax.random.key(seed), levy)
    terms = diffrax.MultiTerm(diffrax.ODETerm(drift), diffrax.ControlTerm(FIELDS[noise], path))
    return diffrax.diffeqsolve(terms, solver, 0.0, 1.0, y0=y0, args=p, **options)


def steps_case(name, solver, noise, seed):
    def states(p, y0):
        return solve(
            solver, noise, seed, 1 / 64, p, y0, dt0=None, stepsize_controller=diffrax.StepTo(ts=jnp.asarray(STEPS)),
            saveat=diffrax.SaveAt(steps=True), max_steps=8,
        ).ys[: len(STEPS) - 1]  # fmt: skip

    def loss(p, y0):
        return jnp.sum(WEIGHTS * states(p, y0)[-1] ** 2)

    gradients = jax.jit(jax.grad(loss, argnums=(0, 1)))(P, Y0)
    w.case(
        name, {"kind": "steps", "noise": noise}, seed=np.int64(seed), parameters=P, y0=Y0, weights=WEIGHTS, steps=STEPS,
        ys=jax.jit(states)(P, Y0), grad_parameters=gradients[0], grad_y0=gradients[1],
    )  # fmt: skip


def adaptive_case(name, noise, seed, tolerance, store):
    controller = diffrax.PIDController(rtol=tolerance, atol=tolerance)
    if store:
        controller = diffrax.ClipStepSizeController(controller, store_rejected_steps=store)
    solution = jax.jit(
        lambda p, y0: solve(
            SOLVERS[name][0], noise, seed, 0.5, p, y0, dt0=0.1, stepsize_controller=controller,
            saveat=diffrax.SaveAt(steps=True), max_steps=256,
        )
    )(P, Y0)  # fmt: skip
    accepted, rejected = (int(solution.stats[f"num_{kind}_steps"]) for kind in ("accepted", "rejected"))
    print(name, noise, store, accepted, rejected, flush=True)
    w.case(
        name, {"kind": "adaptive", "noise": noise}, seed=np.int64(seed), parameters=P, y0=Y0, tolerance=np.float64(tolerance),
        store=np.int64(store), accepted=np.int64(accepted), rejected=np.int64(rejected), times=solution.ts[:accepted],
        ys=solution.ys[:accepted],
    )  # fmt: skip


ADAPTIVE = {
    "heun": ("diagonal", "general"), "midpoint": ("general",), "ralston": ("general",),
    "reversible_heun": ("diagonal", "general"), "half_heun": ("general",), "half_euler_heun": ("general",),
    "sra1": ("additive",), "shark": ("additive",), "spark": ("diagonal", "general", "scalar", "additive"),
}  # fmt: skip

seed = 0
for name, (solver, kinds) in SOLVERS.items():
    for noise in kinds:
        seed += 1
        steps_case(name, solver, noise, seed)
for name, kinds in ADAPTIVE.items():
    for noise in kinds:
        for store in (0, 20):
            seed += 1
            adaptive_case(name, noise, seed, 0.01, store)
w.write()
