"""Solutions between the steps by Diffrax: evaluate and derivative of the dense output."""

import records
import diffrax
import jax
import jax.numpy as jnp
import numpy as np

ABOUT = """
u' = alpha u - beta u v, v' = delta u v - gamma v by Diffrax on prescribed steps (StepTo), saved with SaveAt(dense=True):
`values` and `slopes` are solution.evaluate and solution.derivative at times `at`, steps and their ends among them.
`parameters` is (alpha, beta, gamma, delta).
"""

w = records.Writer(__file__, "dense.txt", ABOUT, ("jax", "diffrax", "equinox", "numpy"))
P = np.array([0.55, 0.028, 0.8, 0.024])
Y0 = np.array([34.0, 5.9])
FORWARD = np.array([0.0, 0.1, 0.35, 0.4, 0.75, 1.2, 1.5])
AT = np.array([0.0, 0.05, 0.1, 0.2, 0.37, 0.4, 0.6, 0.75, 1.0, 1.3, 1.5])


def field(t, y, p):
    u, v = y
    return jnp.stack([u * (p[0] - p[1] * v), v * (p[3] * u - p[2])])


def case(name, solver, steps, at):
    sol = diffrax.diffeqsolve(
        diffrax.ODETerm(field), solver, steps[0], steps[-1], None, jnp.asarray(Y0), P,
        stepsize_controller=diffrax.StepTo(ts=steps), saveat=diffrax.SaveAt(dense=True), max_steps=16,
    )  # fmt: skip
    w.case(name, parameters=P, y0=Y0, steps=steps, at=at,
           values=np.asarray(jax.vmap(sol.evaluate)(at)), slopes=np.asarray(jax.vmap(sol.derivative)(at)))  # fmt: skip


for name, solver in (("euler", diffrax.Euler()), ("bosh3", diffrax.Bosh3()), ("tsit5", diffrax.Tsit5()), ("dopri5", diffrax.Dopri5())):
    case(name, solver, FORWARD, AT)
case("tsit5_back", diffrax.Tsit5(), FORWARD[::-1].copy(), AT)
w.write()
