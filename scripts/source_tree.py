"""What the checks share: which files are ours, and their text without comments and strings."""

import functools
import hashlib
import os
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


@functools.lru_cache(maxsize=None)
def _header(path, _changed):
    """The text of a header, and the names that it includes."""
    text = path.read_text(encoding="utf-8")
    return text, [name for _, _, name in includes(text)]


def own_headers(text, root=ROOT, folders=("include",)):
    """The headers below `folders` that a text includes, directly or through each other."""
    found, names = {}, [name for _, _, name in includes(text)]
    while names:
        name = names.pop()
        path = next((root / f / name for f in folders if (root / f / name).is_file()), None)
        if name not in found and path:
            found[name], more = _header(path, path.stat().st_mtime_ns)
            names += more
    return found


class Memory:
    """Remembers, in the cache of the user, what passed a check that compiles: the same text with the same
    headers of ours and the same command passes again. CORACLE_CHECK_AGAIN=1 makes it forget."""

    def __init__(self, name, command, root=ROOT, folders=("include",)):
        cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
        self.folder = pathlib.Path(cache) / "coracle" / "checks" / name
        self.headers = lambda text: own_headers(text, root, folders)
        version = run([command[0], "--version"]).stdout
        self.salt = "\0".join([version, *command])
        self.forgets = os.environ.get("CORACLE_CHECK_AGAIN") == "1"
        self.remembered = 0

    def once(self, text, check):
        """`check()`, a fault or None, unless it gave None before for this text."""
        digest = hashlib.sha256(self.salt.encode())
        for name, content in [("", text), *sorted(self.headers(text).items())]:
            digest.update(f"\0{name}\0{content}".encode())
        mark = self.folder / digest.hexdigest()[:32]
        if mark.exists() and not self.forgets:
            self.remembered += 1
            return None
        fault = check()
        if fault is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            mark.touch()
        return fault


def report(faults, good):
    """Prints what was found; gives the exit code."""
    for fault in faults:
        print(fault)
    print(f"{len(faults)} fault(s)" if faults else good)
    return 1 if faults else 0
