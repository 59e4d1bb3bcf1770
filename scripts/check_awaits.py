#!/usr/bin/env python3
"""usage: check_awaits.py [--quiet] [FILE...]

Refuses a co_await beside &&, || or ?: in one statement: g++ 12 makes wrong code of it (a use after free,
or a frame whose handle is 8 bytes off and which never resumes). So it does of ?: among the arguments of what
is awaited: it destroys the temporary of the branch not taken. Name the result first.

Without files it reads the tree of Coracle. It needs nothing else of that tree, and is installed for the CMake
function coracle_check_awaits.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("include", "src", "tools", "examples", "bench", "tests")


def statements(text):
    """Pieces of code between semicolons and braces, with the number of their first line."""
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    line = 1
    for piece in re.split(r"([;{}])", text):
        yield line + len(piece) - len(piece.lstrip("\n")), piece
        line += piece.count("\n")


def faults(path):
    for line, piece in statements(path.read_text()):
        if "requires" in piece or "operator co_await" in piece:
            continue
        for awaited in re.finditer(r"\bco_await\b", piece):
            before = piece[: awaited.start()]
            condition = re.match(r"\s*(?:else\s+)?(?:if|while)\s*\((.*)$", before, re.S)
            # What stands in a condition that is closed before the await does not count.
            if condition and condition.group(1).count(")") > condition.group(1).count("("):
                before = re.sub(r"^.*?\)\s*(?=\w*\s*$|co_return|return|\w)", "", before, flags=re.S)
                if re.search(r"&&\s*$|\|\|\s*$", before) is None:
                    continue
            if re.search(r"&&[^&]|\|\||\?", before) and not re.search(r"\[[^\]]*$", before):
                yield line, "co_await behind &&, || or ?"
            elif re.search(r"\)\s*(&&|\|\|)|\?", piece[awaited.end():]):
                yield line, "co_await before &&, || or ?"


def main():
    names = sys.argv[1:]
    quiet = names[:1] == ["--quiet"]
    if quiet:
        names = names[1:]
    elif not names and not (ROOT / "include" / "coracle").is_dir():
        sys.exit(__doc__)
    paths = [pathlib.Path(n) for n in names]
    if not names and not quiet:
        paths = [p for f in FOLDERS for p in sorted((ROOT / f).rglob("*.[hc]pp"))]
    bad = [(p, line, why) for p in paths for line, why in faults(p)]
    for path, line, why in bad:
        print(f"{path}:{line}: error: {why}; name the result first (docs/traps.md)")
    if not bad and not quiet:
        print(f"awaits: {len(paths)} files, none mixed with && || ?:")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
