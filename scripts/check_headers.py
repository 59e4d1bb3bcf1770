#!/usr/bin/env python3
"""usage: check_headers.py [--compiler g++] [--jobs 2]

Compiles each public header alone, and so finds those that lean on what others include. One that passed
before, with the same bytes in it and in all that it includes, is not compiled again.
"""

import argparse
import concurrent.futures
import sys

import source_tree

# Adapters to libraries that need not be there.
ADAPTERS = {"include/coracle/http/nlohmann.hpp": "nlohmann/json.hpp"}
FLAGS = ["-std=c++23", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-x", "c++"]


def has(compiler, foreign):
    return source_tree.run([compiler, "-E", "-x", "c++", "-"], cwd=source_tree.ROOT,
                           input=f"#include <{foreign}>\n").returncode == 0


def check(memory, compiler, header):
    """None, or what the compiler said."""
    foreign = ADAPTERS.get(str(header))
    if foreign and not has(compiler, foreign):
        return None
    # Included, not compiled itself: `#pragma once` in a main file is a warning.
    text = f"#include <{header.relative_to('include')}>\n"

    def compile_it():
        result = source_tree.run([compiler, *FLAGS, "-I", "include", "-"], cwd=source_tree.ROOT, input=text)
        return None if result.returncode == 0 else f"{header}: does not compile alone\n{result.stdout}"
    return memory.once(text, compile_it)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    headers = source_tree.files(folders=("include",))
    memory = source_tree.Memory("headers", [options.compiler, *FLAGS])
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda header: check(memory, options.compiler, header), headers)
    faults = [fault for fault in results if fault]
    return source_tree.report(
        faults, f"headers: {len(headers)} compile alone, {memory.remembered} of them as they did before")


if __name__ == "__main__":
    sys.exit(main())
