#!/usr/bin/env python3
"""Runs the array programs of Apsis and JAX one after the other; prints the slowest first and the mean.

usage: bench/arrays.py [--build DIR] [--threads one|all] [--only REGEX] [--rounds N]

The ratio is JAX's time over Apsis' time, each the least of the rounds. Answers are compared, f32 to 1e-3 and f64 to 1e-8 of the largest.
Of a run of all programs, the rows arrays/geomean and arrays/worst are written to build/bench.json.
"""

import argparse
import json
import math
import os
import pathlib
import sys

import run


def far(a, b, tolerance):
    largest = max([1.0] + [abs(v) for v in b if math.isfinite(v)])
    return any(not abs(x - y) <= tolerance * largest for x, y in zip(a, b)) or len(a) != len(b)


def write_rows(path, threads, mean, worst):
    """The two rows, in the place of those that were there."""
    rows = json.loads(path.read_text()) if path.exists() else []
    mine = {f"arrays/{name}" + ("@all" if threads == "all" else ""): ratio for name, ratio in (("geomean", mean), ("worst", worst))}
    rows = [row for row in rows if row["name"] not in mine]
    rows += [{"name": name, "unit": "ratio", "apsis": None, "peer": None, "peer_name": "jax", "ratio": ratio, "limit": None,
              "limit_ratio": None} for name, ratio in mine.items()]  # fmt: skip
    path.write_text(json.dumps(rows, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", type=pathlib.Path)
    parser.add_argument("--threads", default="one", choices=("one", "all"))
    parser.add_argument("--only", default="", help="rows whose names match, such as 'gather.*1e5'")
    parser.add_argument("--rounds", default=1, type=int)
    options = parser.parse_args()
    session = run.Session(options.build, sys.stderr)
    os.environ["BENCH_ONLY"] = options.only
    for k in range(options.rounds):
        session.round(run.Group("arrays", "arrays.py", []), options.threads, k % 2 == 0)
    rows = []
    for (side, name, threads), mine in session.last.items():
        theirs = session.last.get(("peer", name, threads))
        if side != "apsis" or not theirs:
            continue
        if far(mine["answer"], theirs["answer"], 1e-3 if "/f32" in name else 1e-8):
            session.failures.append(f"{name}: {mine['answer']} and {theirs['answer']}")
        ours, peers = (min(session.values[of, name, threads]) for of in ("apsis", "peer"))
        rows.append((peers / ours, name, ours, peers))
    for ratio, name, mine, theirs in sorted(rows):
        print(f"{ratio:7.2f}  {name:40} apsis {mine:12.1f} us   jax {theirs:12.1f} us")
    if rows:
        mean = math.exp(sum(math.log(row[0]) for row in rows) / len(rows))
        behind = sum(row[0] < 0.95 for row in rows)
        print(f"{len(rows)} programs, geometric mean {mean:.2f}, {behind} below 0.95, worst {min(rows)[0]:.2f}")
        if not options.only:
            write_rows(options.build / "bench.json", options.threads, mean, min(rows)[0])
    for failure in session.failures:
        print("FAILED", failure)
    return 1 if session.failures or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
