#!/usr/bin/env python3
"""usage: run_case.py CASE.cpp COMPILER [FLAG...]

A case is code that must not compile. Its first lines say what the compiler must say:
    // expect: REGEX        under every compiler; each line of this kind must be found
    // expect-gcc: REGEX    under g++ only (expect-clang: under clang only)
    // compilers: gcc       the case is skipped by others
    // errors: 1            and no more errors than these: one sentence, not pages of them
The same file compiled with -DCORACLE_CONTROL must succeed, so that a case which fails for another
reason than the one meant (a header that moved, a name misspelt) is noticed. A case that passed is not
compiled again until it, a header of ours or the command changes (CORACLE_CHECK_AGAIN=1 does).
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from source_tree import Memory

SKIPPED = 77


def compile_case(command, case, *more):
    # Messages in English, on one line each however long.
    return subprocess.run([*command, "-fsyntax-only", *more, case], text=True, check=False,
                          env={"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C"},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def main(case, *command):
    text = pathlib.Path(case).read_text(encoding="utf-8")
    version = subprocess.run([command[0], "--version"], text=True, check=True,
                             stdout=subprocess.PIPE).stdout
    family = "clang" if "clang" in version else "gcc"
    only = re.search(r"^// compilers: (.*)$", text, re.MULTILINE)
    if only and family not in only.group(1).split():
        print(f"not for {family}")
        return SKIPPED
    memory = Memory("compile_fail", command, ROOT, ("include", "src"))
    fault = memory.once(text, lambda: fault_of(case, text, family, command))
    if fault:
        print(fault)
    return 1 if fault else 0


def fault_of(case, text, family, command):
    """What is wrong with the case, or None."""
    expected = re.findall(rf"^// expect(?:-{family})?: (.+?)\s*$", text, re.MULTILINE)
    if not expected or "CORACLE_CONTROL" not in text:
        return "a case needs `// expect: REGEX` and a part under CORACLE_CONTROL that compiles"
    control = compile_case(command, case, "-DCORACLE_CONTROL")
    if control.returncode != 0:
        return f"the control does not compile:\n{control.stdout}"
    refused = compile_case(command, case)
    if refused.returncode == 0:
        return "it compiles, and must not"
    missing = [regex for regex in expected if not re.search(regex, refused.stdout)]
    if missing:
        return f"refused, but not with {missing}:\n{refused.stdout}"
    most = re.search(r"^// errors: (\d+)$", text, re.MULTILINE)
    errors = len(re.findall(r" error: ", refused.stdout))
    if most and errors != int(most.group(1)):
        return f"{errors} errors in place of {most.group(1)}:\n{refused.stdout}"
    return None


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
