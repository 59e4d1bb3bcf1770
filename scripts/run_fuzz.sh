#!/usr/bin/env bash
# usage: [FUZZ_SECONDS=30] [FUZZ_JOBS=2] scripts/run_fuzz.sh [fuzz_NAME...]
#
# Builds the fuzz targets with libFuzzer and runs each for FUZZ_SECONDS, FUZZ_JOBS at a time, from
# the corpus in fuzz/corpus/TARGET. New inputs go to build/fuzz/corpus/TARGET and what fails to
# build/fuzz/failures/TARGET-*: put that file into fuzz/corpus/TARGET together with the fix, and
# the test suite replays it for ever.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${FUZZ_SECONDS:-30}
jobs=${FUZZ_JOBS:-2}

cmake --preset asan >/dev/null
cmake --build --preset asan --target fuzzers
if [ $# -gt 0 ]; then
    targets=("$@")
else
    mapfile -t targets < <(find fuzz -maxdepth 1 -name 'fuzz_*.cpp' -printf '%f\n' | sed 's/\.cpp$//' | sort)
fi
if [ ${#targets[@]} -eq 0 ]; then
    echo "fuzz: there are no targets" >&2
    exit 1
fi
mkdir -p build/fuzz/failures build/fuzz/logs

run_one() {
    local name=$1 found=build/fuzz/corpus/$1 log=build/fuzz/logs/$1.log options=()
    mkdir -p "$found"
    [ -f "fuzz/$name.dict" ] && options+=("-dict=fuzz/$name.dict")
    if ! "build/asan/bin/$name" "${options[@]}" "$found" "fuzz/corpus/$name" \
            -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
            -artifact_prefix="build/fuzz/failures/$name-" >"$log" 2>&1; then
        tail -n 60 "$log"
        echo "fuzz: $name FAILED; its input is in build/fuzz/failures"
        return 1
    fi
    awk -v name="$name" '/number_of_executed_units/ { runs = $2 } / cov: / { for (i = 1; i < NF; ++i)
        { if ($i == "cov:") cov = $(i + 1); if ($i == "corp:") corp = $(i + 1) } }
        END { printf "fuzz: %s: %s runs, %s edges, corpus %s\n", name, runs, cov, corp }' "$log"
}
export -f run_one
export seconds
printf '%s\0' "${targets[@]}" | xargs -0 -n 1 -P "$jobs" bash -c 'run_one "$0" || exit 1'
