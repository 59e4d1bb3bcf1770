#!/usr/bin/env python3
"""usage: check_layers.py [ROOT]

Checks what includes what: layers and parts of scripts/layers.txt, system headers only where they
belong, light public headers, `#pragma once` in each header.
"""

import fnmatch
import pathlib
import re
import sys

import source_tree

STANDARD_C = {"assert", "ctype", "errno", "inttypes", "limits", "math", "setjmp", "signal",
              "stdarg", "stddef", "stdint", "stdio", "stdlib", "string", "time", "wchar"}

# Vector instructions: the compiler's, not the system's. Private headers and sources may use them.
INTRINSICS = {"immintrin.h", "emmintrin.h", "tmmintrin.h", "nmmintrin.h", "arm_neon.h", "cpuid.h"}


class Rules:
    """The lines of layers.txt."""

    def __init__(self, text):
        self.layers, self.parts, self.never, self.system, self.foreign = {}, [], set(), [], []
        text = re.sub(r"#.*", "", text)
        for line in re.sub(r"\n[ \t]+", " ", text).splitlines():
            words = line.split()
            if not words:
                continue
            kind, *rest = words
            if kind == "layer":
                self.layers[rest[0]] = int(rest[1])
            elif kind == "part":
                colon = rest.index(":")
                self.parts.append((rest[0], rest[1:colon], set(rest[colon + 1:])))
            elif kind == "never":
                self.never.add((rest[0], rest[1]))
            elif kind == "system":
                self.system.append(rest[0])
            elif kind == "foreign":
                self.foreign.append((rest[0], rest[1]))
            else:
                raise SystemExit(f"layers.txt: unknown word {kind}")

    def layer_of(self, path):
        """The layer of a file of the tree, None where layers do not matter (tests, bench)."""
        words = path.parts
        if words[:2] == ("include", "coracle"):
            # coracle.hpp, right in include/coracle/, includes everything.
            return words[2] if len(words) > 3 else None
        if words[0] == "src":
            return words[1]
        if words[:2] == ("tools", "coracle"):
            return "tools"
        return None

    def part_of(self, path):
        """(name, what it may include) of the part that a file belongs to, or None."""
        for name, patterns, allowed in self.parts:
            if any(fnmatch.fnmatch(str(path), pattern) for pattern in patterns):
                return name, allowed
        return None

    def may_use_foreign(self, path, header):
        name = str(path)
        return (header in INTRINSICS
                or any(fnmatch.fnmatch(name, pattern) for pattern in self.system)
                or any(fnmatch.fnmatch(name, pattern) and header == named
                       for pattern, named in self.foreign))

    def adapts(self, path, header):
        """Whether a public header is there for this foreign one, and named as such."""
        return (str(path), header) in self.foreign


def is_standard(header):
    """<vector>, <cstdint> or <stdint.h>: a header of C++ or C itself."""
    if "/" in header:
        return False
    stem, dot, suffix = header.partition(".")
    return not dot or (suffix == "h" and stem in STANDARD_C)


def resolve(root, path, bracket, name):
    """The file of the tree that an include means, or None for one from outside."""
    places = [root / "include", root / "src"]
    if bracket == '"':
        places.insert(0, (root / path).parent)
    for place in places:
        candidate = place / name
        if candidate.is_file():
            return candidate.resolve().relative_to(root)
    return None


def fault_of_own(rules, path, target):
    """What is wrong with including `target`, a file of ours, from `path`; None if nothing."""
    layer, other = rules.layer_of(path), rules.layer_of(target)
    if layer is None:
        return None
    if other is None:
        return f"{layer} includes {target}, which belongs to no layer"
    if layer == "tools" and target.parts[0] == "src":
        return f"tools include public headers only, not {target}"
    if path.parts[0] == "include" and target.parts[0] != "include":
        return f"a public header includes the private {target}"
    if (layer, other) in rules.never:
        return f"{layer} must never include {other} ({target})"
    if layer != other and rules.layers[other] >= rules.layers[layer]:
        return f"{layer} ({rules.layers[layer]}) includes {other} ({rules.layers[other]}): {target}"
    mine, theirs = rules.part_of(path), rules.part_of(target)
    if mine and not (theirs and theirs[0] == mine[0]):
        name = theirs[0] if theirs else other
        # Where the target is no part of its own, its layer must be named.
        if name not in mine[1]:
            return f"the part {mine[0]} does not include {name}: {target}"
    return None


def check_file(root, rules, path):
    text = (root / path).read_text(encoding="utf-8")
    public = path.parts[0] == "include"
    layer = rules.layer_of(path)
    if path.suffix == ".hpp" and "#pragma once" not in text:
        yield f"{path}:1: no #pragma once"
    if layer is not None and layer not in rules.layers:
        yield f"{path}:1: the layer {layer} does not stand in scripts/layers.txt"
        return
    for line, bracket, name in source_tree.includes(text):
        target = resolve(root, path, bracket, name)
        if target is not None:
            fault = fault_of_own(rules, path, target)
            if fault:
                yield f"{path}:{line}: {fault}"
        elif name.startswith("coracle/"):
            yield f"{path}:{line}: there is no {name}"
        elif public and not is_standard(name) and not rules.adapts(path, name):
            yield f"{path}:{line}: a public header includes <{name}>"
        elif path.parts[0] == "src" and not is_standard(name):
            if not rules.may_use_foreign(path, name):
                yield f"{path}:{line}: <{name}> outside of the folders that may use the system"


def main(arguments):
    root = pathlib.Path(arguments[1]).resolve() if len(arguments) > 1 else source_tree.ROOT
    rules = Rules((root / "scripts/layers.txt").read_text(encoding="utf-8"))
    paths = source_tree.files(root)
    faults = [fault for path in paths for fault in check_file(root, rules, path)]
    return source_tree.report(faults, f"layers: {len(paths)} files in order")


if __name__ == "__main__":
    sys.exit(main(sys.argv))
