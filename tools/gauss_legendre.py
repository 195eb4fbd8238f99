"""Prints src/array/gauss_legendre.hpp's nodes and weights on [0, 1], of the rule in the root of the variable. Run:
python3 tools/gauss_legendre.py [n]"""
import sys
from mpmath import cos, legendre, mp, mpf, pi


def rule(n):
    """Half of the nodes on [-1, 1] with their weights; the others are their negatives. By Newton's method."""
    slope = lambda x: n * (x * legendre(n, x) - legendre(n - 1, x)) / (x * x - 1)  # noqa: E731
    found = []
    for k in range(1, n // 2 + 1):
        x = cos(pi * (k - mpf(1) / 4) / (n + mpf(1) / 2))
        for _ in range(8):
            x -= legendre(n, x) / slope(x)
        found.append((x, 2 / ((1 - x * x) * slope(x) ** 2)))
    return found


if __name__ == "__main__":
    mp.dps = 40
    half = rule(int(sys.argv[1]) if len(sys.argv) > 1 else 36)
    on_unit = [((1 - x) / 2, w / 2) for x, w in half] + [((1 + x) / 2, w / 2) for x, w in reversed(half)]
    for name, values in (("nodes", [t * t for t, _ in on_unit]), ("weights", [2 * t * w for t, w in on_unit])):
        print(f"constexpr double {name}[] = {{" + ", ".join(float(v).hex() for v in values) + "};")
