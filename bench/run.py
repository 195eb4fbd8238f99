#!/usr/bin/env python3
"""Measures Apsis, its peers and the hand-written limits in one session; prints the table, writes bench.json.

usage: bench/run.py [--build DIR] [--only REGEX] [--rounds N] [--threads one|all|both] [--check]

Both sides of a row run one after the other, in processes of their own, again in every round and in alternating order;
the figures are medians over the rounds. What each row is stands in bench/README.md, the protocol of the processes too.
"""

import argparse
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


class Group:
    """Rows that are measured by one process a side: `bench_apsis NAME`, `peers/SCRIPT NAME`, and the limits."""

    def __init__(self, name, script, rows, limits=()):
        self.name, self.script, self.rows, self.limits = name, script, rows, limits


GROUPS = [
    Group("call", "call.py", ["call/jit-add", "call/mlp-struct", "call/leaves-100"]),
    Group("chains", "first_call.py", [f"first-call/chain-{n}" for n in (10, 100, 1000)]),
    Group("chain-5000", "first_call.py", ["first-call/chain-5000"]),
    Group("cold-process", "first_call.py", ["first-call/cold-process"]),
    Group("second-process", "first_call.py", ["first-call/second-process"]),
    Group("loops", "loops.py", ["while/scalar", "scan/vec4", "scan/grad-60-leaves"], ["while_scalar"]),
    Group("lorenz-first", "lorenz.py", ["lorenz/first-call"]),
    Group("lorenz", "lorenz.py", ["lorenz/step", "lorenz/grad"], ["lorenz_scalar"]),
    Group("ensemble", "lorenz.py", ["lorenz/ensemble", "lorenz/ensemble-tuned"], ["lorenz_simd"]),
    Group("straggler", "lorenz.py", ["lorenz/ensemble-straggler"]),
    Group("lorenz-grad-first", "lorenz.py", ["lorenz/grad-first-call"]),
    Group("ensemble-grad", "lorenz.py", ["lorenz/ensemble-grad"]),
    Group("neural-ode", "neural_ode.py", ["neural-ode/step", "neural-ode/step-lanes", "neural-ode/step-lockstep"]),
    Group("neural-ode-first", "neural_ode.py", ["neural-ode/first-call"]),
    Group("train", "train.py", ["train/mlp", "train/conv", "train/transformer", "train/gru"]),
    Group("train-first", "train.py", ["train/mlp-first-call", "train/conv-first-call", "train/transformer-first-call",
                                      "train/gru-first-call", "train/first-call"]),
    Group("elementwise", "elementwise.py", [f"elementwise/f32-{n}" for n in ("1e4", "1e6", "1e7")], ["elementwise"]),
    Group("array-programs", "array_programs.py",
          [f"arrays/{name}" for name in ("layer-f64", "layer-f32", "layer-batch", "gather-forward", "gather-backward",
                                         "gather", "searchsorted", "lstm-grad", "gmm-grad", "ba-jacobian", "mlp-grad")]),
    Group("products", "products.py", [f"products/{name}" for name in ("f32-16", "f32-64", "f32-256", "f32-1024", "f64-1024")],
          ["products"]),
    Group("fft", "fft.py", ["fft/1024", "fft/64-batch", "fft/65536"], limits=["fft"]),
    Group("conv", "conv.py", ["conv/resnet", "conv/depthwise"], ["conv"]),
    Group("ops", "array_ops.py", ["ops/sort", "ops/softmax", "ops/segment-sum", "ops/random-gamma"]),
    Group("shared", "first_call.py", ["first-call/shared-30"]),
    Group(
        "linalg",
        "linalg.py",
        ["linalg/solve-3x3", "linalg/cholesky-6x6", "linalg/cholesky-8x8", "linalg/solve-1024"],
    ),
    Group("noise", "noise.py", ["sde/gbm-tree", "sde/gbm-unsafe", "sde/gbm-scan", "sde/heston-greeks"]),
    Group("brusselator", "brusselator.py", ["brusselator/banded", "brusselator/2d"], ["cvode"]),
    Group("robertson", "stiff.py", ["robertson/solve"], ["cvode"]),
    Group("robertson-first", "stiff.py", ["robertson/first-call"]),
    Group("robertson-ensemble", "stiff.py", ["robertson/ensemble"], ["cvode"]),
    Group("pollution", "stiff.py", ["pollution/solve"], ["cvode"]),
    Group("pleiades", "stars.py", ["pleiades/step"]),
    Group("levenberg", "fits.py", ["fit/levenberg"]),
    Group("sparse", "sparse.py", ["sparse/jacobian"]),
    Group("sparse-first", "sparse.py", ["sparse/first-call"]),
    Group("cde", "cde.py", ["cde/spiral-step"]),
    Group("complex", "complex.py", ["complex/mandelbrot", "complex/exp-product"]),
]
# Rows that are the one of others with the least ratio.
WORST_OF = {"train/first-call": [f"train/{model}-first-call" for model in ("mlp", "conv", "transformer", "gru")],
            "arrays/layer-batch": ["arrays/layer-f64", "arrays/layer-f32"],
            "arrays/gather": ["arrays/gather-forward", "arrays/gather-backward"]}
UNKNOWN_GROUP = 3  # exit status of bench_apsis for a group it does not have yet


def read_rows():
    lines = [line.rstrip("\n").split("\t") for line in open(HERE / "rows.tsv")]
    names = lines[[line[0] for line in lines].index("# name")]
    names[0] = "name"
    return {line[0]: dict(zip(names, line)) for line in lines if not line[0].startswith("#")}


class Session:
    def __init__(self, build, log):
        self.build, self.log = build, log
        self.values = {}  # (side, row, threads) -> values, one a round
        self.last = {}  # (side, row, threads) -> the line last printed
        self.failures = []
        cores = sorted(os.sched_getaffinity(0))
        # The last core: the first one tends to serve interrupts.
        self.cores = {"one": {cores[-1]}, "all": set(cores)}

    def execute(self, side, command, threads, cache=None, warm=False):
        env = dict(os.environ, BENCH_THREADS=threads)
        # Set on some machines to force slower kernels on every user of OpenBLAS; neither side is to suffer it.
        # Nor is Apsis to find programs that the user kept.
        for variable in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "APSIS_DISK_CACHE"):
            env.pop(variable, None)
        if cache:
            env["BENCH_CACHE"] = cache
        if warm:
            env["BENCH_WARM"] = "1"
        env["BENCH_SPAWNED_NS"] = str(time.monotonic_ns())
        cores = self.cores[threads]
        done = subprocess.run([str(c) for c in command], env=env, capture_output=True, text=True,
                              preexec_fn=lambda: os.sched_setaffinity(0, cores))  # fmt: skip
        if done.returncode == UNKNOWN_GROUP and side == "apsis":
            return []
        if done.returncode != 0:
            self.failures.append(f"{' '.join(str(c) for c in command[-2:])}: {done.stderr.strip().splitlines()[-1:] or done.returncode}")
            return []
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    def measure(self, side, group, command, threads):
        if group.name == "second-process":
            with tempfile.TemporaryDirectory() as cache:
                self.execute(side, command, threads, cache)
                lines = self.execute(side, command, threads, cache, warm=True)
        else:
            lines = self.execute(side, command, threads)
        for line in lines:
            key = (side, line["name"], threads)
            self.values.setdefault(key, []).append(line["value"])
            self.last[key] = line

    def round(self, group, threads, apsis_first):
        peer = [self.build / "peers" / "bin" / "python", HERE / "peers" / group.script, group.name]
        apsis = [self.build / "bench" / "bench_apsis", group.name]
        sides = [("peer", peer)]
        if apsis[0].exists():
            sides.insert(0 if apsis_first else 1, ("apsis", apsis))
        if threads == "one":
            limits = [self.build / "bench" / f"limit_{name}" for name in group.limits]
            sides += [("limit", [limit, group.name]) for limit in limits if limit.exists()]  # some need a package
        for side, command in sides:
            print(f"  {group.name}: {side}{'@all' if threads == 'all' else ''}", file=self.log, flush=True)
            self.measure(side, group, command, threads)

    def value(self, side, row, threads):
        values = self.values.get((side, row, threads))
        return statistics.median(values) if values else None


def differences(a, b, rtol):
    """The first place where two answers disagree, or None."""
    if len(a) != len(b):
        return f"{len(a)} values against {len(b)}"
    for i, (x, y) in enumerate(zip(a, b)):
        if not abs(x - y) <= rtol * abs(y) + (1e-9 if rtol else 0):
            return f"value {i}: {x!r} against {y!r}"
    return None


def figures(session, rows, name, threads):
    if name in WORST_OF:
        parts = [figures(session, rows, part, threads) for part in WORST_OF[name]]
        if any(part is None or part["ratio"] is None for part in parts):
            return None
        return min(parts, key=lambda part: part["ratio"]) | {"name": name + ("@all" if threads == "all" else "")}
    row = rows[name]
    apsis, peer, limit = (session.value(side, row["name"], threads) for side in ("apsis", "peer", "limit"))
    lines = {side: session.last.get((side, row["name"], threads)) for side in ("apsis", "peer", "limit")}
    if limit is None and lines["apsis"]:
        limit = lines["apsis"].get("limit")
    if not any(lines.values()):
        return None
    for side in ("apsis", "limit"):
        if lines[side] and lines["peer"]:
            difference = differences(lines[side]["answer"], lines["peer"]["answer"], float(row["rtol"]))
            if difference:
                session.failures.append(f"{row['name']}: {side} and peer disagree ({threads}): {difference}")
    return {
        "name": row["name"] + ("@all" if threads == "all" else ""),
        "unit": next(line["unit"] for line in lines.values() if line),
        "apsis": apsis,
        "peer": peer,
        "peer_name": lines["peer"]["peer_name"] if lines["peer"] else row["peer"],
        "ratio": peer / apsis if peer and apsis else None,
        "limit": limit,
        "limit_ratio": apsis / limit if apsis and limit else None,
    }


def number(v):
    if v is None:
        return "-"
    digits = 3 - math.floor(math.log10(abs(v))) if v else 3
    return f"{v:.{max(0, min(digits, 4))}f}"


def verdict(row, figure):
    if figure["ratio"] is None:
        return "not measured"
    met = [figure["ratio"] >= float(row["goal"])] if row["goal"] else []
    if row["limit_goal"] and figure["limit_ratio"] is not None:
        met.append(figure["limit_ratio"] <= float(row["limit_goal"]))
    return "pass" if all(met) else "SHORT"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", type=pathlib.Path)
    parser.add_argument("--only", default="", help="measure the groups that have a row matching this expression")
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--threads", default="both", choices=("one", "all", "both"))
    parser.add_argument("--check", action="store_true", help="exit with 1 when a measured row is short of its goal")
    arguments = parser.parse_args()
    rows = read_rows()
    groups = [g for g in GROUPS if any(re.search(arguments.only, name) for name in g.rows)]
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"the machine is busy (load {load:.1f}): the figures will be noisy", file=sys.stderr)
    session = Session(arguments.build.resolve(), sys.stderr)
    modes = ["one", "all"] if arguments.threads == "both" else [arguments.threads]
    for k in range(arguments.rounds):
        print(f"round {k + 1} of {arguments.rounds}", file=sys.stderr, flush=True)
        for group in groups:
            for threads in modes:
                session.round(group, threads, apsis_first=k % 2 == 0)

    results, short = [], False
    head = ("row", "unit", "apsis", "peer", "ratio", "goal", "bound", "x bound", "goal", "", "due with")
    table = [head]
    for threads in modes:
        for name in (n for g in groups for n in g.rows):
            figure = figures(session, rows, name, threads)
            if figure is None:
                continue
            results.append(figure)
            says = verdict(rows[name], figure)
            short |= says == "SHORT"
            table.append((figure["name"], figure["unit"], number(figure["apsis"]), number(figure["peer"]), number(figure["ratio"]),
                          rows[name]["goal"], number(figure["limit"]), number(figure["limit_ratio"]), rows[name]["limit_goal"] or "-",
                          says, rows[name]["issue"]))  # fmt: skip
    widths = [max(len(line[i]) for line in table) for i in range(len(head))]
    for line in table:
        print("  ".join(c.ljust(w) if i in (0, 1, 9, 10) else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))).rstrip())
    path = arguments.build / "bench.json"
    path.write_text(json.dumps(results, indent=1) + "\n")
    print(f"\nratio: peer time / Apsis time; x bound: Apsis time / hand-written bound. Written to {path}")
    for failure in dict.fromkeys(session.failures):
        print(f"FAILED: {failure}")
    return 1 if session.failures or (arguments.check and short) else 0


if __name__ == "__main__":
    sys.exit(main())
