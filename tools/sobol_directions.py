#!/usr/bin/env python3
"""Writes src/array/sobol_directions.inc from SciPy's copy of Joe and Kuo's direction numbers.

usage: python tools/sobol_directions.py [dimensions]
"""

import pathlib
import sys

import numpy as np
import scipy.stats

count = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
table = np.load(pathlib.Path(scipy.stats.__file__).parent / "_sobol_direction_numbers.npz")
words = []
for polynomial, numbers in zip(table["poly"][:count], table["vinit"][:count]):
    degree = max(int(polynomial).bit_length() - 1, 1)
    words += [int(polynomial), *(int(m) for m in numbers[:degree])]
    assert all(m % 2 == 1 for m in words[-degree:])
lines, line = [], ""
for word in words:
    if len(line) + len(str(word)) + 1 > 118:
        lines.append(line)
        line = ""
    line += f"{word},"
target = pathlib.Path(__file__).resolve().parent.parent / "src/array/sobol_directions.inc"
target.write_text(
    f"// Of the first {count} dimensions: the primitive polynomial, its coefficients as bits, and as many initial\n"
    '// direction numbers as its degree (one in the first dimension). S. Joe and F. Y. Kuo, "Constructing Sobol\n'
    '// sequences with better two-dimensional projections", SIAM J. Sci. Comput. 30 (2008), their set\n'
    "// new-joe-kuo-6. Made by tools/sobol_directions.py.\n" + "\n".join([*lines, line]) + "\n"
)
