#!/usr/bin/env python3
"""Writes a page of docs, such as docs/benchmarks.md, and its picture from what `make bench` measured.

usage: bench/page.py [--json build/bench.json] [--arrays FILE] [--page NAME] [--title TEXT] [--machine TEXT] [--rounds N]

FILE holds what `bench/arrays.py` printed. Every row that was measured is on the page, those behind included.
"""

import argparse
import json
import math
import pathlib
import re

import run

ROOT = pathlib.Path(__file__).resolve().parent.parent
GROUPS = {
    "call": "Calls", "first-call": "First calls", "while": "Loops", "scan": "Loops", "lorenz": "Differential equations",
    "neural-ode": "Differential equations", "sde": "Stochastic equations", "train": "Training", "elementwise": "Arrays",
    "arrays": "Arrays", "fft": "Arrays", "complex": "Arrays", "products": "Arrays", "conv": "Arrays", "ops": "Arrays",
    "linalg": "Solving", "fit": "Solving", "sparse": "Solving", "robertson": "Stiff equations", "pollution": "Stiff equations",
    "brusselator": "Stiff equations", "pleiades": "Differential equations", "cde": "Stochastic equations",
}  # fmt: skip
FIRST_RATIO, LAST_RATIO = 0.1, 1000


def measured(rows):
    """The rows by their headings, each with what it is and the peer's goal."""
    known = run.read_rows()
    headings = {}
    for row in rows:
        if not row["ratio"] or not row["apsis"] or row["name"] in run.WORST_OF or row["name"].endswith("@all"):
            continue
        heading = GROUPS.get(row["name"].split("/")[0], "Others")
        headings.setdefault(heading, []).append(row | {"work": known[row["name"]]["work"]})
    return headings


def quantity(value, unit):
    """A value with three digits: 53.1 ns, 1.20 ms."""
    head, _, tail = unit.partition("/")
    steps = ["ns", "us", "ms", "s"]
    if head in steps:
        place = steps.index(head)
        while value >= 1000 and place < 3:
            value, place = value / 1000, place + 1
        head = {"us": "µs"}.get(steps[place], steps[place])
    digits = max(0, 2 - math.floor(math.log10(value))) if value > 0 else 0
    return f"{value:.{digits}f} {head}" + (f" {'an' if tail[0] in 'aeiou' else 'a'} {tail}" if tail else "")


def table(rows):
    lines = ["| | Apsis | | peer | ratio |", "|---|---|---|---|---|"]
    for row in rows:
        peer = row["peer_name"].replace(".filter_jit", "").replace(".jit", "").title().replace("Jax", "JAX")
        ratio = f"{row['ratio']:.{max(0, min(2, 1 - math.floor(math.log10(row['ratio']))))}f}"
        behind = f"**{ratio}**" if row["ratio"] < 1 else ratio
        lines.append(f"| `{row['name']}` | {quantity(row['apsis'], row['unit'])} | {peer} | {quantity(row['peer'], row['unit'])} | {behind} |")
    return "\n".join(lines)


def picture(headings):
    """Bars of ratios on a logarithmic axis, drawn from 1."""
    rows = [row for group in headings.values() for row in group]
    left, width, step, top = 230, 560, 20, 34
    scale = width / math.log10(LAST_RATIO / FIRST_RATIO)
    place = lambda ratio: left + scale * math.log10(min(max(ratio, FIRST_RATIO), LAST_RATIO) / FIRST_RATIO)
    height = top + step * (len(rows) + len(headings)) + 14
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 70} {height}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="#ffffff"/>']  # fmt: skip
    for tick in (0.1, 1, 10, 100, 1000):
        x = place(tick)
        out.append(f'<line x1="{x:.1f}" y1="{top - 6}" x2="{x:.1f}" y2="{height - 8}" stroke="{"#444444" if tick == 1 else "#d8d8d8"}"/>')
        out.append(f'<text x="{x:.1f}" y="{top - 12}" text-anchor="middle" fill="#444444">{tick:g}×</text>')
    y = top
    for heading, group in headings.items():
        y += step
        out.append(f'<text x="8" y="{y - 5}" font-weight="bold" fill="#222222">{heading}</text>')
        for row in group:
            y += step
            a, b = sorted((place(1), place(row["ratio"])))
            colour = "#2f6db5" if row["ratio"] >= 1 else "#d9662b"
            out.append(f'<text x="{left - 8}" y="{y - 5}" text-anchor="end" fill="#222222">{row["name"]}</text>')
            out.append(f'<rect x="{a:.1f}" y="{y - 16}" width="{max(b - a, 1):.1f}" height="13" fill="{colour}"/>')
            out.append(f'<text x="{max(a, b) + 5:.1f}" y="{y - 5}" fill="#222222">{row["ratio"]:.3g}</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


def of_arrays(text):
    """What bench/arrays.py printed: the means by size, and the programs that are behind."""
    rows = [(float(m[1]), m[2]) for m in re.finditer(r"^\s*([\d.]+)  (\S+)\s+apsis", text, re.M)]
    if not rows:
        return ""
    sizes = {}
    for ratio, name in rows:
        sizes.setdefault(name.split("-")[-1], []).append(ratio)
    lines = ["## Whole arrays", "",
             f"`bench/arrays.py` runs {len({name.rsplit('/', 1)[0] for _, name in rows})} programs and gradients over whole arrays against JAX, in f64 and f32 and in three sizes. "
             "The geometric means of the ratios:", "", "| elements, about | programs | mean ratio | behind JAX (below 0.95) |", "|---|---|---|---|"]  # fmt: skip
    for size, ratios in sizes.items():
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        lines.append(f"| {size} | {len(ratios)} | {mean:.1f} | {sum(r < 0.95 for r in ratios)} |")
    behind = sorted((ratio, name) for ratio, name in rows if ratio < 0.95)
    if behind:
        lines += ["", "All that are behind:", "", "| program | ratio |", "|---|---|"]
        lines += [f"| `{name.removeprefix('arrays/')}` | {ratio:.2f} |" for ratio, name in behind]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", default=ROOT / "build" / "bench.json", type=pathlib.Path)
    parser.add_argument("--arrays", type=pathlib.Path)
    parser.add_argument("--page", default="benchmarks")
    parser.add_argument("--title", default="Benchmarks")
    parser.add_argument("--machine", default="a machine of two cores with AVX-512")
    parser.add_argument("--rounds", default="three rounds")
    options = parser.parse_args()
    headings = measured(json.loads(options.json.read_text()))
    rows = [row for group in headings.values() for row in group]
    ahead = sum(row["ratio"] >= 1 for row in rows)
    text = [f"""# {options.title} {{#{options.page}}}

`make bench` measures Apsis and its peers in one session: the same work, the same tolerances, the same answers (which are compared), one thread.
What each row is, and how it is measured, stands in `bench/README.md`. These figures are of {options.machine}, medians of {options.rounds};
a ratio is the peer's time over that of Apsis, so that above 1 Apsis is ahead. It is in {ahead} of {len(rows)} rows. `bench/page.py` wrote this page.

![](pictures/{options.page}.svg)
"""]  # fmt: skip
    for heading, group in headings.items():
        text += [f"## {heading}\n", table(group) + "\n"]
    bounded = [row for row in rows if row["limit_ratio"]]
    if bounded:
        text += ["## Against code written by hand, and libraries\n",
                 "The same work in C++ with `-O3 -march=native`, with SIMD and refill where a row has lanes; products by OpenBLAS with its best "
                 "kernels, Fourier transforms by FFTW with measured plans, stiff equations by CVODE, built at `-O3`.\n",
                 "| | Apsis | bound | Apsis over it |\n|---|---|---|---|\n" + "\n".join(
                     f"| `{row['name']}` | {quantity(row['apsis'], row['unit'])} | {quantity(row['limit'], row['unit'])} | {row['limit_ratio']:.2f} |" for row in bounded) + "\n"]  # fmt: skip
    if options.arrays:
        text.append(of_arrays(options.arrays.read_text()))
    (ROOT / "docs" / f"{options.page}.md").write_text("\n".join(text))
    (ROOT / "docs" / "pictures" / f"{options.page}.svg").write_text(picture(headings))
    print(f"docs/{options.page}.md: {len(rows)} rows, {ahead} ahead")


if __name__ == "__main__":
    main()
