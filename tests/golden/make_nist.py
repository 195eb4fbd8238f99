#!/usr/bin/env python3
"""Writes nist.txt: the 27 nonlinear regression problems of the NIST Statistical Reference Datasets
(www.itl.nist.gov/div898/strd, a work of the US Government, in the public domain).

usage: make_nist.py FOLDER > nist.txt

FOLDER holds certified.json (starts, certified values and their standard deviations) and a CSV for each set. Models stand in
tests/solve/nist_test.cpp, by the name of the case.
"""

import csv
import json
import pathlib
import sys


def field(key, values):
    print(key, "f64 1", len(values), *[repr(float(v)) for v in values])


def main():
    folder = pathlib.Path(sys.argv[1])
    print(f"# {__doc__.splitlines()[0]}")
    print("# (www.itl.nist.gov/div898/strd, a work of the US Government, in the public domain).")
    for name, c in sorted(json.loads((folder / "certified.json").read_text()).items()):
        lines = (folder / f"{name}.csv").read_text().splitlines()
        rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
        print("case", name)
        print("text model", c["model"])
        for column in rows[0]:
            field(column, [row[column] for row in rows])
        for key in ("start1", "start2", "certified", "certified_sd"):
            field(key, c[key])
        field("rss", [c["rss"]])


main()
