#!/usr/bin/env bash
# usage: scripts/check_format.sh [--fix]
#
# Finds the files that clang-format would write otherwise; --fix rewrites them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
format=clang-format-19
mode=(--dry-run --Werror)
[ "${1:-}" = --fix ] && mode=(-i)
if ! command -v $format >/dev/null; then
    echo "check_format: $format is not installed: run make setup" >&2
    exit 1
fi
find include src tools tests fuzz bench examples \( -name '*.hpp' -o -name '*.cpp' \) -print0 2>/dev/null |
    xargs -0 -r -n 20 -P 2 $format --style=file "${mode[@]}"
