"""Writes golden data as plain text that a dozen lines of C++ read back exactly (golden.hpp).

A file is a list of cases:

    # comment
    case NAME
    text KEY free text to the end of the line
    KEY DTYPE RANK DIM... VALUE...

Arrays are row-major. Integers and bools are decimal, floating values are C99 hexadecimal (or nan, inf, -inf),
complex values are two floating values each.
"""

import os
import sys
import warnings

warnings.filterwarnings("ignore")  # e.g. NumPy's overflow warnings when an edge case is written down
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import jax  # noqa: E402
import numpy as np  # noqa: E402

jax.config.update("jax_enable_x64", True)

DTYPES = {
    "bool": "bool",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "bfloat16": "bf16",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "complex64": "c64",
    "complex128": "c128",
}
NUMPY_NAMES = {short: name for name, short in DTYPES.items()}


def hexed(x):
    """A double as text that reads back to the same bits."""
    x = float(x)
    if x != x:
        return "nan"
    if x in (float("inf"), float("-inf")):
        return "inf" if x > 0 else "-inf"
    return x.hex()


def values(a):
    if a.dtype == bool or a.dtype.kind in "iu":
        return [str(int(v)) for v in a.ravel()]
    if a.dtype.kind == "c":
        return [hexed(part) for v in a.ravel() for part in (v.real, v.imag)]
    return [hexed(v) for v in a.astype(np.float64).ravel()]


class Writer:
    """Collects cases and writes them next to the script."""

    def __init__(self, script, name, about, packages=("jax", "jaxlib", "numpy")):
        import importlib.metadata as metadata

        self.path = os.path.join(os.path.dirname(os.path.abspath(script)), name)
        self.lines = [f"# {line}" for line in about.strip().splitlines()]
        versions = ", ".join(f"{p} {metadata.version(p)}" for p in packages)
        self.lines.append(f"# Made by {os.path.basename(script)} with {versions}, 64-bit types enabled, on the CPU.")
        self.lines.append("# Format: records.py; reader: golden.hpp.")

    def case(self, name, /, text=None, **arrays):
        self.lines.append(f"case {name}")
        for key, value in (text or {}).items():
            self.lines.append(f"text {key} {value}")
        for key, value in arrays.items():
            self.add(key, value)

    def add(self, key, value):
        a = np.asarray(value)
        head = [key, DTYPES[a.dtype.name], str(a.ndim), *map(str, a.shape)]
        self.lines.append(" ".join(head + values(a)))

    def write(self):
        with open(self.path, "w") as f:
            f.write("\n".join(self.lines) + "\n")
        print(f"{os.path.basename(self.path)}: {len(self.lines)} lines", file=sys.stderr)
