#!/usr/bin/env python3
"""compare.py GOLDEN PROGRAM...: has each program write its texts, and holds them to the golden ones and to each other.

Texts of small programs are golden, so that a change of the canonical form is seen; those of large ones are only compared
between the programs, which are one source built by different compilers. To renew the golden texts, run the program and
copy those of its files that are there already.
"""

import difflib
import pathlib
import re
import subprocess
import sys
import tempfile

SKIPPED = 77  # what CTest takes for a test left out


def texts_of(program):
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([program, directory], check=True)
        return {f.stem: without_folders(f.read_text()) for f in sorted(pathlib.Path(directory).iterdir())}


def without_folders(text):
    """Programs name the source lines of their checks; how a compiler was told the file's folder is not their form."""
    return re.sub(r"\S*/(\w+\.cpp:\d+)", r"\1", text)


def differ(name, ours, ours_text, theirs, theirs_text):
    diff = difflib.unified_diff(theirs_text.splitlines(), ours_text.splitlines(), theirs, ours, lineterm="", n=1)
    print(f"{name} differs:")
    print("\n".join(line[:200] for line in list(diff)[:30]))


def main():
    golden_directory, programs = pathlib.Path(sys.argv[1]), sys.argv[2:]
    golden = {f.stem: f.read_text() for f in sorted(golden_directory.glob("*.txt"))}
    failures = 0
    first = None
    for program in programs:
        texts = texts_of(program)
        for name in golden.keys() - texts.keys():
            print(f"{program} does not write {name}, which is golden")
            failures += 1
        if first is None:
            first = texts
        if texts.keys() != first.keys():
            print(f"{program} writes other texts than {programs[0]}: {sorted(texts.keys() ^ first.keys())}")
            failures += 1
        for name, text in texts.items():
            if name in golden and text != golden[name]:
                differ(name, program, text, str(golden_directory), golden[name])
                failures += 1
            elif text != first.get(name, text):
                differ(name, program, text, programs[0], first[name])
                failures += 1
    print(f"{len(first)} texts by {len(programs)} compilers, {len(golden)} of them golden, {failures} failures")
    if failures:
        return 1
    if len(programs) == 1:
        print("skipped: no second compiler (clang++-17 or later) to compare with; the golden texts are right")
        return SKIPPED
    return 0


if __name__ == "__main__":
    sys.exit(main())
