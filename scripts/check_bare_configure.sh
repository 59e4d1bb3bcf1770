#!/usr/bin/env bash
# usage: scripts/check_bare_configure.sh
#
# Configures the build as a machine would that has what `make run` installs and nothing more: the
# development files of every other package that scripts/setup.sh knows are hidden. check_fresh.sh does
# all of it in a bare root; this one takes two seconds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Packages of the groups beyond `build`, and the files with which CMake and pkg-config would find them.
others=$(sed -n "/^test_packages='/,/^'/p; /^llvm_packages='/,/^'/p" scripts/setup.sh |
         awk '/^[a-z0-9]/ && !/=/ {print $1}')
hidden=$(for package in $others; do dpkg -L "$package" 2>/dev/null || true; done)

mkdir "$work/pkgconfig"
for folder in ${PKG_CONFIG_PATH:+${PKG_CONFIG_PATH//:/ }} $(pkg-config --variable pc_path pkg-config | tr ':' ' '); do
    for module in "$folder"/*.pc; do
        [ -e "$module" ] && ! grep -qxF "$module" <<<"$hidden" && ln -sf "$module" "$work/pkgconfig/"
    done
done
disabled=$(sed -nE 's|.*/([A-Za-z0-9_]+)-?[Cc]onfig\.cmake$|-DCMAKE_DISABLE_FIND_PACKAGE_\1=ON|p' <<<"$hidden")

# Word splitting makes the list of options.
# shellcheck disable=SC2086
env -u PKG_CONFIG_PATH PKG_CONFIG_LIBDIR="$work/pkgconfig" \
    cmake --preset release -B "$work/build" $disabled -DCMAKE_DISABLE_FIND_PACKAGE_Python3=ON \
          -DCORACLE_ASIO_INCLUDE=OFF >"$work/log" 2>&1 ||
    { cat "$work/log"; echo "check_bare_configure: a machine with the packages of \`make run\` alone cannot configure"; exit 1; }
# What proves that something was hidden at all.
for absent in libbenchmark GoogleTest nlohmann-json; do
    grep -q "$absent.* not found" "$work/log" ||
        { cat "$work/log"; echo "check_bare_configure: $absent was not hidden"; exit 1; }
done
echo "check_bare_configure: configures with the packages of \`make run\` alone"
