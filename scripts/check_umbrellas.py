#!/usr/bin/env python3
"""usage: check_umbrellas.py [ROOT]

Checks the umbrella headers: include/coracle/<layer>.hpp includes each public header of its layer, and
nothing else, in order; coracle.hpp includes each of them but testing.hpp. Not in them are headers in detail/,
which nobody includes by name, and those that the h1 codec has in coracle/http/h1.hpp.
"""

import pathlib
import sys

import source_tree
from check_headers import ADAPTERS

# Only tests include it.
APART = {"testing"}
# Components of their own, which need not be installed.
COMPONENTS = {"redis"}


def included(path):
    return [name for _, _, name in source_tree.includes(path.read_text(encoding="utf-8"))]


def belongs(layer, header):
    """Whether `header`, relative to include/, is to stand in the umbrella of its layer."""
    inner = header.parts[2:-1]
    if "detail" in inner or (layer == "http" and inner[:1] == ("h1",)):
        return False
    return f"include/{header}" not in ADAPTERS


def faults(root):
    top = root / "include" / "coracle"
    layers = sorted(p.name for p in top.iterdir() if p.is_dir() and p.name not in COMPONENTS)
    for layer in layers:
        umbrella = top / f"{layer}.hpp"
        name = umbrella.relative_to(root)
        if not umbrella.is_file():
            yield f"{name}: the layer {layer} has no umbrella header"
            continue
        headers = [p.relative_to(root / "include") for p in (top / layer).rglob("*.hpp")]
        wanted = {str(h) for h in headers if belongs(layer, h)}
        there = included(umbrella)
        for header in sorted(wanted - set(there)):
            yield (f"{name}: does not include {header}; what nobody includes by name belongs into "
                   f"{layer}/detail/")
        for header in sorted(set(there) - wanted):
            yield f"{name}: {header} does not belong there"
        if there != sorted(there):
            yield f"{name}: not in order"
    wanted = [f"coracle/{layer}.hpp" for layer in layers if layer not in APART]
    if included(top / "coracle.hpp") != wanted:
        yield f"include/coracle/coracle.hpp: is to include {', '.join(wanted)}"


def main(arguments):
    root = pathlib.Path(arguments[1]).resolve() if len(arguments) > 1 else source_tree.ROOT
    return source_tree.report(list(faults(root)), "umbrellas: each public header is in its layer's")


if __name__ == "__main__":
    sys.exit(main(sys.argv))
