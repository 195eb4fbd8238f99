"""Solvers of every family by Diffrax: steps at prescribed times with gradients, and counts of adaptive solves."""

import records
import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import optimistix

ABOUT = """
Solvers by Diffrax. Text structure says what they take: whole, split (MultiTerm: f explicitly, g implicitly) or parts.

Cases with text kind = steps go from steps[0] over prescribed times to steps[-1] (StepTo), save at `ts` by the solver's interpolant
(`ys`) and at the end (`y1`), and give the gradients of sum(weights * y1^2) by `parameters` and `y0`:
    whole   y0' = p0 y0 cos t,  y1' = p1 - y1 y2,  y2' = y1 y2
    split   f = (p0 y0 cos t, p1, 0),  g = (0, -y1 y2, y1 y2)
    parts   (q, p) = (y[:2], y[2:]):  q' = p0 p + t,  p' = -p1 q / |q|^3
HalfSolver's cases have no `ys`: Diffrax interpolates the long step there, Apsis the two short ones, which are saved.

Cases with text kind = adaptive are by PIDController, and give counts of steps and the end:
    oscillator  y' = (y1, -y0)
    vanderpol   y' = (y1, mu (1 - y0^2) y1 - y0);  split: f = (y1, 0),  g = (0, mu (1 - y0^2) y1 - y0)
    robertson   rates 0.04, 3e7, 1e4;  split: f = 0 (explicitly), g = all

Equations of implicit stages are solved to rounding (Optimistix's Newton): Diffrax's own iterations (VeryChord) end after two of them,
as Optimistix goes on only while its result is `successful`, which it is not before convergence; so steps would be rejected
that a third iteration solves.
"""

newton = optimistix.Newton(rtol=1e-12, atol=1e-14)
implicit = dict(root_finder=newton, root_find_max_steps=30)
WHOLE = {
    "midpoint": diffrax.Midpoint(),
    "ralston": diffrax.Ralston(),
    "dopri8": diffrax.Dopri8(),
    "leapfrog_midpoint": diffrax.LeapfrogMidpoint(),
    "reversible_heun": diffrax.ReversibleHeun(),
    "half_heun": diffrax.HalfSolver(diffrax.Heun()),
    "implicit_euler": diffrax.ImplicitEuler(**implicit),
    "kvaerno3": diffrax.Kvaerno3(**implicit),
    "kvaerno4": diffrax.Kvaerno4(**implicit),
    "kvaerno5": diffrax.Kvaerno5(**implicit),
}
SPLIT = {
    "kencarp3": diffrax.KenCarp3(**implicit),
    "kencarp4": diffrax.KenCarp4(**implicit),
    "kencarp5": diffrax.KenCarp5(**implicit),
    "sil3": diffrax.Sil3(**implicit),
}
PARTS = {"semi_implicit_euler": diffrax.SemiImplicitEuler()}
STEPS = np.array([0.0, 0.1, 0.3, 0.45, 0.8, 1.0])
TS = np.array([0.05, 0.3, 0.52, 0.99])
WEIGHTS = np.array([1.0, 2.0, 3.0, 4.0])

w = records.Writer(__file__, "solvers.txt", ABOUT, ("jax", "diffrax", "optimistix", "equinox", "numpy"))


def whole(t, y, p):
    return jnp.stack([p[0] * y[0] * jnp.cos(t), p[1] - y[1] * y[2], y[1] * y[2]])


def explicit_part(t, y, p):
    return jnp.stack([p[0] * y[0] * jnp.cos(t), p[1], 0.0 * y[2]])


def implicit_part(t, y, p):
    return jnp.stack([0.0 * y[0], -y[1] * y[2], y[1] * y[2]])


TERMS = {
    "whole": diffrax.ODETerm(whole),
    "split": diffrax.MultiTerm(diffrax.ODETerm(explicit_part), diffrax.ODETerm(implicit_part)),
    "parts": (
        diffrax.ODETerm(lambda t, v, p: p[0] * v + t),
        diffrax.ODETerm(lambda t, q, p: -p[1] * q / jnp.sum(q * q) ** 1.5),
    ),
}


def steps_case(name, solver, structure, steps, ts):
    parts = structure == "parts"
    parameters = np.array([0.7, 0.3])
    y0 = np.array([0.9, 0.2, -0.1, 0.8] if parts else [1.0, 1.0, 0.5])
    weights = WEIGHTS[: len(y0)]

    def solve(p, y):
        sol = diffrax.diffeqsolve(
            TERMS[structure], solver, steps[0], steps[-1], None, (y[:2], y[2:]) if parts else y, p,
            stepsize_controller=diffrax.StepTo(ts=jnp.asarray(steps)), saveat=diffrax.SaveAt(ts=jnp.asarray(ts), t1=True),
        )  # fmt: skip
        return jnp.concatenate(sol.ys, axis=1) if parts else sol.ys

    def loss(p, y):
        return jnp.sum(weights * solve(p, y)[-1] ** 2)

    ys = np.asarray(jax.jit(solve)(parameters, y0))
    gradients = jax.jit(jax.grad(loss, argnums=(0, 1)))(parameters, y0)
    saved = {} if name == "half_heun" else {"ys": ys[:-1]}
    w.case(
        name, {"kind": "steps", "structure": structure}, parameters=parameters, y0=y0, weights=weights, steps=steps, ts=ts, **saved,
        y1=ys[-1], grad_parameters=gradients[0], grad_y0=gradients[1],
    )  # fmt: skip


for structure, solvers in (("whole", WHOLE), ("split", SPLIT), ("parts", PARTS)):
    for name, solver in solvers.items():
        steps_case(name, solver, structure, STEPS, TS)
        steps_case(name, solver, structure, 1.0 - STEPS, 1.0 - TS)


def oscillator(t, y, mu):
    return jnp.stack([y[1], -y[0]])


def vanderpol(t, y, mu):
    return jnp.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])


def robertson(t, y, mu):
    first, second = 0.04 * y[0] - 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    return jnp.stack([-first, first - second, second])


FIELDS = {"oscillator": oscillator, "vanderpol": vanderpol, "robertson": robertson}
HALVES = {
    "vanderpol": (
        lambda t, y, mu: jnp.stack([y[1], 0.0 * y[1]]),
        lambda t, y, mu: jnp.stack([0.0 * y[0], mu * (1 - y[0] ** 2) * y[1] - y[0]]),
    ),
    "robertson": (lambda t, y, mu: 0.0 * y, robertson),
}


def adaptive_case(name, solver, problem, t1, y0, dt0, rtol, atol, mu=0.0):
    split = name in SPLIT
    terms = diffrax.MultiTerm(*map(diffrax.ODETerm, HALVES[problem])) if split else diffrax.ODETerm(FIELDS[problem])
    y0 = np.asarray(y0)
    sol = jax.jit(
        lambda y: diffrax.diffeqsolve(
            terms, solver, 0.0, t1, dt0, y, mu, max_steps=100_000,
            stepsize_controller=diffrax.PIDController(rtol=rtol, atol=atol),
        )  # fmt: skip
    )(y0)
    stats = {k: np.int64(sol.stats[f"num_{k}_steps"]) for k in ("accepted", "rejected")}
    print("adaptive", name, problem, mu, rtol, *stats.values(), flush=True)
    w.case(
        name, {"kind": "adaptive", "structure": "split" if split else "whole", "problem": problem}, t1=np.float64(t1), y0=y0,
        dt0=np.float64(dt0), rtol=np.float64(rtol), atol=np.float64(atol), mu=np.float64(mu), **stats, y1=np.asarray(sol.ys)[-1],
    )  # fmt: skip


for name, tolerance in (("midpoint", 1e-3), ("ralston", 1e-3), ("reversible_heun", 1e-3), ("half_heun", 1e-4), ("dopri8", 1e-9)):
    adaptive_case(name, WHOLE[name], "oscillator", 10.0, [1.0, 0.0], 0.01, tolerance, 1e-3 * tolerance)
    if name != "reversible_heun":  # which is not stable enough to follow it
        adaptive_case(name, WHOLE[name], "vanderpol", 10.0, [2.0, 0.0], 0.01, tolerance, tolerance, mu=1.0)
for name, tolerance in (("implicit_euler", 1e-2), ("kvaerno3", 1e-4), ("kvaerno4", 1e-5), ("kvaerno5", 1e-6),
                        ("kencarp3", 1e-4), ("kencarp4", 1e-5), ("kencarp5", 1e-6), ("sil3", 1e-3)):  # fmt: skip
    solver = {**WHOLE, **SPLIT}[name]
    # So slow that no step is too long for Newton's method, whose failures are its own.
    adaptive_case(name, solver, "vanderpol", 12.0, [2.0, 0.0], 0.001, tolerance, tolerance, mu=1.0)
    if name != "implicit_euler":  # which stops where Newton's method fails
        adaptive_case(name, solver, "vanderpol", 12.0, [2.0, 0.0], 0.001, 0.01 * tolerance, 0.01 * tolerance, mu=1.0)
        adaptive_case(name, solver, "robertson", 1e3, [1.0, 0.0, 0.0], 1e-4, tolerance, 1e-4 * tolerance)
w.write()
