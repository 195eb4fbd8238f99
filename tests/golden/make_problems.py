"""Initial value problems with known ends, from a list as JSON: make_problems.py ode_problems.json

Each entry has name, dim, params, aux (named sub-expressions, in order), rhs, y0, t0, t1, y1, stiff and source.
"""

import json
import sys

import numpy as np
import records

ABOUT = """
Initial value problems with known ends: the IVP test set (Bari, CWI), DETEST and its stiff half, Hairer, Norsett and
Wanner. Slopes are texts over t, y1, y2, ... with + - * / ^ and functions; `aux` are named sub-expressions, one after the other.
Ends are those of `source`.
"""

w = records.Writer(__file__, "problems.txt", ABOUT, ("numpy",))
for p in json.load(open(sys.argv[1])):
    aux = [[name, str(value)] for name, value in p["params"].items()] + p["aux"]
    text = {"source": p["source"], "kind": "stiff" if p["stiff"] else "nonstiff"}
    text |= {f"aux{i}": f"{name} = {value}" for i, (name, value) in enumerate(aux)}
    text |= {f"rhs{i}": value for i, value in enumerate(p["rhs"])}
    numbers = lambda v: np.array([float(x) for x in v])  # noqa: E731
    w.case(p["name"], text, t=numbers([p["t0"], p["t1"]]), y0=numbers(p["y0"]), y1=numbers(p["y1"]))
w.write()
