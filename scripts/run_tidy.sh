#!/usr/bin/env bash
# usage: [TIDY_CHECKS=...] scripts/run_tidy.sh [--changed [BASE]] [FILE...]
#
# clang-tidy over src/ and tools/, two files at a time. --changed: only the sources that differ from
# BASE (the branch this one left, or the last commit), or whose headers do by name.
# TIDY_CHECKS: checks besides those of .clang-tidy.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tidy=clang-tidy-19
if ! command -v $tidy >/dev/null; then
    echo "run_tidy: $tidy is not installed: run make setup" >&2
    exit 1
fi
# clang-tidy must read the commands of a clang build: g++ has flags that it does not know.
cmake --preset clang >/dev/null

sources() { find src tools -name '*.cpp' 2>/dev/null | sort; }
changed() {
    local base=$1 names
    # A header is taken with the sources of its name: h1/head_parser.hpp with h1/head_parser.cpp.
    names=$({ git diff --name-only "$base"; git ls-files --others --exclude-standard; } |
            sed -n 's/\.[hc]pp$//p' | xargs -r -n 1 basename | sort -u)
    [ -n "$names" ] || return 0
    sources | while read -r file; do
        grep -qxF "$(basename "$file" .cpp)" <<<"$names" && echo "$file"
    done
}

if [ "${1:-}" = --changed ]; then
    base=${2:-$(git merge-base HEAD origin/main 2>/dev/null ||
                     git rev-parse -q --verify HEAD || git hash-object -t tree /dev/null)}
    mapfile -t files < <(changed "$base")
elif [ $# -gt 0 ]; then
    files=("$@")
else
    mapfile -t files < <(sources)
fi
if [ ${#files[@]} -eq 0 ]; then
    echo "clang-tidy: nothing to read"
    exit 0
fi
printf '%s\0' "${files[@]}" |
    xargs -0 -n 1 -P 2 $tidy -p build/clang --quiet ${TIDY_CHECKS:+--checks=$TIDY_CHECKS} --warnings-as-errors='*' 2>&1 |
    { grep -vE '^[0-9]+ warnings? (and [0-9]+ errors? )?generated|^Suppressed |^Use -header-filter|^\[[0-9]+/[0-9]+\]' || true; }
echo "clang-tidy: ${#files[@]} sources clean"
