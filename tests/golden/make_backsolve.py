"""Gradients of solves by Diffrax's BacksolveAdjoint, on steps of one length."""

import records
import diffrax
import jax
import jax.numpy as jnp
import numpy as np

ABOUT = """
Gradients by the adjoint equation (diffrax.BacksolveAdjoint), forwards and back in steps of the length dt0 (ConstantStepSize) from t0 to t1:
    y0' = p0 y0 cos t,  y1' = p1 - y1 y2,  y2' = y1 y2 - 0.1 y2
`ys` are the states at `ts`, the loss is sum(weights * ys^2), and the gradients are those by `parameters` and `y0`.
"""
w = records.Writer(__file__, "backsolve.txt", ABOUT, ("jax", "diffrax", "equinox", "numpy"))
SOLVERS = {"euler": diffrax.Euler(), "heun": diffrax.Heun(), "tsit5": diffrax.Tsit5(), "dopri5": diffrax.Dopri5()}


def field(t, y, p):
    return jnp.stack([p[0] * y[0] * jnp.cos(t), p[1] - y[1] * y[2], y[1] * y[2] - 0.1 * y[2]])


def case(name, t0, t1, dt0, ts):
    parameters, y0 = np.array([0.7, 0.3]), np.array([1.0, 1.0, 0.5])
    weights = np.arange(1.0, 1.0 + 3 * len(ts)).reshape(len(ts), 3)

    def solve(p, y):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(field), SOLVERS[name], t0, t1, dt0, y, p, saveat=diffrax.SaveAt(ts=jnp.asarray(ts)),
            adjoint=diffrax.BacksolveAdjoint(),
        ).ys  # fmt: skip

    def loss(p, y):
        return jnp.sum(weights * solve(p, y) ** 2)

    gradients = jax.jit(jax.grad(loss, argnums=(0, 1)))(parameters, y0)
    w.case(
        name, {}, parameters=parameters, y0=y0, weights=weights, t0=np.float64(t0), t1=np.float64(t1), dt0=np.float64(dt0),
        ts=np.asarray(ts), ys=np.asarray(solve(parameters, y0)), grad_parameters=gradients[0], grad_y0=gradients[1],
    )  # fmt: skip


for solver in SOLVERS:
    case(solver, 0.0, 1.0, 0.0625, [0.25, 0.5, 1.0])
    case(solver, 1.0, 0.0, -0.0625, [0.75, 0.3125])
w.write()
