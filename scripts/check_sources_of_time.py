#!/usr/bin/env python3
"""usage: check_sources_of_time.py [ROOT]

All time and all randomness come from the loop, so that the simulated backend owns them. Finds what
the library, its program, its tests and its examples take from elsewhere.
"""

import fnmatch
import pathlib
import re
import sys

import source_tree

# Where a clock or a seed may come from.
EXEMPT = [
    "src/runtime/backend/*",  # the loop's own
    "bench/*",                # measures the real world
    "src/tls/ticket_keys.cpp",  # secrets, which no simulation has to repeat
    "src/base/stderr_log.cpp",  # logs where there is no loop; what it writes, no simulation sees
    "src/runtime/thread_event.cpp",  # a plain thread that waits has no loop
    "tests/support/eventually.hpp",  # a limit on what the kernel does
    "tests/support/test_main.cpp",  # waits in a signal handler
]

FORBIDDEN = re.compile(r"""
    \b(?:system|steady|high_resolution|utc|tai|gps|file)_clock\s*::\s*now\b
  | \bclock_(?:gettime|nanosleep)\b | \bgettimeofday\b | \btimespec_get\b | \bnanosleep\b | \busleep\b
  | (?<![\w.>:])(?:std\s*::\s*|::\s*)?(?:time|clock|rand|srand|random|srandom|drand48|sleep)\s*\(
  | \brand_r\b | \brandom_device\b | \bmt19937(?:_64)?\b | \bminstd_rand0?\b
  | \bdefault_random_engine\b | \branlux\w+\b | \bknuth_b\b
  | \bgetrandom\b | \bgetentropy\b | \barc4random\w*\b | \bRAND_(?:priv_)?bytes\b
  | \bthis_thread\s*::\s*sleep_(?:for|until)\b | \b__rdtscp?\b | \b__builtin_ia32_rd\w+\b
""", re.VERBOSE)
# `std::uint64_t random() noexcept` declares a name of ours; `return random()` does not.
DECLARED = re.compile(r"(?<!\w)(?!(?:return|co_return|co_await|co_yield|else|do|throw|case)\b)"
                      r"[\w>&*]*[A-Za-z0-9_>&*][ \t]+$")
DEVICE = re.compile(r'"/dev/u?random"')


def check_file(root, path):
    text = (root / path).read_text(encoding="utf-8")
    code = source_tree.without_comments_and_literals(text)
    for pattern, source in ((FORBIDDEN, code), (DEVICE, text)):
        for match in pattern.finditer(source):
            before = source[source.rfind("\n", 0, match.start()) + 1:match.start()]
            if match.group().endswith("(") and DECLARED.search(before):
                continue
            # A test may draw from a generator with a seed of its own: it repeats exactly.
            if path.parts[0] == "tests" and re.search(r"mt19937(?:_64)?\s*$", before + match.group()) and \
                    re.match(r"\s+\w+[({]\d+[)}]", source[match.end():]):
                continue
            line = source.count("\n", 0, match.start()) + 1
            yield f"{path}:{line}: {' '.join(match.group().split())}: ask the loop instead"


def main(arguments):
    root = pathlib.Path(arguments[1]).resolve() if len(arguments) > 1 else source_tree.ROOT
    paths = [path for path in source_tree.files(root)
             if not any(fnmatch.fnmatch(str(path), pattern) for pattern in EXEMPT)]
    faults = [fault for path in paths for fault in check_file(root, path)]
    return source_tree.report(faults, f"sources of time: {len(paths)} files ask the loop")


if __name__ == "__main__":
    sys.exit(main(sys.argv))
