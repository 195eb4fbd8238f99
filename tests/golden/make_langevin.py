"""Underdamped Langevin diffusion by Diffrax: steps at prescribed times along virtual trees, with gradients."""

import records
import diffrax
import jax
import jax.numpy as jnp
import numpy as np

ABOUT = """
Solvers of underdamped Langevin diffusion by Diffrax on prescribed steps (StepTo), along VirtualBrownianTree(0, 1, 1/64, (2,), key(seed)) with
space-time-time Levy area: all times are ends of halved intervals, where values do not depend on how a covariance is factored.
f(x) = a sum((x^2 - 1)^2) / 4 + x0 x1 / 2; fields gamma [2], u [2], a, x0, v0; saved are `xs` and `vs` at the ends of all steps, and the gradients of
sum(x1^2) + 2 sum(v1^2) by gamma, u, a. Text kind = exact has coefficients by their formulas (taylor_threshold = 0), kind = series by
Taylor's series, of which gamma is small enough.
Also EulerHeun, with the same terms.
"""

STEPS = np.array([0.0, 0.125, 0.25, 0.3125, 0.5625, 0.8125, 1.0])
SOLVERS = {"align": diffrax.ALIGN, "should": diffrax.ShOULD, "quicsort": diffrax.QUICSORT}
X0, V0, A = np.array([0.5, -0.3]), np.array([0.2, 0.1]), np.float64(2.0)

w = records.Writer(__file__, "langevin.txt", ABOUT, ("jax", "diffrax", "equinox", "numpy"))


def case(name, kind, solver, seed, gamma, u):
    def states(gamma, u, a):
        def f(x):
            return a * jnp.sum((x**2 - 1) ** 2) / 4 + x[0] * x[1] / 2

        path = diffrax.VirtualBrownianTree(
            0.0, 1.0, 1 / 64, (2,), jax.random.key(seed), diffrax.SpaceTimeTimeLevyArea
        )
        terms = diffrax.MultiTerm(
            diffrax.UnderdampedLangevinDriftTerm(gamma, u, lambda x, _: jax.grad(f)(x)),
            diffrax.UnderdampedLangevinDiffusionTerm(gamma, u, path),
        )
        return diffrax.diffeqsolve(
            terms, solver, 0.0, 1.0, None, (jnp.asarray(X0), jnp.asarray(V0)), saveat=diffrax.SaveAt(steps=True), max_steps=8,
            stepsize_controller=diffrax.StepTo(ts=jnp.asarray(STEPS)),
        ).ys  # fmt: skip

    def loss(gamma, u, a):
        x, v = states(gamma, u, a)
        return jnp.sum(x[5] ** 2) + 2 * jnp.sum(v[5] ** 2)

    xs, vs = jax.jit(states)(gamma, u, A)
    gradients = jax.jit(jax.grad(loss, argnums=(0, 1, 2)))(gamma, u, A)
    w.case(
        name, {"kind": kind}, seed=np.int64(seed), gamma=gamma, u=u, a=A, x0=X0, v0=V0, steps=STEPS, xs=xs[:6], vs=vs[:6],
        grad_gamma=gradients[0], grad_u=gradients[1], grad_a=gradients[2],
    )  # fmt: skip


u = np.array([0.5, 1.5])
for i, (name, solver) in enumerate(SOLVERS.items()):
    case(name, "exact", solver(taylor_threshold=0.0), 30 + i, np.array([1.0, 7.0]), u)
    case(name, "series", solver(), 40 + i, np.array([0.01, 0.02]), u)
case("euler_heun", "exact", diffrax.EulerHeun(), 50, np.array([1.0, 7.0]), u)
w.write()
