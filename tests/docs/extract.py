#!/usr/bin/env python3
"""Writes each complete program in a Markdown page to a file of its own, and beside it the output the page promises.

usage: extract.py OUT_DIR PAGE...      prints the names of the programs, separated by semicolons

A program is a ```cpp block that defines main. A ```text block that follows it, with no other block between,
is its whole output. Files that stay the same are not touched, so that nothing is compiled again.
"""

import pathlib
import re
import sys

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def programs(text):
    """(program, expected output or None) of each complete program in a page."""
    blocks = BLOCK.findall(text)
    for (language, body), (next_language, next_body) in zip(blocks, blocks[1:] + [("", "")]):
        if language == "cpp" and re.search(r"^int main\(", body, re.MULTILINE):
            yield body, next_body if next_language == "text" else None


def write(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    names = []
    for page in map(pathlib.Path, sys.argv[2:]):
        for number, (program, expected) in enumerate(programs(page.read_text()), 1):
            name = f"{page.stem.lower()}_{number}"
            write(out / f"{name}.cpp", program)
            if expected is None:
                (out / f"{name}.txt").unlink(missing_ok=True)
            else:
                write(out / f"{name}.txt", expected)
            names.append(name)
    print(";".join(names), end="")


if __name__ == "__main__":
    main()
