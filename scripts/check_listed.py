#!/usr/bin/env python3
"""usage: check_listed.py BUILD_DIR

Finds tests of the GoogleTest programs in BUILD_DIR/bin that no test of ctest runs: a filter in
cmake/testing.cmake can leave some out of every list without a word.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

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


def filters_of(listing):
    """{program: filters} in what `ctest --show-only=json-v1` prints."""
    found = {}
    for test in json.loads(listing)["tests"]:
        command = test.get("command", [])
        filters = [word.removeprefix(FILTER) for word in command if word.startswith(FILTER)]
        if filters:
            found.setdefault(pathlib.Path(command[0]).name, set()).update(filters)
    return found


def run_by(filters, tests_for):
    """The tests that the filters name: by their full names, or by patterns, which `tests_for` looks up."""
    patterns = {f for f in filters if set(f) & set("*?:-")}
    return (filters - patterns).union(*map(tests_for, patterns))


def output(*command, cwd=None):
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout


def listing_of(build):
    """What ctest would run there. Asked in a folder of its own: ctest begins the log of its tests anew where it
    lists them, also below a run that is under way."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "CTestTestfile.cmake").write_text(f'subdirs("{build.resolve()}")\n')
        return output("ctest", "--show-only=json-v1", cwd=folder)


def left_out_of(program, filters):
    def tests_for(pattern):
        return tests_in(output(program, "--gtest_list_tests", FILTER + pattern))
    return sorted(tests_in(output(program, "--gtest_list_tests")) - run_by(filters, tests_for))


def main():
    build = pathlib.Path(sys.argv[1])
    filters = filters_of(listing_of(build))
    programs = sorted((build / "bin").glob("coracle_*_tests"))
    left_out = [f"{program.name}: {name}" for program in programs
                for name in left_out_of(program, filters.get(program.name, set()))]
    for name in left_out:
        print(f"no test of ctest runs {name}")
    if not programs:
        print(f"there are no tests in {build}/bin")
    sys.exit(bool(left_out) or not programs)


if __name__ == "__main__":
    main()
