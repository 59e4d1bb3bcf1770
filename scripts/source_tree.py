"""What the checks share: which files are ours, and their text without comments and strings."""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("include", "src", "tools", "tests", "fuzz", "bench", "examples")
SUFFIXES = {".hpp", ".cpp"}

_COMMENT_OR_LITERAL = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z_])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def files(root=ROOT, folders=FOLDERS):
    """Our C++ files below `folders`, in order, relative to `root`."""
    found = []
    for folder in folders:
        for path in (root / folder).rglob("*"):
            if path.suffix in SUFFIXES and path.is_file():
                found.append(path.relative_to(root))
    return sorted(found)


def markdown_files(root=ROOT):
    """README.md and its like, and all below docs/."""
    return sorted(p.relative_to(root) for p in [*root.glob("*.md"), *(root / "docs").rglob("*.md")])


def without_comments_and_literals(text):
    """The same lines, with comments and literals blanked, so that line numbers stay."""
    def blank(match):
        return "".join(c if c == "\n" else " " for c in match.group())
    return _COMMENT_OR_LITERAL.sub(blank, text)


def includes(text):
    """(line, '<' or '"', name) of each #include that is not in a comment."""
    # A comment may hold an #include; a quoted include is a literal, so only comments are blanked.
    def blank(match):
        piece = match.group()
        if piece.startswith(("//", "/*")):
            return "".join(c if c == "\n" else " " for c in piece)
        return piece
    code = _COMMENT_OR_LITERAL.sub(blank, text)
    for match in _INCLUDE.finditer(code):
        yield code.count("\n", 0, match.start()) + 1, match.group(1), match.group(2)


def run(command, **options):
    """subprocess.run with output caught as text."""
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **options)


def report(faults, good):
    """Prints what was found; gives the exit code."""
    for fault in faults:
        print(fault)
    print(f"{len(faults)} fault(s)" if faults else good)
    return 1 if faults else 0
