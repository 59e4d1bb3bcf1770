#!/usr/bin/env python3
"""usage: report_run.py FOLDER

Says what a run of .ci/run found, from what its steps left in FOLDER: steps.tsv, and for each step NAME
its output NAME.log, and for a step of ctest the results NAME.xml (JUnit) and NAME.tests (the log of
ctest with every attempt). Prints the time of each step, a line `flaky: ...` for each test that did not
pass at once, and for what failed the names, the beginning of what it said and the command that repeats
it; at last `N passed, N failed, N skipped`. The exit code is 1 where something failed, or where the log
of ctest does not hold what a test said.
"""

import collections
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

LINES = 15
WIDTH = 220

Step = collections.namedtuple("Step", "name code seconds title command")

# Where in its output a failing test begins to say why.
REASON = re.compile(r": Failure$|ERROR: (?:\w+Sanitizer|libFuzzer)|WARNING: ThreadSanitizer|runtime error:|"
                    r"^Traceback|has run for \d+ s|[Aa]ssertion|\berror:|FAILED:|\bwarning:|"
                    r"is blocked in system call")
# The symbolizer of a sanitizer about an address that is in no file, such as one of a stack.
NO_REASON = re.compile(r"[Ss]ymbolizer: error:|error: '\[\w+\]'")
# A program of many tests names the one that failed, or that was running when it died.
INNER = re.compile(r"\[  FAILED  \] ([^\s,]+\.[^\s,]+)|^died in (\S+)", re.MULTILINE)
# The last lines of a program of many tests, which say briefly what did not fail.
ENDED = re.compile(r"^\[={10}\] (\d+) tests? from \d+ test suites? ran\.", re.MULTILINE)
PASSED = re.compile(r"^\[  PASSED  \] (\d+) tests?\.", re.MULTILINE)
SKIPPED = re.compile(r"^\[  SKIPPED \] (\d+) tests?[.,]", re.MULTILINE)
ATTEMPT = re.compile(r'^"(?P<name>[^"\n]+)" start time: [^\n]*\nOutput:\n-+\n(?P<output>.*?)^<end of output>',
                     re.MULTILINE | re.DOTALL)
NOT_XML = re.compile(r"[^\t\n\r -\ud7ff\ue000-\ufffd]|&#(?:[0-8]|1[1-24-9]|2\d|3[01]|x[0-8bcefBCEF]|x1[\da-fA-F]);")


def steps_of(folder):
    for line in (folder / "steps.tsv").read_text(encoding="utf-8").splitlines():
        yield Step(*line.split("\t", 4))


def attempts_of(folder, step):
    """The outputs of a test's attempts, by name, in order."""
    path = folder / f"{step.name}.tests"
    attempts = collections.defaultdict(list)
    if path.exists():
        text = path.read_text(encoding="utf-8", errors="replace")
        for match in ATTEMPT.finditer(text):
            attempts[match["name"]].append(match["output"])
    return attempts


def cases_of(folder, step):
    """(name, status) of each test of a step of ctest; None for a step of another kind."""
    path = folder / f"{step.name}.xml"
    if not path.exists():
        return None
    # What tests print may hold characters that XML forbids; the outputs are read elsewhere.
    text = NOT_XML.sub("?", path.read_text(encoding="utf-8", errors="replace"))
    return [(case.get("name"), case.get("status")) for case in ElementTree.fromstring(text).iter("testcase")]


def excerpt(output):
    """The lines from which on an output says why."""
    lines = output.rstrip().splitlines()
    first = next((i for i, line in enumerate(lines) if REASON.search(line) and not NO_REASON.search(line)),
                 None)
    if first is None:
        return lines[-LINES:]
    return lines[first:first + LINES]


def inner_names(output):
    return sorted({a or b for a, b in INNER.findall(output)})


def count(case_status, output):
    """The numbers of tests that passed, failed and were skipped: of a program of many tests, all of its own."""
    status = {"run": "passed", "fail": "failed"}.get(case_status, "skipped")
    ended = ENDED.search(output)
    if not ended:
        return {status: 1}  # a script, or a program that died
    passed, skipped = (sum(map(int, each.findall(output))) for each in (PASSED, SKIPPED))
    failed = int(ended[1]) - passed - skipped
    # One that is refused for what it printed has no test that failed.
    return {"passed": passed, "skipped": skipped, "failed": failed or int(status == "failed")}


def preset_of(step):
    return step.name.removesuffix("-tests")


def show_excerpt(output):
    for line in excerpt(output) or ["(it said nothing)"]:
        print("    " + line[:WIDTH])


def show(title, output, again):
    print(title)
    show_excerpt(output)
    print("  again: " + again)


def show_test(step, name, outputs):
    output = outputs[0] if outputs else ""
    inner = [n for n in inner_names(output) if n not in name]
    show(f"  {name}{': ' + ', '.join(inner[:5]) if inner else ''}", output,
         f"ctest --preset {preset_of(step)} -R '^{re.escape(name)}$'")


def report(folder):
    steps = list(steps_of(folder))
    counts = collections.Counter()
    flaky, failed, lost = [], [], []
    for step in steps:
        cases = cases_of(folder, step)
        attempts = attempts_of(folder, step)
        for name, status in cases or []:
            counts.update(count(status, attempts[name][-1] if attempts[name] else ""))
            if status not in ("notrun", "disabled") and not attempts[name]:
                lost.append(f"{name} of {step.name}")
            if status == "run" and len(attempts[name]) > 1:
                flaky.append((step, name, attempts[name]))
            elif status == "fail":
                failed.append((step, name, attempts[name]))
        if cases is None:
            counts["passed" if step.code == "0" else "skipped" if step.code == "not run" else "failed"] += 1

    print("\n==== time")
    for step in steps:
        print(f"{int(step.seconds) // 60:4}:{int(step.seconds) % 60:02}  {step.title}"
              f"{'' if step.code == '0' else f': exit {step.code}' if step.code != 'not run' else ': not run'}")
    for step, name, outputs in flaky:
        inner = ", ".join(inner_names("".join(outputs[:-1])))
        print(f"flaky: {name} of {step.name} (passed at attempt {len(outputs)}){': ' + inner if inner else ''}")
        show_excerpt(outputs[0])
    if lost:
        print(f"lost: what {len(lost)} tests said, and how many attempts they took: {', '.join(lost[:5])}")
    named = {step.name for step, _, _ in failed}
    for step in steps:
        if step.code in ("0", "not run"):
            continue
        print(f"\n==== FAILED with {step.code}: {step.title}")
        for owner, name, outputs in failed:
            if owner is step:
                show_test(step, name, outputs)
        if step.name not in named:
            counts["failed"] += cases_of(folder, step) is not None
            log = (folder / f"{step.name}.log").read_text(encoding="utf-8", errors="replace")
            show("  " + step.name, log, step.command)
    print(f"\n{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if lost or any(step.code != "0" for step in steps) else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(report(pathlib.Path(sys.argv[1])))
