"""Sobol's sequence by SciPy."""

import records
import numpy as np
from scipy.stats import qmc

ABOUT = """
Points of Sobol's sequence, not scrambled, with Joe and Kuo's direction numbers, as words of 32 bits: `points` [count,
columns] are those from number `first` on, in the dimensions `columns`.
"""

w = records.Writer(__file__, "sobol.txt", ABOUT, ("scipy", "numpy"))


def case(name, first, count, columns):
    engine = qmc.Sobol(max(columns) + 1, scramble=False, bits=32)
    if first:
        engine.fast_forward(first)
    points = engine.random(count)[:, columns] * 2.0**32
    assert (points == np.floor(points)).all()
    w.case(name, text={"first": first}, columns=np.array(columns), points=points.astype(np.uint32))


case("start", 0, 32, list(range(8)))
case("later", 1000, 8, [0, 1, 5, 20, 39])
case("far", 2**31 + 12345, 4, [0, 3, 100])
case("all", 77, 5, [0, 127, 500, 1000, 1023])
w.write()
