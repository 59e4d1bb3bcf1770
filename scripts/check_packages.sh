#!/usr/bin/env bash
# usage: scripts/check_packages.sh [--if-changed]
#
# Builds the Debian packages of this tree, reads them with lintian, installs them on the bare root of
# check_fresh.sh, builds and runs the README's program against them both ways, one of the component redis, and
# `coracle serve --config`, and removes them: no file may stay behind.
#
#   --if-changed   only where what they are made of differs from what passed before
#
# Needs root (it asks sudo), the packages of setup.sh, debhelper, lintian and mmdebstrap. A build takes as long as
# that of the library; objects are kept by ccache.
set -euo pipefail
[ "$(id -u)" -eq 0 ] || exec sudo --preserve-env=XDG_CACHE_HOME,HOME "$0" "$@"
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cache=${XDG_CACHE_HOME:-$HOME/.cache}/coracle
mkdir -p "$cache"
say() { printf 'check_packages: %s\n' "$*"; }
fail() { say "$*" >&2; exit 1; }

fingerprint=$(find debian cmake include src tools CMakeLists.txt README.md "$0" -type f -print0 | sort -z | xargs -0 sha256sum |
              sha256sum | cut -d ' ' -f 1)
if [ "${1:-}" = --if-changed ] && grep -qsxF "$fingerprint" "$cache/packages-passed"; then
    say "nothing that decides it has changed since it passed"
    exit 0
fi
for tool in dpkg-buildpackage dh lintian mmdebstrap; do
    command -v "$tool" >/dev/null || fail "$tool is not installed"
done

# One path each time, so that ccache finds what it has.
work=$PWD/build/packages
rm -rf "$work"
mkdir -p "$work/coracle"
git ls-files -z --cached --others --exclude-standard | tar --null -cf - -T - | tar -C "$work/coracle" -xf -
say "building"
(cd "$work/coracle" && DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS:-noautodbgsym} parallel=$(nproc)" \
    dpkg-buildpackage -b --no-sign) >"$work/build.log" 2>&1 ||
    { tail -n 40 "$work/build.log"; fail "dpkg-buildpackage failed: $work/build.log"; }
packages="coracle libcoracle-dev libcoracle0 libcoracle-redis-dev libcoracle-redis0"
for package in $packages; do
    compgen -G "$work/${package}_*.deb" >/dev/null || fail "$package was not built"
done

say "lintian"
said=$(lintian --fail-on error,warning --tag-display-limit 0 "$work"/*.changes 2>&1) ||
    { echo "$said"; fail "lintian has found faults"; }
[ -z "$said" ] || echo "$said"

say "exported names"
deb_root=$work/unpacked
dpkg-deb -x "$work"/libcoracle0_*.deb "$deb_root"
library=$(find "$deb_root" -name 'libcoracle.so.*.*.*')
nm -DC --defined-only "$library" >"$work/names"
say "$(wc -l <"$work/names") names"
grep -q 'coracle::http::serve(' "$work/names" || fail "http::serve is not exported"
# Declared in src/http/router/ alone.
if grep -q ' T coracle::http::detail::build_path' "$work/names"; then fail "what is private is exported"; fi

tar=$cache/bare-bookworm.tar
[ -f "$tar" ] || scripts/check_fresh.sh || fail "there is no bare root"
root=$(mktemp -d)
clean_up() {
    for mounted in dev proc; do umount --lazy "$root/$mounted" 2>/dev/null || true; done
    rm -rf --one-file-system "$root"
}
trap clean_up EXIT
tar -C "$root" -xf "$tar"
mount --rbind /dev "$root/dev" && mount --make-rslave "$root/dev"
mount -t proc proc "$root/proc"
cp /etc/resolv.conf "$root/etc/"
cp --remove-destination /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
cp "$work"/*.deb "$root/root/"
inside() { chroot "$root" env DEBIAN_FRONTEND=noninteractive LANG=C.UTF-8 bash -euc "$1"; }
quietly() { inside "$1" >"$root/log" 2>&1 || { tail -n 30 "$root/log"; fail "$1"; }; }

say "installing on the bare root"
quietly 'apt-get -qq update && apt-get -qq install -y --no-install-recommends g++ cmake pkg-config'
quietly 'apt-get -qq install -y --no-install-recommends /root/*.deb'
inside 'coracle --version; test -s /usr/share/man/man1/coracle-serve.1.gz; ldd /usr/bin/coracle | grep -q libcoracle.so.0'

say "the README's program"
block() { awk -v want="$1" '/^```/ {inside = !inside; if (inside) {text = ""} else if (text ~ want) {printf "%s", text; exit}; next}
                            inside {text = text $0 "\n"}' README.md; }
mkdir "$root/root/greeter"
block 'routes.get\("/hello' >"$root/root/greeter/main.cpp"
block 'project\(greeter' >"$root/root/greeter/CMakeLists.txt"
quietly 'cd /root/greeter && cmake -S . -B build && cmake --build build'
quietly "cd /root/greeter && $(block 'pkg-config --cflags')"
quietly 'cd /root/greeter && g++ -std=c++23 -fvisibility=hidden main.cpp $(pkg-config --cflags coracle) \
    -Wl,-Bstatic -lcoracle -Wl,-Bdynamic $(pkg-config --static --libs coracle | sed s/-lcoracle//) -o static'
for program in build/greeter greeter static; do
    # The port is taken by nobody there, for it has a network of its own.
    unshare --net chroot "$root" bash -euc "
        cd /root/greeter; ip link set lo up 2>/dev/null || true
        timeout --foreground 20 ./$program >said & sleep 0; for _ in \$(seq 200); do grep -qs listening said && break; sleep 0.1; done
        grep listening said; kill -TERM \$!; wait \$! || true" || fail "$program does not serve"
done
say "the component redis, and the configuration of serve"
# Hidden, it shares what headers define with the library all the same: the current loop, the keys of types.
quietly 'mkdir /root/shared && cd /root/shared && cat >main.cpp <<"END" && cat >CMakeLists.txt <<"END2" &&
#include <coracle/coracle.hpp>
#include <coracle/redis/client.hpp>
using namespace coracle;
int main() {
    const auto fails = []() -> task<int> {
        redis::client c("127.0.0.1:1");
        auto asking = c.command("PING");
        co_return (co_await as_result(asking)).has_value() ? 1 : 0;
    };
    return block_on(fails);
}
END
cmake_minimum_required(VERSION 3.25)
project(shared CXX)
find_package(coracle REQUIRED COMPONENTS redis)
add_executable(shared main.cpp)
target_link_libraries(shared PRIVATE coracle::redis)
target_compile_options(shared PRIVATE -fvisibility=hidden)
END2
    cmake -S . -B build && cmake --build build && build/shared &&
    g++ -std=c++23 main.cpp $(pkg-config --cflags --libs coracle-redis) -o again && ./again &&
    printf "listen = [\"127.0.0.1:0\"]\n" >serve.toml && coracle serve --config serve.toml --check'

inside 'cd /root/greeter; ldd build/greeter | grep -q libcoracle.so.0 && ! ldd static | grep -q libcoracle'

say "removing"
quietly "apt-get -qq purge -y $packages"
left=$(inside 'find / -xdev -path "*coracle*" -not -path "/proc/*" -not -path "/root/*" -not -path "/var/cache/*"')
[ -z "$left" ] || fail "left behind: $left"
grep -qsxF "$fingerprint" "$cache/packages-passed" || echo "$fingerprint" >>"$cache/packages-passed"
say "built, clean, installed, linked and removed"
