"""Python's sides: Diffrax (compiled, warm) and SciPy (slopes in NumPy)."""

import json
import sys
import time

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)
import diffrax
import jax.numpy as jnp
import scipy.integrate

import problems


def seconds_of(call):
    least, spent, count = 1e30, 0.0, 0
    while count < 2 or (spent < 0.2 and count < 1000):
        begin = time.perf_counter()
        call()
        one = time.perf_counter() - begin
        least, spent, count = min(least, one), spent + one, count + 1
        if spent > 20:
            break
    return least


def tell(problem, side, rtol, seconds, y):
    print(json.dumps({"problem": problem, "side": side, "rtol": rtol, "seconds": seconds, "y": np.asarray(y).tolist()}), flush=True)


def by_diffrax(name, side, solver, f, y0, t0, t1, floor, rtols):
    @jax.jit
    def end(y, rtol):
        sol = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, args: f(t, y)), solver, t0, t1, None, y, max_steps=30_000, throw=False,
            stepsize_controller=diffrax.PIDController(rtol=rtol, atol=rtol * floor), adjoint=diffrax.ForwardMode(),
        )  # fmt: skip
        return sol.ys[-1], sol.result == diffrax.RESULTS.successful

    for rtol in rtols:
        y, reached = jax.block_until_ready(end(y0, rtol))
        if not reached:
            print(name, side, rtol, "did not reach the end in 30,000 steps", file=sys.stderr)
            continue
        tell(name, side, rtol, seconds_of(lambda: jax.block_until_ready(end(y0, rtol))), y)


def by_scipy(name, method, f, y0, t0, t1, floor, rtols, **more):
    for rtol in rtols:
        solve = lambda: scipy.integrate.solve_ivp(f, (t0, t1), y0, method, t_eval=[t1], rtol=rtol, atol=rtol * floor, **more)
        tell(name, "SciPy " + method, rtol, seconds_of(solve), solve().y[:, -1])


def main(sides):
    for p in problems.read():
        args = (p.t0, p.t1, p.floor, p.rtols)
        if "scipy" in sides:
            f = problems.python_function(p, np.array)
            for method in ("BDF", "Radau") if p.stiff else ("RK45", "DOP853"):
                by_scipy(p.name, method, f, p.y0, *args)
        if "diffrax" in sides:
            f = problems.python_function(p, jnp.stack)
            chosen = [("Diffrax Kvaerno5", diffrax.Kvaerno5())] if p.stiff else [("Diffrax Tsit5", diffrax.Tsit5()), ("Diffrax Dopri8", diffrax.Dopri8())]
            for side, solver in chosen:
                # Its Newton iterations give up after the second (version 0.7), so that at loose tolerances steps are refused over and over.
                by_diffrax(p.name, side, solver, f, jnp.asarray(p.y0), *args)
    name, _, floor, powers = problems.BRUSSELATOR
    rtols = [10.0**-k for k in powers]
    if "scipy" in sides:
        f, y0 = problems.brusselator(np)
        by_scipy(name, "LSODA", f, y0, 0.0, problems.END, floor, rtols, lband=2, uband=2)
    if "diffrax" in sides:
        f, y0 = problems.brusselator(jnp)
        by_diffrax(name, "Diffrax Tsit5", diffrax.Tsit5(), f, jnp.asarray(y0), 0.0, problems.END, floor, rtols)


main(sys.argv[1:])
