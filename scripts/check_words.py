#!/usr/bin/env python3
"""usage: check_words.py [ROOT]

Comments are read before code: docs/style.md says how they are written. Finds comments that open
with a headless clause ("What ...", "Whether ...", "Who ...", "Whose ...", "The same ...", "Of ...")
instead of a verb or a noun phrase, and lines of documentation that begin so. Finds "answer", where the
glossary has "response" or "reply", in C++, in the programs of tests/ and bench/ (comments, texts and
names), and in the prose of documents, whose code is left alone.
"""

import pathlib
import re
import sys

import source_tree

COMMENT = re.compile(r"^\s*(//[/!]?<?)(?:[ \t]+(.*))?$")
TRAILING = re.compile(r"///<[ \t]+(.*)$")
HEADLESS = re.compile(r"(?:What|Whether|Whose|Who|The same|Of)\b")

ANSWER = re.compile(r"\w*answer\w*", re.IGNORECASE)
# Programs of other languages than C++.
OTHERS = {"tests": (".py", ".go"), "bench": (".py", ".go", ".md")}
# The glossary itself, which names the words that it replaces.
GLOSSARY = pathlib.PurePosixPath("docs/style.md")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def openings(text):
    """(line, text) of the first line of each paragraph of a comment, and of each line after "///"."""
    inside = None
    for number, line in enumerate(text.split("\n"), 1):
        comment = COMMENT.match(line)
        if comment is None:
            inside = None
            trailing = TRAILING.search(line)
            if trailing:
                yield number, trailing.group(1)
            continue
        mark, words = comment.groups()
        if not words:
            inside = None
        elif inside != mark or mark == "///":
            inside = mark
            yield number, words


def check_file(root, path):
    text = (root / path).read_text(encoding="utf-8")
    for line, words in openings(text):
        found = HEADLESS.match(words)
        if found:
            yield (f"{path}:{line}: a comment opens with \"{found.group()}\": open it with a verb or "
                   "a noun phrase (docs/style.md)")
    yield from check_answer(path, text)


def check_document(root, path):
    text = (root / path).read_text(encoding="utf-8")
    if path != GLOSSARY:
        # Of the same length, so that lines stay.
        prose = CODE.sub(lambda code: re.sub(r"[^\n]", " ", code.group()), text)
        yield from check_answer(path, prose)


def check_answer(path, text):
    for found in ANSWER.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        yield (f"{path}:{line}: \"{found.group()}\": write \"response\", or \"reply\" for SMTP, SOCKS and "
               "FTP (docs/style.md)")


def others(root):
    """Our programs of other languages, relative to `root`."""
    return sorted(p.relative_to(root) for folder, suffixes in OTHERS.items()
                  for p in (root / folder).rglob("*") if p.suffix in suffixes)


def main(arguments):
    root = pathlib.Path(arguments[1]).resolve() if len(arguments) > 1 else source_tree.ROOT
    paths = source_tree.files(root)
    documents = source_tree.markdown_files(root)
    faults = [fault for path in paths for fault in check_file(root, path)]
    faults += [fault for path in documents for fault in check_document(root, path)]
    for path in (programs := others(root)):
        faults += check_answer(path, (root / path).read_text(encoding="utf-8"))
    return source_tree.report(
        faults, f"words: {len(paths) + len(programs)} files and {len(documents)} documents use the words of docs/style.md")


if __name__ == "__main__":
    sys.exit(main(sys.argv))
