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
cache=$(command -v ccache || true)
[ -z "$cache" ] || export CMAKE_CXX_COMPILER_LAUNCHER=$cache
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

# The component redis, where it was built: only who names it needs hiredis.
has_redis=$(find "$prefix" -name coracle-redis.pc)
if [ -n "$has_redis" ]; then
    cmake -S "$here" -B "$work/redis" -DCMAKE_PREFIX_PATH="$prefix" -DWITH_REDIS=ON \
          -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release >"$work/redis.log"
    cmake --build "$work/redis" >>"$work/redis.log" || { cat "$work/redis.log"; fail "find_package consumer of redis"; }
    check "$work/redis/redis_consumer"
elif cmake -S "$here" -B "$work/redis" -DCMAKE_PREFIX_PATH="$prefix" -DWITH_REDIS=ON \
           -DCMAKE_CXX_COMPILER="$compiler" >"$work/redis.log" 2>&1; then
    fail "a component that was not built is found"
elif ! tr -d '\n ' <"$work/redis.log" | grep -q libhiredis-dev; then
    cat "$work/redis.log"
    fail "nothing says why the component redis is not there"
fi
# The check of awaits refuses the target that has what g++ 12 makes wrong code of, and names the line.
said=$(cmake --build "$work/cmake" --target careful 2>&1) || fail "coracle_check_awaits refuses a good target: $said"
if said=$(cmake --build "$work/cmake" --target careless 2>&1); then
    fail "coracle_check_awaits accepts an await behind ||"
fi
grep -q 'careless.cpp:[0-9]*: error: co_await behind' <<<"$said" || fail "coracle_check_awaits names no line: $said"

# Missing libraries are named when the project is configured, with the packages that have them.
if compgen -G "$prefix/lib*/libcoracle.a" "$prefix/lib/*/libcoracle.a" >/dev/null; then
    if said=$(cmake -S "$here" -B "$work/missing" -DCMAKE_PREFIX_PATH="$prefix" -DHIDE_LIBRARIES=ON \
                    -DCMAKE_CXX_COMPILER="$compiler" 2>&1); then
        fail "a machine without the libraries configures without a word"
    fi
    for package in libpsl-dev libssl-dev libre2-dev; do
        grep -q "$package" <<<"$(tr -d '\n ' <<<"$said")" || fail "nothing says that $package is missing: $said"
    done
fi

pc=$(dirname "$(find "$prefix" -name coracle.pc)")
export PKG_CONFIG_PATH=$pc
[ "$(pkg-config --modversion coracle)" = "$expected" ] || fail "pkg-config says another version"
build_by_pkg_config() {
    local program=$1 source=$2 package=$3
    # Word splitting is what the output of pkg-config is made for.
    # shellcheck disable=SC2046
    $cache "$compiler" -std=c++23 -c -o "$work/$program.o" "$here/$source" $(pkg-config --cflags "$package")
    # shellcheck disable=SC2046
    "$compiler" -o "$work/$program" "$work/$program.o" $(pkg-config --libs "$package") \
        -Wl,-rpath,"$(dirname "$pc")"
}
build_by_pkg_config by_pkg_config consumer.cpp coracle
check "$work/by_pkg_config"

if [ -n "$has_redis" ]; then
    build_by_pkg_config redis_by_pkg_config redis_consumer.cpp coracle-redis
    check "$work/redis_by_pkg_config"
fi

# Without a shared library of anything: what --static adds is all that a link needs.
if compgen -G "$prefix/lib*/libcoracle.a" "$prefix/lib/*/libcoracle.a" >/dev/null &&
    echo 'int main(){}' | "$compiler" -x c++ - -o "$work/probe" -static -lpsl -lidn2 -lunistring 2>/dev/null; then
    # shellcheck disable=SC2046
    "$compiler" -static -o "$work/static" "$work/by_pkg_config.o" $(pkg-config --static --libs coracle) \
        2>"$work/static.log" || { cat "$work/static.log"; fail "pkg-config --static"; }
    check "$work/static"
fi

# FetchContent from a folder: the targets and the check of awaits are there, and nothing of ours is built beside
# the library. Configured only; building it would take minutes.
mkdir "$work/fetching"
cp "$here/consumer.cpp" "$here/careful.cpp" "$work/fetching/"
cat >"$work/fetching/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(fetching LANGUAGES CXX)
include(FetchContent)
FetchContent_Declare(coracle SOURCE_DIR "${CORACLE_TREE}")
FetchContent_MakeAvailable(coracle)
add_executable(consumer consumer.cpp)
target_link_libraries(consumer PRIVATE coracle::coracle)
add_executable(careful careful.cpp)
target_link_libraries(careful PRIVATE coracle::coracle)
coracle_check_awaits(careful)
CMAKE
cmake -S "$work/fetching" -B "$work/fetching/build" -DCORACLE_TREE="$(cd "$here/../.." && pwd)" \
      -DCMAKE_CXX_COMPILER="$compiler" >"$work/fetching.log" || { cat "$work/fetching.log"; fail "FetchContent"; }
cmake --build "$work/fetching/build" --target help >"$work/fetching.targets"
for target in coracle_tool coracle_unit_tests example_hello; do
    grep -q "$target" "$work/fetching.targets" && fail "FetchContent brings $target along"
done
cmake --build "$work/fetching/build" --target careful_check_awaits >>"$work/fetching.log" ||
    { cat "$work/fetching.log"; fail "coracle_check_awaits of a fetched tree"; }

if [ -x "$prefix/bin/coracle" ]; then
    "$prefix/bin/coracle" --version | grep -qF "$expected" || fail "the installed program does not say $expected"
    if command -v readelf >/dev/null && readelf -d "$prefix/bin/coracle" | grep -F "$build"; then
        fail "the program's run path names the build tree"
    fi
fi
echo "install: both consumers built, ran and said $expected"
