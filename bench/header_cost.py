#!/usr/bin/env python3
"""What including Apsis costs a user's compilation, as a ratio to a file of standard headers compiled in the same run.

usage: bench/header_cost.py [--compiler g++] [--repeats N]

Prints one line each for <apsis/apsis.hpp>, <apsis/fwd.hpp> and a user's file of three structs and five transformed
functions; fails when a ratio is over its limit. Times are the compiler's own CPU time, medians of interleaved runs. The
limits are 0.9 s, 0.05 s and 2.5 s on a core where the standard file takes STANDARD_SECONDS.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
STANDARD = "".join(f"#include <{h}>\n" for h in ("algorithm", "array", "optional", "span", "string", "tuple", "variant", "vector"))
STANDARD_SECONDS = 0.33
CASES = [
    ("apsis.hpp", "#include <apsis/apsis.hpp>\n", 0.9),
    ("fwd.hpp", "#include <apsis/fwd.hpp>\n", 0.05),
    ("user file", (pathlib.Path(__file__).parent / "header_cost_user.cpp").read_text(), 2.5),
]


def seconds(compiler, source):
    command = [compiler, "-std=c++20", "-O1", "-c", "-o", "/dev/null", f"-I{ROOT / 'include'}", "-x", "c++", "-"]
    before = os.times()
    subprocess.run(command, input=source, text=True, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    times = {name: [] for name in ["standard"] + [c[0] for c in CASES]}
    for _ in range(arguments.repeats):
        times["standard"].append(seconds(arguments.compiler, STANDARD))
        for name, source, _ in CASES:
            times[name].append(seconds(arguments.compiler, source))
    standard = statistics.median(times["standard"])
    print(f"standard headers: {standard:.3f} s")
    over = False
    for name, _, limit in CASES:
        ratio, most = statistics.median(times[name]) / standard, limit / STANDARD_SECONDS
        over |= ratio > most
        print(f"{name}: {ratio:.2f} times that, at most {most:.2f}: {'pass' if ratio <= most else 'OVER'}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
