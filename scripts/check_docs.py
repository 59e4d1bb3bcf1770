#!/usr/bin/env python3
"""usage: check_docs.py [--compiler g++] [--jobs 2]

Checks README.md and docs/: each link to a file leads to one, each link to a heading too; a table of
contents has all headings of the second level, in their order; HACKING.md names each folder of include/
and src/, and the number of each layer; and each ```cpp block with a main compiles. A block marked
```cpp snippet is a piece and is not compiled. A block that compiled before, with the same bytes in
it and in the headers that it includes, is not compiled again.
"""

import argparse
import concurrent.futures
import re
import sys

import source_tree

BLOCK = re.compile(r"^```(\S*)[ \t]*([^\n]*)\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r'!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)|<(?:img|a)[^>]*?(?:src|href)="([^"]+)"')
HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$", re.MULTILINE)
CONTENTS = re.compile(r"^[*-] \[[^\n]*\]\(#([^)\s]+)\)", re.MULTILINE)
MOST_WITHOUT_CONTENTS = 12
ANCHOR = re.compile(r'<a\s+(?:id|name)="([^"]+)"')


def without_blocks(text):
    return BLOCK.sub(lambda match: "\n" * match.group().count("\n"), text)


def headings(text):
    """(level, name) of each heading, with the name that GitHub gives to its anchor."""
    names = set()
    for mark, title in HEADING.findall(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        number = 0
        while slug + (f"-{number}" if number else "") in names:
            number += 1
        slug += f"-{number}" if number else ""
        names.add(slug)
        yield len(mark), slug


def anchors(path):
    """The names of all headings and anchors of a file."""
    text = without_blocks((source_tree.ROOT / path).read_text(encoding="utf-8"))
    return set(ANCHOR.findall(text)) | {name for _, name in headings(text)}


def check_contents(path):
    """A list of links before the first heading of the second level is the table of contents."""
    text = without_blocks((source_tree.ROOT / path).read_text(encoding="utf-8"))
    before = re.split(r"^## ", text, maxsplit=1, flags=re.MULTILINE)[0]
    contents = CONTENTS.findall(before)
    chapters = [name for level, name in headings(text) if level == 2]
    if not contents and len(chapters) <= MOST_WITHOUT_CONTENTS:
        return
    if not contents:
        yield f"{path}: {len(chapters)} headings, and no table of contents"
    missing = [name for name in chapters if name not in contents]
    if contents and missing:
        yield f"{path}: the table of contents lacks " + ", ".join(f"#{name}" for name in missing)
    elif contents and contents != chapters:
        yield f"{path}: the table of contents has another order than the headings, or more than they"


def check_rooms():
    """HACKING.md against the folders of the tree and the layers."""
    text = (source_tree.ROOT / "HACKING.md").read_text(encoding="utf-8")
    for top in ("include/coracle", "src"):
        for folder in sorted((source_tree.ROOT / top).rglob("*")):
            name = folder.relative_to(source_tree.ROOT).as_posix() + "/"
            if folder.name == "detail" and folder.parent.parent == source_tree.ROOT / top:
                name = f"{top}/<layer>/detail/"
            is_layer = top == "include/coracle" and folder.parent == source_tree.ROOT / top
            if folder.is_dir() and not is_layer and f"`{name}`" not in text:
                yield f"HACKING.md: says nothing of `{name}`"
    layers = (source_tree.ROOT / "scripts/layers.txt").read_text(encoding="utf-8")
    for layer, number in re.findall(r"^layer (\w+) (\d+)$", layers, re.MULTILINE):
        if not re.search(rf"^\| {number} \| [^|]*`{layer}`", text, re.MULTILINE):
            yield f"HACKING.md: layer `{layer}` is not in a row of number {number}"


def check_packages():
    """The packages that README.md names for linking against those of the build."""
    recipe = (source_tree.ROOT / "cmake/dependencies.cmake").read_text(encoding="utf-8")
    needed = set(re.search(r"set\(coracle_packages\s([^)]*)\)", recipe)[1].split())
    line = re.search(r"`apt-get install ([^`]*)`", (source_tree.ROOT / "README.md").read_text(encoding="utf-8"))
    named = {word for word in line[1].split() if word.endswith("-dev")} if line else set()
    for package in sorted(needed - named):
        yield f"README.md: the packages for linking lack {package}"
    for package in sorted(named - needed):
        yield f"README.md: nothing links what {package} brings"


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
    faults = [fault for path in documents for check in (check_links, check_contents)
              for fault in check(path)]
    faults += [*check_rooms(), *check_packages()]
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
