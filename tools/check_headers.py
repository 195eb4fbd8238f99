#!/usr/bin/env python3
"""Compiles each public header alone, so that none leans on what another happened to include before it.

usage: tools/check_headers.py [--compiler g++] [--jobs N] [--include DIR]
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--include", default=root / "include", type=pathlib.Path)
    arguments = parser.parse_args()
    headers = sorted(arguments.include.rglob("*.hpp"))

    def compile_alone(header):
        command = [arguments.compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
                   "-Wno-missing-field-initializers", f"-I{arguments.include}", "-x", "c++", "-"]
        source = f"#include <{header.relative_to(arguments.include)}>\n"
        return subprocess.run(command, input=source, capture_output=True, text=True)

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for header, result in zip(headers, pool.map(compile_alone, headers)):
            if result.returncode != 0:
                failed += 1
                print(f"{header}: does not compile alone\n{result.stderr}")
    print(f"{len(headers) - failed} of {len(headers)} public headers compile alone with {arguments.compiler}")
    return 1 if failed or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
