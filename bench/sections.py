"""A document whose sections are written by different programs, each its own, between markers."""

import os
import re
import time

HEAD = """\
# Benchmarks of the runtime

Written by `bench/echo.py`, `bench/datagrams.py` and `bench/micro.py`, which `make bench` runs; do not edit. What the
figures mean and when a run counts stands in [bench/README.md](../bench/README.md); the figures of the
HTTP server are in [benchmarks.md](benchmarks.md).
"""
NAMES = ["echo", "datagrams", "micro"]


def marks(name):
    return f"<!-- begin {name} -->", f"<!-- end {name} -->"


def write(directory, name, text):
    """Replaces one section of benchmarks-runtime.md in `directory`; gives the path."""
    path = os.path.join(directory, "benchmarks-runtime.md")
    old = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as source:
            old = source.read()
    sections = {}
    for each in NAMES:
        begin, end = marks(each)
        found = re.search(re.escape(begin) + "\n(.*?)" + re.escape(end), old, re.S)
        if found:
            sections[each] = found.group(1)
    sections[name] = text.rstrip("\n") + "\n"
    os.makedirs(directory, exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(HEAD)
        for each in NAMES:
            if each in sections:
                begin, end = marks(each)
                out.write(f"\n{begin}\n{sections[each]}{end}\n")
    return path


def now():
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
