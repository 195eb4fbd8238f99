"""Adaptive solves by Diffrax: step counts, step times and end values."""

import records
import diffrax
import jax
import jax.numpy as jnp
import numpy as np

ABOUT = """
Adaptive solves by Diffrax's PIDController: counts of accepted and rejected steps, the ends of the accepted steps
(`times`, the first 200), the state at the first 50 of them (`states`) and at t1 (`y1`).
Fields: t0, t1, y0, dt0, rtol, atol, coefficients (pcoeff, icoeff, dcoeff); the rest are the controller's defaults.
Text problem:
    decay      y' = -y
    stiff      y' = -1000 y
    oscillator y' = (y1, -y0)
    lotka      u' = 0.55 u - 0.028 u v,  v' = 0.024 u v - 0.8 v
    lorenz     sigma 10, rho 28, beta 8/3:  (sigma (y - x), x (rho - z) - y, x y - beta z)
    vanderpol  y' = (y1, mu (1 - y0^2) y1 - y0) with field mu
Text dt0: `given` (a fixed 0.01, Diffrax's fall-back) or `rule`: the initial-step rule of Hairer, Norsett and Wanner,
Solving Ordinary Differential Equations I, II.4, computed by this script with error order k = the solver's order and
the RMS norm, and given to Diffrax.
"""

SOLVERS = {"heun": diffrax.Heun(), "bosh3": diffrax.Bosh3(), "tsit5": diffrax.Tsit5(), "dopri5": diffrax.Dopri5()}


def lorenz(t, y, args):
    return jnp.stack([10.0 * (y[1] - y[0]), y[0] * (28.0 - y[2]) - y[1], y[0] * y[1] - 8.0 / 3.0 * y[2]])


def vanderpol(mu):
    return lambda t, y, args: jnp.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])


FIELDS = {
    "decay": lambda t, y, args: -y,
    "stiff": lambda t, y, args: -1000.0 * y,
    "oscillator": lambda t, y, args: jnp.stack([y[1], -y[0]]),
    "lotka": lambda t, y, args: jnp.stack([0.55 * y[0] - 0.028 * y[0] * y[1], 0.024 * y[0] * y[1] - 0.8 * y[1]]),
    "lorenz": lorenz,
}


def initial_step(f, t0, t1, y0, order, rtol, atol):
    """The starting step of Hairer, Norsett and Wanner, II.4; positive also for a backward solve."""
    direction = np.sign(t1 - t0)
    scale = atol + rtol * np.abs(y0)
    norm = lambda v: float(np.sqrt(np.mean((v / scale) ** 2)))  # noqa: E731
    f0 = direction * np.asarray(f(t0, jnp.asarray(y0), None))
    d0, d1 = norm(y0), norm(f0)
    h0 = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
    f1 = direction * np.asarray(f(t0 + direction * h0, jnp.asarray(y0 + h0 * f0), None))
    d2 = norm(f1 - f0) / h0
    h1 = max(1e-6, 1e-3 * h0) if max(d1, d2) <= 1e-15 else (0.01 / max(d1, d2)) ** (1 / order)
    return direction * min(100 * h0, h1)


w = records.Writer(__file__, "adaptive.txt", ABOUT, ("jax", "diffrax", "equinox", "numpy"))


def case(problem, solver, t0, t1, y0, rtol, atol, rule=False, coefficients=(0.0, 1.0, 0.0), mu=None):
    y0 = np.asarray(y0, dtype=float)
    f = vanderpol(mu) if problem == "vanderpol" else FIELDS[problem]
    order = SOLVERS[solver].order(diffrax.ODETerm(f))
    dt0 = initial_step(f, t0, t1, y0, order, rtol, atol) if rule else 0.01 * np.sign(t1 - t0)
    p, i, d = coefficients

    @jax.jit
    def solve(y0):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(f), SOLVERS[solver], t0, t1, dt0, y0, max_steps=16384, saveat=diffrax.SaveAt(steps=True),
            stepsize_controller=diffrax.PIDController(rtol=rtol, atol=atol, pcoeff=p, icoeff=i, dcoeff=d),
        )  # fmt: skip

    solution = solve(jnp.asarray(y0))
    n = int(solution.stats["num_accepted_steps"])
    times = np.asarray(solution.ts)[:n]
    assert np.isclose(times[-1], t1, rtol=0, atol=1e-12)
    extra = {} if mu is None else {"mu": np.float64(mu)}
    w.case(
        problem, {"solver": solver, "dt0": "rule" if rule else "given"}, t0=np.float64(t0), t1=np.float64(t1), y0=y0,
        dt0=np.float64(dt0), rtol=np.float64(rtol), atol=np.float64(atol), coefficients=np.array(coefficients),
        num_steps=np.int64(solution.stats["num_steps"]), accepted=np.int64(n),
        rejected=np.int64(solution.stats["num_rejected_steps"]), times=times[:200],
        states=np.asarray(solution.ys)[: min(n, 50)], y1=np.asarray(solution.ys)[n - 1], **extra,
    )  # fmt: skip


PI, PID = (0.4, 0.3, 0.0), (0.2, 0.4, 0.1)
for rule in (False, True):
    for t1 in (2.0, 20.0):
        case("lorenz", "tsit5", 0.0, t1, [1.0, 1.0, 1.0], 1e-8, 1e-8, rule)
    case("lorenz", "dopri5", 0.0, 2.0, [1.0, 1.0, 1.0], 1e-8, 1e-8, rule)
    for solver, tolerance in (("heun", 1e-3), ("bosh3", 1e-5), ("tsit5", 1e-6), ("dopri5", 1e-6)):
        case("decay", solver, 0.0, 5.0, [1.0, 0.5], tolerance, tolerance, rule)
        case("oscillator", solver, 0.0, 10.0, [1.0, 0.0], tolerance, tolerance * 1e-3, rule)
        case("lotka", solver, 0.0, 20.0, [34.0, 5.9], tolerance, tolerance, rule)
        case("lotka", solver, 20.0, 0.0, [20.0, 12.0], tolerance, tolerance, rule)
        case("vanderpol", solver, 0.0, 10.0, [2.0, 0.0], tolerance, tolerance, rule, mu=1.0)
        case("vanderpol", solver, 0.0, 10.0, [2.0, 0.0], tolerance, tolerance, rule, mu=20.0)
    case("stiff", "tsit5", 0.0, 0.1, [1.0], 1e-6, 1e-6, rule)
for coefficients in (PI, PID):
    case("lorenz", "tsit5", 0.0, 2.0, [1.0, 1.0, 1.0], 1e-8, 1e-8, coefficients=coefficients)
    case("vanderpol", "tsit5", 0.0, 10.0, [2.0, 0.0], 1e-6, 1e-6, coefficients=coefficients, mu=20.0)
    case("lotka", "dopri5", 0.0, 20.0, [34.0, 5.9], 1e-6, 1e-9, coefficients=coefficients)
w.write()
