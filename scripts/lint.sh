#!/usr/bin/env bash
# usage: scripts/lint.sh [--changed]
#
# Every check that reads the sources. --changed: clang-tidy on changed files only.
# Goes on after a failure, so that one run shows all that is wrong.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
failed=()
check() {
    printf -- '-- %s\n' "$*"
    "$@" || failed+=("$1")
}
check scripts/check_layers.py
check scripts/check_sources_of_time.py
check scripts/check_awaits.py
check scripts/check_operations.py
check scripts/check_words.py
check scripts/check_umbrellas.py
check scripts/test_checks.py
check scripts/check_ports.py
check scripts/check_format.sh
check scripts/check_headers.py
check scripts/check_limits.py
check scripts/check_docs.py
check scripts/run_tidy.py "$@"
if [ ${#failed[@]} -gt 0 ]; then
    printf 'lint: failed: %s\n' "${failed[*]}"
    exit 1
fi
echo "lint: clean"
