#!/usr/bin/env python3
"""usage: check_docs.py [--compiler g++] [--jobs 2]

Checks README.md and docs/: each link to a file leads to one, each link to a heading too, and each
```cpp block with a main compiles. A block marked ```cpp snippet is a piece and is not compiled. A block
that compiled before, with the same bytes in it and in the headers that it includes, is not compiled again.
"""

import argparse
import concurrent.futures
import re
import sys

import source_tree

BLOCK = re.compile(r"^```(\S*)[ \t]*([^\n]*)\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r'!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)|<(?:img|a)[^>]*?(?:src|href)="([^"]+)"')
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)
ANCHOR = re.compile(r'<a\s+(?:id|name)="([^"]+)"')


def without_blocks(text):
    return BLOCK.sub(lambda match: "\n" * match.group().count("\n"), text)


def anchors(path):
    """The names that GitHub gives to the headings of a file."""
    text = without_blocks((source_tree.ROOT / path).read_text(encoding="utf-8"))
    names = set(ANCHOR.findall(text))
    for title in HEADING.findall(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        number = 0
        while slug + (f"-{number}" if number else "") in names:
            number += 1
        names.add(slug + (f"-{number}" if number else ""))
    return names


def check_links(path):
    text = (source_tree.ROOT / path).read_text(encoding="utf-8")
    # Code between backticks shows links, it has none.
    prose = re.sub(r"`[^`\n]*`", lambda match: " " * len(match.group()), without_blocks(text))
    for match in LINK.finditer(prose):
        link = match.group(1) or match.group(2)
        if re.match(r"[a-z][a-z0-9+.-]*:|//", link):
            continue
        line = prose.count("\n", 0, match.start()) + 1
        name, _, fragment = link.partition("#")
        target = (source_tree.ROOT / path).parent / name if name else source_tree.ROOT / path
        if not target.exists():
            yield f"{path}:{line}: there is no {name}"
        elif fragment and target.suffix == ".md":
            if fragment not in anchors(target.resolve().relative_to(source_tree.ROOT)):
                yield f"{path}:{line}: {name or path} has no heading #{fragment}"


def programs(path):
    """(line, text) of each block that is a whole program."""
    text = (source_tree.ROOT / path).read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        if match.group(1) == "cpp" and match.group(2).strip() != "snippet":
            if re.search(r"\bint main\b", match.group(3)):
                yield text.count("\n", 0, match.start()) + 1, match.group(3)


def compile_program(command, path, line, code):
    result = source_tree.run(command, cwd=source_tree.ROOT, input=f'#line {line + 1} "{path}"\n{code}')
    return None if result.returncode == 0 else f"{path}:{line}: does not compile\n{result.stdout}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    documents = source_tree.markdown_files()
    faults = [fault for path in documents for fault in check_links(path)]
    blocks = [(path, line, code) for path in documents for line, code in programs(path)]
    command = [options.compiler, "-std=c++23", "-Wall", "-Wextra", "-fsyntax-only", "-I", "include",
               "-x", "c++", "-"]
    memory = source_tree.Memory("docs", command)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        faults += filter(None, pool.map(
            lambda block: memory.once(block[2], lambda: compile_program(command, *block)), blocks))
    return source_tree.report(
        faults, f"documents: {len(documents)} read, {len(blocks)} programs in them compile, "
                f"{memory.remembered} of them as they did before")


if __name__ == "__main__":
    sys.exit(main())
