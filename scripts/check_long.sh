#!/usr/bin/env bash
# usage: [LONG_FUZZ_SECONDS=600] [REPEAT=20] [CORACLE_SEEDS=100000] scripts/check_long.sh
#
# What takes too long for every change: each fuzz target for LONG_FUZZ_SECONDS, and 100,000 mails;
# each test program REPEAT times in random order under each sanitizer, CORACLE_SEEDS seeds of the simulated
# network, tests/soak (ten minutes of mixed traffic, or SOAK_SECONDS; uploads of 1 GiB; testssl.sh), and the
# static analyzer.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
repeat=${REPEAT:-20}
# make exports the 30 seconds of `make fuzz`; what is long here is longer.
seconds=${LONG_FUZZ_SECONDS:-600}
# For the last of the runs alone: every other one has the number that its test asks for.
seeds=${CORACLE_SEEDS:-100000}
unset CORACLE_SEEDS

echo "== the README on a bare machine"
scripts/check_fresh.sh
echo "== the Debian packages on a bare machine"
scripts/check_packages.sh
echo "== the packages of Conan and vcpkg, where these tools are"
scripts/check_ports.py --build
echo "== the site"
scripts/check_site.py

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
echo "== no test blocks a loop in one system call for a millisecond"
for backend in uring epoll poll; do
    for program in build/release/bin/coracle_{unit,integration}_tests; do
        said=$(CORACLE_BACKEND=$backend CORACLE_STALL_LIMIT=1 CORACLE_TEST_SOURCE_DIR=$PWD \
               CORACLE_TEST_BIN_DIR=$PWD/build/release/bin "$program" --gtest_brief=1 2>&1)
        if grep 'is blocked in system call' <<<"$said"; then exit 1; fi
    done
done
echo "== every header, and every program in the documents"
CORACLE_CHECK_AGAIN=1 scripts/check_headers.py
CORACLE_CHECK_AGAIN=1 scripts/check_docs.py
for compiler in c++ clang++-19; do
    echo "== two million pieces, at each level of optimisation by $compiler"
    tests/install/levels.sh build/release "$compiler" 2000000
done
echo "== the benchmarks compile"
cmake --build --preset release --target coracle_programs
echo "== clang, optimised"
cmake --preset clang >/dev/null
cmake --build --preset clang
ctest --preset clang -L '^(unit|wire|fuzz|compile_fail|integration)$'
echo "== g++, AddressSanitizer: what only its coroutines get wrong"
cmake --preset gcc-asan >/dev/null
cmake --build --preset gcc-asan
ctest --preset gcc-asan -L '^(unit|wire|integration)$'

for script in tests/soak/*; do
    [ -x "$script" ] || continue
    echo "== $script"
    CORACLE_REQUIRE_PEERS=1 CORACLE_TEST_BIN_DIR=$PWD/build/release/bin "$script"
done
echo "== uploads of 1 GiB over HTTP/2"
H2_UPLOAD_MIB=1024 CORACLE_REQUIRE_PEERS=1 CORACLE_TEST_BIN_DIR=$PWD/build/release/bin \
    python3 tests/integration/peers/h2_clients_test.py
for preset in release asan; do
    # A sanitizer takes some twenty times as long.
    [ "$preset" = asan ] && count=$((seeds / 20)) || count=$seeds
    echo "== $count seeds of the simulated network, $preset"
    CORACLE_SEEDS=$count "build/$preset/bin/coracle_integration_tests" --gtest_brief=1 \
        --gtest_filter='server_simulation.loses_*:smtp_simulation.loses_*'
done
FUZZ_SECONDS=$seconds scripts/run_fuzz.sh
echo "== 100,000 mails, mutated"
build/asan/bin/fuzz_mime_message -runs=100000 -verbosity=0 -timeout=10 -rss_limit_mb=1024 \
    -artifact_prefix=build/fuzz/failures/fuzz_mime_message- \
    build/fuzz/corpus/fuzz_mime_message fuzz/corpus/fuzz_mime_message

echo "== static analyzer"
TIDY_CHECKS='clang-analyzer-core.*,clang-analyzer-cplusplus.*,-clang-analyzer-cplusplus.NewDeleteLeaks' \
    scripts/run_tidy.py
