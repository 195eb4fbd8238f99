"""Initial value problems with known ends, from a list as JSON: make_problems.py ode_problems.json

Each entry has name, dim, params, aux (named sub-expressions, in order), rhs, y0, t0, t1, y1, stiff and source.
"""

import json
import sys

import records
import diffrax
import jax
import jax.numpy as jnp
import numpy as np

ABOUT = """
Initial value problems with known ends: the IVP test set (Bari, CWI), DETEST and its stiff half, Hairer, Norsett and
Wanner. Slopes are texts over t, y1, y2, ... with + - * / ^ and functions; `aux` are named sub-expressions, one after the other.
Ends are those of `source`.

Those that are not stiff were also solved by Diffrax's PIDController from the first step dt0, with atol = rtol / 1000. By solver: `rtols`,
accepted and rejected steps at each (`counts`), and the errors at t1, the greatest |y - y1| (`errors`): what a method of that kind makes
of that problem, some of which enlarge errors a thousand times.
"""

SOLVERS = {
    "bosh3": (diffrax.Bosh3(), (1e-4, 1e-6)),
    "tsit5": (diffrax.Tsit5(), (1e-4, 1e-6, 1e-8)),
    "dopri5": (diffrax.Dopri5(), (1e-4, 1e-6, 1e-8)),
    "dopri8": (diffrax.Dopri8(), (1e-6, 1e-8, 1e-10)),
}
FUNCTIONS = {
    "sin": jnp.sin, "cos": jnp.cos, "exp": jnp.exp, "sqrt": jnp.sqrt, "abs": jnp.abs, "floor": jnp.floor,
    "mod": lambda x, m: x - m * jnp.floor(x / m), "cbrt_signed": jnp.cbrt,
}  # fmt: skip

w = records.Writer(__file__, "problems.txt", ABOUT, ("numpy", "jax", "diffrax"))


def field_of(aux, rhs):
    def compiled(text):
        return compile(text.replace("^", "**"), text, "eval")

    sub, slopes = [(name, compiled(value)) for name, value in aux], [compiled(value) for value in rhs]

    def field(t, y, args):
        names = {**FUNCTIONS, "t": t, **{f"y{i + 1}": y[i] for i in range(len(rhs))}}
        for name, code in sub:
            names[name] = eval(code, names)
        return jnp.stack([eval(code, names) + 0.0 * y[i] for i, code in enumerate(slopes)])

    return field


def solved(field, solver, rtols, t, dt0, y0, y1):
    @jax.jit
    def solve(rtol):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(field), solver, t[0], t[1], dt0, y0, max_steps=200_000,
            stepsize_controller=diffrax.PIDController(rtol=rtol, atol=1e-3 * rtol),
        )  # fmt: skip

    counts, errors = [], []
    for rtol in rtols:
        sol = solve(rtol)
        counts.append([sol.stats["num_accepted_steps"], sol.stats["num_rejected_steps"]])
        errors.append(np.max(np.abs(sol.ys[-1] - y1)))
    return np.array(counts, dtype=np.int64), np.array(errors)


for p in json.load(open(sys.argv[1])):
    aux = [[name, str(value)] for name, value in p["params"].items()] + p["aux"]
    text = {"source": p["source"], "kind": "stiff" if p["stiff"] else "nonstiff"}
    text |= {f"aux{i}": f"{name} = {value}" for i, (name, value) in enumerate(aux)}
    text |= {f"rhs{i}": value for i, value in enumerate(p["rhs"])}
    numbers = lambda v: np.array([float(x) for x in v])  # noqa: E731
    t, y0, y1 = numbers([p["t0"], p["t1"]]), numbers(p["y0"]), numbers(p["y1"])
    more = {}
    if not p["stiff"]:
        dt0 = 1e-4 * (t[1] - t[0])
        more["dt0"] = np.float64(dt0)
        for name, (solver, rtols) in SOLVERS.items():
            counts, errors = solved(field_of(aux, p["rhs"]), solver, rtols, t, dt0, y0, y1)
            more |= {f"{name}_rtols": np.array(rtols), f"{name}_counts": counts, f"{name}_errors": errors}
        print(p["name"], *more["tsit5_counts"].ravel(), flush=True)
    w.case(p["name"], text, t=t, y0=y0, y1=y1, **more)
w.write()
