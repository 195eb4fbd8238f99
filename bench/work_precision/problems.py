"""The problems of the work-precision diagrams, from tests/golden/problems.txt: as C++ for the compiled sides, as functions for Python's."""

import math
import pathlib
import re
import sys

TEXT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/problems.txt"
# Name of the file's case, title, what atol is relative to rtol (also the floor of relative errors), tolerances (powers of 10).
CHOSEN = [
    ("ROBER", "Robertson, t = 1e11", 1e-8, range(4, 11)),
    ("HIRES", "HIRES", 1e-4, range(3, 11)),
    ("POLLUTION", "Pollution", 1e-6, range(3, 11)),
    ("VDPOL_MU1000", "Van der Pol, mu = 1000", 1e-2, range(3, 11)),
    ("PLEIADES", "Pleiades", 1.0, range(4, 12)),
    ("LORENZ", "Lorenz, t = 16", 1.0, range(5, 13)),
]
BRUSSELATOR = ("BRUSSELATOR_1D", "Brusselator on 256 points", 1.0, range(3, 10))
POINTS, END, DIFFUSION = 256, 10.0, 0.02


class Problem:
    def __init__(self, name, title, floor, powers, fields):
        self.name, self.title, self.floor, self.rtols = name, title, floor, [10.0**-k for k in powers]
        self.rhs = [fields[k] for k in sorted((k for k in fields if re.fullmatch(r"rhs\d+", k)), key=lambda k: int(k[3:]))]
        self.aux = [fields[k] for k in sorted((k for k in fields if re.fullmatch(r"aux\d+", k)), key=lambda k: int(k[3:]))]
        self.t0, self.t1 = fields["t"]
        self.y0, self.y1, self.stiff = fields["y0"], fields["y1"], fields["kind"] == "stiff"

    def error(self, y):
        return max(abs(a - b) / (abs(b) + self.floor) for a, b in zip(y, self.y1))


def read():
    cases, fields = {}, {}
    for line in TEXT.read_text().splitlines():
        head, _, rest = line.partition(" ")
        if head == "case":
            fields = cases[rest] = {}
        elif head == "text":
            key, _, value = rest.partition(" ")
            fields[key] = value
        elif head in ("t", "y0", "y1"):
            fields[head] = [float.fromhex(x) for x in rest.split()[3:]]
    return [Problem(*chosen, cases[chosen[0]]) for chosen in CHOSEN]


def python_function(problem, stack):
    """f(t, y) of the texts, with `stack` to make a vector."""
    power = lambda e: e.replace("^", "**")
    lines = ["def f(t, y):", "    " + ", ".join(f"y{i + 1}" for i in range(len(problem.rhs))) + ", = y"]
    lines += ["    " + power(a) for a in problem.aux]
    lines += ["    return stack([" + ", ".join(power(r) for r in problem.rhs) + "])"]
    scope = {"stack": stack}
    exec("\n".join(lines), scope)
    return scope["f"]


def cpp_text(expression):
    """Powers become products and roots, integers floating."""
    text = expression
    while "^" in text:
        at = text.index("^")
        start = at
        if text[at - 1] == ")":
            depth = 0
            while True:
                start -= 1
                depth += {")": 1, "(": -1}.get(text[start], 0)
                if depth == 0:
                    break
        else:
            while start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_"):
                start -= 1
        exponent = re.match(r"[0-9.]+", text[at + 1 :]).group()
        function = {"2": "square", "1.5": "three_halves"}[exponent]
        text = f"{text[:start]}{function}({text[start:at]}){text[at + 1 + len(exponent):]}"
    return re.sub(r"(?<![\w.])(\d+)(?![\w.])", r"\1.", text)


def cpp_header(problems):
    out = ["// Written by problems.py.", "#pragma once", "#include <vector>"]
    for p in problems:
        n = len(p.rhs)
        out += [f"struct {p.name} {{", f"  static constexpr int n = {n};", f"  static constexpr bool stiff = {str(p.stiff).lower()};"]
        out += [f'  static constexpr const char* name = "{p.name}";', f"  static constexpr double t0 = {p.t0!r}, t1 = {p.t1!r}, floor = {p.floor!r};"]
        out += [f"  static std::vector<double> y0() {{ return {{{', '.join(repr(float(v)) for v in p.y0)}}}; }}"]
        out += [f"  static std::vector<double> rtols() {{ return {{{', '.join(repr(r) for r in p.rtols)}}}; }}"]
        out += ["  template <class T>", "  static void slope(const T* y, T* dy) {"]
        out += ["    [[maybe_unused]] const T " + ", ".join(f"&y{i + 1} = y[{i}]" for i in range(n)) + ";"]
        out += [f"    const T {cpp_text(a)};" for a in p.aux]
        out += [f"    dy[{i}] = {cpp_text(r)};" for i, r in enumerate(p.rhs)]
        out += ["  }", "};"]
    out += [f"using Problems = List<{', '.join(p.name for p in problems)}>;"]
    return "\n".join(out) + "\n"


def brusselator(module):
    """u' = 1 + u² v - 4 u + a u'', v' = 3 u - u² v + a v'' on (0, 1), u = 1 and v = 3 at the ends (Hairer, Wanner, IV.8); u and v by turns."""
    factor = DIFFUSION * (POINTS + 1) ** 2

    def f(t, y):
        u, v = y[0::2], y[1::2]
        pad = lambda x, edge: module.concatenate([module.array([edge]), x, module.array([edge])])
        second = lambda x: x[:-2] - 2 * x[1:-1] + x[2:]
        du = 1 + u * u * v - 4 * u + factor * second(pad(u, 1.0))
        dv = 3 * u - u * u * v + factor * second(pad(v, 3.0))
        return module.stack([du, dv], 1).reshape(-1)

    y0 = []
    for i in range(1, POINTS + 1):
        y0 += [1 + math.sin(2 * math.pi * i / (POINTS + 1)), 3.0]
    return f, y0


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_text(cpp_header(read()))
