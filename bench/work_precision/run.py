"""Work-precision diagrams: each side's time of a warm solve against the error at the end, in one run, side by side.

    bench/work_precision/build.sh            # odeint and CVODE, from Debian's packages; see there
    build/peers/bin/python bench/work_precision/run.py [--rounds 2] [--sides apsis cvode odeint diffrax scipy]

Writes build/work_precision.json and docs/pictures/work_precision.png. Sides run by turns, on one core each; of rounds the least time counts.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import scipy.integrate

import problems

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLORS = {"Apsis": "#d55e00", "CVODE": "#0072b2", "odeint": "#009e73", "Diffrax": "#cc79a7", "SciPy": "#7f7f7f"}
MARKS = "osv^D"


def commands(build):
    here = pathlib.Path(__file__).parent
    yield "apsis", [str(build / "bench/bench_work_precision")]
    yield "cvode", [str(build / "work_precision/cvode")]
    yield "odeint", [str(build / "work_precision/odeint")]
    yield "diffrax", [sys.executable, str(here / "peers.py"), "diffrax"]
    yield "scipy", [sys.executable, str(here / "peers.py"), "scipy"]


def measure(options):
    best = {}
    environment = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", JAX_PLATFORMS="cpu")
    for turn in range(options.rounds):
        for side, command in commands(options.build):
            if options.sides and side not in options.sides:
                continue
            pinned = ["taskset", "-c", str(options.core)] + command
            out = subprocess.run(pinned, env=environment, capture_output=True, text=True)
            sys.stderr.write(out.stderr)
            for line in out.stdout.splitlines():
                row = json.loads(line)
                key = (row["problem"], row["side"], row["rtol"])
                if key not in best or row["seconds"] < best[key]["seconds"]:
                    best[key] = row
            print(f"round {turn + 1}: {side} done", flush=True)
    return list(best.values())


def references():
    errors = {p.name: (p.title, p.error) for p in problems.read()}
    f, y0 = problems.brusselator(np)
    end = scipy.integrate.solve_ivp(f, (0, problems.END), y0, "DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    errors[problems.BRUSSELATOR[0]] = (problems.BRUSSELATOR[1], lambda y: float(np.max(np.abs(y - end) / (1 + np.abs(end)))))
    return errors


def draw(rows, errors, path):
    figure, axes = plt.subplots(4, 2, figsize=(16, 18))
    for axis, (name, (title, _)) in zip(axes.flat, errors.items()):
        marks = {}
        for side in sorted({r["side"] for r in rows if r["problem"] == name}):
            points = sorted((r for r in rows if r["problem"] == name and r["side"] == side), key=lambda r: -r["rtol"])
            points = [p for p in points if np.isfinite(p["error"]) and 0 < p["error"] < 1]
            family = side.split()[0]
            mark = MARKS[marks.setdefault(family, 0)]
            marks[family] += 1
            axis.loglog([p["error"] for p in points], [1e3 * p["seconds"] for p in points], marker=mark, markersize=5,
                        color=COLORS[family], label=side, linewidth=2 if family == "Apsis" else 1)  # fmt: skip
        axis.invert_xaxis()
        axis.set_title(title)
        axis.set_xlabel("error at the end")
        axis.set_ylabel("time of a solve (ms)")
        axis.grid(True, alpha=0.3)
        axis.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    for axis in axes.flat[len(errors):]:
        axis.axis("off")
    figure.tight_layout()
    figure.savefig(path, dpi=80)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--sides", nargs="*", help="only these; what was measured of others before stays")
    parser.add_argument("--picture", type=pathlib.Path, default=ROOT / "docs/pictures/work_precision.png")
    parser.add_argument("--draw-only", action="store_true")
    options = parser.parse_args()
    kept = options.build / "work_precision.json"
    rows = json.loads(kept.read_text()) if kept.exists() and (options.draw_only or options.sides) else []
    if not options.draw_only:
        fresh = measure(options)
        sides = {r["side"] for r in fresh}
        rows = [r for r in rows if r["side"] not in sides] + fresh
    errors = references()
    for row in rows:
        row["error"] = errors[row["problem"]][1](np.array(row["y"]))
    kept.write_text(json.dumps(rows))
    draw(rows, errors, options.picture)


main()
