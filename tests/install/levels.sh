#!/usr/bin/env bash
# usage: tests/install/levels.sh BUILD_DIR [COMPILER [PIECES]]
#
# Installs a finished build, and builds a server against it at each level of optimisation, as
# pkg-config says, and once without what it says of the stack. None may die of many small pieces. The
# compiler may be another one than that of the library.
set -euo pipefail
build=$(cd "$1" && pwd)
compiler=${2:-c++}
pieces=${3:-200000}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$build/levels-test-$(basename "$compiler")
cache=$(command -v ccache || true)
rm -rf "$work"
mkdir -p "$work"

fail() { echo "levels: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$work/prefix" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
targets=$(find "$work/prefix" -name 'coracleTargets.cmake')
grep -q -- '-foptimize-sibling-calls' "$targets" || fail "the CMake target does not bring the option"
pc=$(dirname "$(find "$work/prefix" -name coracle.pc)")
export PKG_CONFIG_PATH=$pc
pkg-config --cflags coracle | grep -q -- '-foptimize-sibling-calls' || fail "coracle.pc does not bring the option"

try() {
    local name=$1
    shift
    # Word splitting is what the output of pkg-config is made for.
    # shellcheck disable=SC2046
    $cache "$compiler" -std=c++23 -c -o "$work/$name.o" "$here/levels.cpp" $(pkg-config --cflags coracle) "$@" &&
        "$compiler" -o "$work/$name" "$work/$name.o" $(pkg-config --libs coracle) -Wl,-rpath,"$pc" ||
        fail "$name does not build"
    "$work/$name" "$pieces" || fail "$name died of $pieces pieces"
}
try O0 -O0
try O1 -O1
try Og -Og
try O2 -O2
try O3 -O3
try plain -O0 -fno-optimize-sibling-calls
echo "levels: $pieces pieces at each level"
