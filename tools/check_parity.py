#!/usr/bin/env python3
"""Checks docs/parity.md: every row that JAX, Equinox and Chex users must find is there, in order and once, with our
name and its proof; and what a proof names exists. A proof names a file, `tests/room/file.cpp`, and tests of it in the
braces that follow, (`Suite.Name`, …). A row without a test says why: what is left out, or what else shows it.
"""
import re
import sys
from pathlib import Path


def numbers(letter, *ranges):
    return [f"{letter}{n}" for first, last in ranges for n in range(first, last + 1)]


# The rows that must be there. E3, E4, E44 and E46 are Python's own needs.
WANTED = (numbers("C", (1, 25)) + numbers("D", (1, 60)) +
          numbers("E", (1, 2), (5, 43), (45, 45), (47, 48)) +
          numbers("J", (1, 49), (52, 52), (57, 60)) +
          numbers("O", (1, 9)) + numbers("S", (1, 8)) + numbers("T", (1, 4)))
LEFT_OUT = ("left out", "not needed")
TEST = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)", re.MULTILINE)
PROOF = re.compile(r"`((?:tests|docs)/[\w./]+)`(?: \(((?:`\w+\.\w+`(?:, )?)+)\))?")


def order(row):
    return row[0], int(row[1:])


def tests_of(path):
    return {".".join(found) for found in TEST.findall(path.read_text())}


def problems(root):
    found, rows = [], []
    for line in (root / "docs" / "parity.md").read_text().splitlines():
        cells = [c.strip() for c in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if not re.fullmatch(r"[A-Z]\d+", cells[0]):
            continue
        row = cells[0]
        rows.append(row)
        if len(cells) != 4 or not all(cells):
            found.append(f"{row}: needs four cells: row, feature, our name, proof")
            continue
        named = False
        for path, tests in PROOF.findall(cells[3]):
            named = named or bool(tests) or not path.endswith(".cpp")
            if not (root / path).exists():
                found.append(f"{row}: there is no {path}")
            elif path.endswith(".cpp"):
                if not tests and "APSIS_PROVOKES" not in (root / path).read_text():
                    found.append(f"{row}: names no test of {path}")
                for test in re.findall(r"`(\w+\.\w+)`", tests):
                    if test not in tests_of(root / path):
                        found.append(f"{row}: {path} has no test {test}")
        if not named and not any(word in cells[2] for word in LEFT_OUT):
            found.append(f"{row}: neither a test nor a reason for leaving it out")
    found += [f"{row}: is missing" for row in WANTED if row not in rows]
    found += [f"{b}: is out of order, or there twice" for a, b in zip(rows, rows[1:]) if order(a) >= order(b)]
    return found


def words_of(folder, *endings):
    return set(re.findall(r"\w+", "\n".join(p.read_text() for e in endings for p in sorted(folder.rglob(f"*{e}")))))


def missing_names(root):
    """What tools/parity_names.txt names, and no public header or no test knows."""
    found, names, left_out = [], [], {}
    for line in (root / "tools" / "parity_names.txt").read_text().splitlines():
        head, colon, reason = line.partition(": ")
        if line.startswith("#") or not line.strip():
            continue
        if colon:
            left_out |= dict.fromkeys(head.split(), reason)
        else:
            names += line.split()
    declared = words_of(root / "include", ".hpp", ".inc")
    tested = words_of(root / "tests", ".cpp", ".hpp", ".inc")
    for name in names:
        theirs, _, ours = name.partition("=")
        ours = ours or theirs
        if theirs in left_out:
            found.append(f"{theirs}: is there, and left out")
        if ours not in declared:
            found.append(f"{name}: no public header declares {ours}")
        elif ours not in tested:
            found.append(f"{name}: no test uses {ours}")
    return found


def main():
    root = Path(__file__).resolve().parent.parent
    found = [f"docs/parity.md: {p}" for p in problems(root)]
    found += [f"tools/parity_names.txt: {p}" for p in missing_names(root)]
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
