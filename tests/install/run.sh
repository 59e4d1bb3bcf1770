#!/usr/bin/env bash
# usage: tests/install/run.sh BUILD_DIR [COMPILER]
#
# Installs a finished build into a prefix below it, moves that prefix, and builds and runs a consumer
# against it twice: through find_package, and through pkg-config.
set -euo pipefail
build=$(cd "$1" && pwd)
compiler=${2:-c++}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$build/install-test
rm -rf "$work"
mkdir -p "$work"

fail() { echo "install: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$work/staged" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
# A tree that is moved must still work: no path of the build or of the first prefix may stay in it.
mv "$work/staged" "$work/prefix"
prefix=$work/prefix
if grep -rIlF -e "$build" -e "$work/staged" "$prefix"; then
    fail "the files above name the tree that they were built in"
fi

expected=$(sed -n 's/^project(coracle VERSION \([0-9.]*\).*/\1/p' "$here/../../CMakeLists.txt")
check() {
    local said
    said=$("$@") || fail "$* failed"
    [ "$said" = "$expected" ] || fail "$* says version '$said', not '$expected'"
}

cmake -S "$here" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler" \
      -DCMAKE_BUILD_TYPE=Release >"$work/cmake.log"
cmake --build "$work/cmake" >>"$work/cmake.log" || { cat "$work/cmake.log"; fail "find_package consumer"; }
check "$work/cmake/consumer"

pc=$(dirname "$(find "$prefix" -name coracle.pc)")
export PKG_CONFIG_PATH=$pc
[ "$(pkg-config --modversion coracle)" = "$expected" ] || fail "pkg-config says another version"
# Word splitting is what the output of pkg-config is made for.
# shellcheck disable=SC2046
"$compiler" -std=c++23 -o "$work/by_pkg_config" "$here/consumer.cpp" \
    $(pkg-config --cflags --libs coracle) -Wl,-rpath,"$(dirname "$pc")"
check "$work/by_pkg_config"

if [ -x "$prefix/bin/coracle" ]; then
    "$prefix/bin/coracle" --version | grep -qF "$expected" || fail "the installed program does not say $expected"
    if command -v readelf >/dev/null && readelf -d "$prefix/bin/coracle" | grep -F "$build"; then
        fail "the program's run path names the build tree"
    fi
fi
echo "install: both consumers built, ran and said $expected"
