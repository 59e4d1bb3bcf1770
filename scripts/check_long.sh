#!/usr/bin/env bash
# usage: [LONG_FUZZ_SECONDS=600] [REPEAT=20] scripts/check_long.sh
#
# What takes too long for every change: each fuzz target for LONG_FUZZ_SECONDS, each test program REPEAT
# times in random order under each sanitizer, the soak scripts in tests/soak, and the static analyzer.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
repeat=${REPEAT:-20}
# make exports the 30 seconds of `make fuzz`; what is long here is longer.
seconds=${LONG_FUZZ_SECONDS:-600}

for preset in release asan tsan; do
    cmake --preset "$preset" >/dev/null
    cmake --build --preset "$preset"
    for program in build/"$preset"/bin/coracle_*_tests; do
        [ -x "$program" ] || continue
        echo "== $program, $repeat times in random order"
        CORACLE_TEST_BIN_DIR=$PWD/build/$preset/bin CORACLE_TEST_SOURCE_DIR=$PWD \
            "$program" --gtest_repeat="$repeat" --gtest_shuffle --gtest_brief=1 \
            --gtest_throw_on_failure
    done
done
echo "== g++, AddressSanitizer: what only its coroutines get wrong"
cmake --preset gcc-asan >/dev/null
cmake --build --preset gcc-asan
ctest --preset gcc-asan -L '^(unit|wire|integration)$'

for script in tests/soak/*; do
    [ -x "$script" ] || continue
    echo "== $script"
    CORACLE_TEST_BIN_DIR=$PWD/build/release/bin "$script"
done
FUZZ_SECONDS=$seconds scripts/run_fuzz.sh

echo "== static analyzer"
TIDY_CHECKS='clang-analyzer-core.*,clang-analyzer-cplusplus.*,-clang-analyzer-cplusplus.NewDeleteLeaks' \
    scripts/run_tidy.sh
