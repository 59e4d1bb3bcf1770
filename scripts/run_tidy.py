#!/usr/bin/env python3
"""usage: [TIDY_CHECKS=...] run_tidy.py [--changed [BASE]] [FILE...]

clang-tidy over src/ and tools/, two files at a time. --changed: only the sources that differ from BASE
(the branch this one left, or the last commit), or whose headers do by name. What was clean before, with
the same bytes in it and in the headers that it includes, is not read again. TIDY_CHECKS: checks besides
those of .clang-tidy.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

import source_tree

TIDY = "clang-tidy-19"
NOISE = re.compile(r"^\d+ warnings? (and \d+ errors? )?generated|^Suppressed |^Use -header-filter|^\[\d+/\d+\]")


def git(*arguments):
    return source_tree.run(["git", *arguments], cwd=source_tree.ROOT)


def default_base():
    for command in (("merge-base", "HEAD", "origin/main"), ("rev-parse", "-q", "--verify", "HEAD")):
        found = git(*command)
        if found.returncode == 0:
            return found.stdout.strip()
    return git("hash-object", "-t", "tree", "/dev/null").stdout.strip()


def changed(base):
    """The sources that differ from `base`, and those of the headers that do: h1/head_parser.cpp with
    h1/head_parser.hpp."""
    differing = git("diff", "--name-only", base).stdout + git("ls-files", "--others", "--exclude-standard").stdout
    names = {pathlib.Path(line).stem for line in differing.splitlines() if line.endswith((".hpp", ".cpp"))}
    return [path for path in sources() if path.stem in names]


def sources():
    return [path for path in source_tree.files(folders=("src", "tools")) if path.suffix == ".cpp"]


def read(command, memory, path):
    """None, or what clang-tidy has found in a source."""
    def ask():
        done = source_tree.run([*command, str(path)], cwd=source_tree.ROOT)
        said = "\n".join(line for line in done.stdout.splitlines() if not NOISE.search(line))
        return None if done.returncode == 0 else said or f"{path}: clang-tidy ended with {done.returncode}"
    return memory.once(f"// {path}\n" + (source_tree.ROOT / path).read_text(encoding="utf-8"), ask)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--changed", nargs="?", const="", metavar="BASE")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    if not shutil.which(TIDY):
        print(f"run_tidy: {TIDY} is not installed: run make setup")
        return 1
    if options.changed is not None:
        paths = changed(options.changed or default_base())
    else:
        paths = options.files or sources()
    # clang-tidy must read the commands of a clang build: g++ has flags that it does not know.
    subprocess.run(["cmake", "--preset", "clang"], cwd=source_tree.ROOT, stdout=subprocess.DEVNULL, check=True)
    command = [TIDY, "-p", "build/clang", "--quiet", "--warnings-as-errors=*"]
    if checks := os.environ.get("TIDY_CHECKS"):
        command.append(f"--checks={checks}")
    style = (source_tree.ROOT / ".clang-tidy").read_text(encoding="utf-8")
    memory = source_tree.Memory("tidy", [*command, style], folders=("include", "src", "tools/coracle"))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        faults = list(filter(None, pool.map(lambda path: read(command, memory, path), paths)))
    return source_tree.report(
        faults, f"clang-tidy: {len(paths)} sources clean, {memory.remembered} of them as they were before")


if __name__ == "__main__":
    sys.exit(main())
