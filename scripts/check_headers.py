#!/usr/bin/env python3
"""usage: check_headers.py [--compiler g++] [--jobs 2]

Compiles each public header alone, and so finds those that lean on what others include.
"""

import argparse
import concurrent.futures
import sys

import source_tree

FLAGS = ["-std=c++23", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-x", "c++"]


def check(compiler, header):
    """None, or what the compiler said."""
    # Included, not compiled itself: `#pragma once` in a main file is a warning.
    result = source_tree.run([compiler, *FLAGS, "-I", "include", "-"], cwd=source_tree.ROOT,
                             input=f"#include <{header.relative_to('include')}>\n")
    return None if result.returncode == 0 else f"{header}: does not compile alone\n{result.stdout}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    headers = source_tree.files(folders=("include",))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda header: check(options.compiler, header), headers)
    faults = [fault for fault in results if fault]
    return source_tree.report(faults, f"headers: {len(headers)} compile alone")


if __name__ == "__main__":
    sys.exit(main())
