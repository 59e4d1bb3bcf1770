#!/usr/bin/env python3
"""usage: check_listed.py BUILD_DIR

Finds tests of the GoogleTest programs in BUILD_DIR/bin that no test of ctest runs: a filter in
cmake/testing.cmake can leave some out of every list without a word.
"""

import json
import pathlib
import subprocess
import sys

FILTER = "--gtest_filter="


def tests_in(listing):
    """The full names in the output of --gtest_list_tests, without disabled tests."""
    names, suite = set(), ""
    for line in listing.splitlines():
        text = line.split("#")[0].rstrip()
        if text.startswith("  "):
            name = suite + text.strip()
            if "DISABLED_" not in name:
                names.add(name)
        elif text.endswith("."):
            suite = text
    return names


def run_by_ctest(listing):
    """{program: names} in what `ctest --show-only=json-v1` prints."""
    found = {}
    for test in json.loads(listing)["tests"]:
        command = test.get("command", [])
        names = [word.removeprefix(FILTER) for word in command if word.startswith(FILTER)]
        if names:
            found.setdefault(pathlib.Path(command[0]).name, set()).update(names)
    return found


def output(*command, cwd=None):
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout


def main():
    build = pathlib.Path(sys.argv[1])
    run = run_by_ctest(output("ctest", "--show-only=json-v1", cwd=build))
    programs = sorted((build / "bin").glob("coracle_*_tests"))
    left_out = [f"{program.name}: {name}" for program in programs
                for name in sorted(tests_in(output(program, "--gtest_list_tests")) -
                                   run.get(program.name, set()))]
    for name in left_out:
        print(f"no test of ctest runs {name}")
    if not programs:
        print(f"there are no tests in {build}/bin")
    sys.exit(bool(left_out) or not programs)


if __name__ == "__main__":
    main()
