"""Adaptive solves by Diffrax whose steps must meet given times."""

import records
import diffrax
import jax.numpy as jnp
import numpy as np

ABOUT = """
y' = -y + cos 3t (+ 1 where 1 <= t < 2.5, with jumps), y(0) = 0.3, by Diffrax on [0, 4] with ClipStepSizeController around
PIDController(rtol = 1e-6, atol = 1e-8), dt0 = 0.9: the ends of all accepted steps and the states there, and how many attempts were rejected.
"""

w = records.Writer(__file__, "clip.txt", ABOUT, ("jax", "diffrax", "equinox", "numpy"))
STEP = np.array([0.4, 3.3, 0.75])
JUMP = np.array([2.5, 1.0])


def smooth(t, y, args):
    return -y + jnp.cos(3 * t)


def switched(t, y, args):
    return smooth(t, y, args) + jnp.where((t >= 1) & (t < 2.5), 1.0, 0.0)


def case(name, solver, **options):
    controller = diffrax.ClipStepSizeController(diffrax.PIDController(rtol=1e-6, atol=1e-8), **options)
    sol = diffrax.diffeqsolve(
        diffrax.ODETerm(switched if "jump_ts" in options else smooth), solver, 0.0, 4.0, 0.9, jnp.array([0.3]), stepsize_controller=controller,
        saveat=diffrax.SaveAt(steps=True), max_steps=500,
    )  # fmt: skip
    n = int(sol.stats["num_accepted_steps"])
    w.case(name, ts=np.asarray(sol.ts[:n]), ys=np.asarray(sol.ys[:n, 0]), step_ts=options.get("step_ts", np.zeros(0)),
           jump_ts=options.get("jump_ts", np.zeros(0)), rejected=np.int64(sol.stats["num_rejected_steps"]),
           store=np.int64(options.get("store_rejected_steps", 0)))  # fmt: skip


for name, solver in (("tsit5", diffrax.Tsit5()), ("bosh3", diffrax.Bosh3()), ("dopri5", diffrax.Dopri5())):
    case(name + "_steps", solver, step_ts=STEP)
    case(name + "_jumps", solver, jump_ts=JUMP)
    case(name + "_both", solver, step_ts=STEP, jump_ts=JUMP)
    case(name + "_rejected", solver, step_ts=STEP, store_rejected_steps=100)
w.write()
