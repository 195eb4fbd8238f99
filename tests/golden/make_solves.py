"""Lotka-Volterra on prescribed steps by Diffrax: values and gradients, checked here against finite differences."""

import records
import diffrax
import jax
import jax.numpy as jnp
import numpy as np

ABOUT = """
Lotka-Volterra by Diffrax on prescribed steps (StepTo): values, and the gradient of a scalar loss.

    u' = u (alpha (1 + forcing sin t) - beta v),   v' = v (delta u - gamma)

`parameters` is (alpha, beta, gamma, delta); `forcing` is 0 or 0.2 and is not differentiated. The solve steps from
steps[0] = t0 over the interior step times to steps[-1] = t1 and saves at `ts` (by the solver's interpolant in the
step that covers the time, ts <= end of step) and at t1 (the end state itself).

    loss = sum(log(y)^2) over all saved values: ys (one row for each of ts) and y1.

What is differentiated: loss(parameters, y0, t0, t1, ts, interior), where the step times are
[t0, *interior, t1]. So a change of t0 moves the start of the first step, and a change of t1 the end of the last one,
all other step times staying where they are; save times move alone. `grad_interior` is the derivative with respect to
the interior step times as well, for a controller that lets them through; it is independent of the others.
Every gradient was checked by the script against central differences.
Cases named *_aligned save exactly at step ends, where the covering step is the one that ends there.
"""

SOLVERS = {
    "euler": diffrax.Euler(),
    "heun": diffrax.Heun(),
    "bosh3": diffrax.Bosh3(),
    "tsit5": diffrax.Tsit5(),
    "dopri5": diffrax.Dopri5(),
}
PARAMETERS = np.array([0.55, 0.028, 0.8, 0.024])
Y0 = np.array([34.0, 5.9])
# Steps between 0.02 and 0.17, irregular but short to write down.
STEPS = np.concatenate([[0.0], np.cumsum([0.02 + 0.03 * ((7 * i) % 6) for i in range(250)])])
STEPS = np.concatenate([STEPS[STEPS < 19.9], [20.0]])
TS = np.array([0.0133, 0.313, 0.8035, 1.7013, 3.14159, 5.003, 7.777, 9.2025, 12.505, 15.0015, 17.303, 19.9504])


def solve(solver, forcing, parameters, y0, t0, t1, ts, interior, saveat=None):
    def field(t, y, p):
        alpha, beta, gamma, delta = p
        u, v = y
        return jnp.stack([u * (alpha * (1 + forcing * jnp.sin(t)) - beta * v), v * (delta * u - gamma)])

    steps = jnp.concatenate([jnp.reshape(t0, 1), interior, jnp.reshape(t1, 1)])
    return diffrax.diffeqsolve(
        diffrax.ODETerm(field), solver, t0, t1, None, y0, tuple(parameters),
        stepsize_controller=diffrax.StepTo(ts=steps),
        saveat=saveat or diffrax.SaveAt(ts=ts, t1=True),
    )  # fmt: skip


def check_gradient(loss, arguments, gradients, skip):
    """Central differences of the loss in every component of every argument."""
    for i, (x, g) in enumerate(zip(arguments, gradients)):
        flat, out = np.array(x, dtype=float).reshape(-1), np.array(g).reshape(-1)
        for j in range(flat.size):
            if (i, j) in skip:
                continue
            h = 1e-5 * max(1.0, abs(flat[j])) if i != 0 else 1e-6 * abs(flat[j])

            def at(d):
                moved = flat.copy()
                moved[j] += d
                return float(loss(*arguments[:i], jnp.asarray(moved.reshape(np.shape(x))), *arguments[i + 1 :]))

            difference = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
            scale = max(1.0, np.abs(out).max())
            assert abs(difference - out[j]) < 2e-7 * scale, (i, j, difference, out[j])


w = records.Writer(__file__, "solves.txt", ABOUT, ("jax", "diffrax", "equinox", "numpy"))


def case(name, solver, steps, ts, forcing, y0=Y0, kinks=()):
    def saved(p, y0, t0, t1, ts, interior):
        return solve(SOLVERS[solver], forcing, p, y0, t0, t1, ts, interior).ys

    @jax.jit
    def loss(*arguments):
        return jnp.sum(jnp.log(saved(*arguments)) ** 2)

    arguments = [jnp.asarray(x) for x in (PARAMETERS, y0, steps[0], steps[-1], ts, steps[1:-1])]
    ys = jax.jit(saved)(*arguments)
    value, gradients = jax.jit(jax.value_and_grad(loss, argnums=tuple(range(6))))(*arguments)
    check_gradient(loss, arguments, gradients, set(kinks))
    every = jax.jit(lambda *a: solve(SOLVERS[solver], forcing, *a, saveat=diffrax.SaveAt(steps=True)).ys)(*arguments)
    taken = len(steps) - 1
    assert np.isfinite(every[:taken]).all() and np.array_equal(every[taken - 1], ys[-1])
    w.case(
        name, {"solver": solver}, forcing=np.float64(forcing), parameters=PARAMETERS, y0=y0, steps=steps, ts=ts,
        ys=ys[:-1], y1=ys[-1], ysteps=every[:taken], loss=value, grad_parameters=gradients[0], grad_y0=gradients[1],
        grad_t0=gradients[2], grad_t1=gradients[3], grad_ts=gradients[4], grad_interior=gradients[5],
    )  # fmt: skip


for solver in SOLVERS:
    case(f"{solver}", solver, STEPS, TS, 0.0)
    case(f"{solver}_forced", solver, STEPS, TS, 0.2)
    case(f"{solver}_backward", solver, STEPS[::-1], TS[::-1], 0.2, y0=np.array([20.0, 12.0]))
# Save times on step ends: the loss has kinks there, in the times themselves, unless the interpolant joins smoothly.
on_steps = STEPS[[3, 17, 80, 150]]
for solver in SOLVERS:
    kinks = [(4, j) for j in range(len(on_steps))] + [(5, i - 1) for i in (3, 17, 80, 150)]
    case(f"{solver}_aligned", solver, STEPS, on_steps, 0.0, kinks=kinks)
w.write()
