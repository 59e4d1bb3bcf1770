#!/usr/bin/env bash
# usage: scripts/setup.sh [build|all]
#
# Installs what is missing from the packages of Debian or Ubuntu, with sudo where not root.
#   build  what `make run` needs: compiler, CMake, Ninja and the libraries of the program
#   all    also what the tests, checks and benchmarks need (the default)
# Where nothing is missing it says nothing and takes no time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Each line: package [command]. With a command, the machine may have it from anywhere.
build_packages='
g++ g++
cmake cmake
ninja-build ninja
pkg-config pkg-config
libcli11-dev
libtomlplusplus-dev
liburing-dev
libc-ares-dev
libssl-dev
zlib1g-dev
libbrotli-dev
libzstd-dev
libre2-dev
libidn2-dev
libpsl-dev
'
test_packages='
ccache ccache
libgtest-dev
libgmock-dev
libnghttp2-dev
python3 python3
curl curl
golang-go go
strace strace
valgrind valgrind
apache2-utils ab
wrk wrk
nginx-light nginx
haproxy haproxy
apache2-bin apache2
python3-aiohttp
python3-httpx
python3-websockets
python3-aiosmtpd
python3-dkim
python3-nacl
python3-h2
nghttp2-client nghttp
nghttp2-server nghttpd
nghttp2-proxy nghttpx
python3-hypercorn
python3-wsproto
node-ws
golang-nhooyr-websocket-dev
h2o h2o
chromium chromium
prometheus prometheus
libbenchmark-dev
libasio-dev
libuv1-dev
libboost1.81-dev
libpq-dev
postgresql
libunistring-dev
debhelper dh
lintian lintian
dpkg-dev dpkg-buildpackage
fish fish
zsh zsh
man-db man
libcurl4-openssl-dev
nlohmann-json3-dev
openssl openssl
testssl.sh testssl
tinyproxy tinyproxy
microsocks microsocks
dante-server danted
mmdebstrap mmdebstrap
libhiredis-dev
redis-server redis-server
systemd systemd-analyze
postfix postfix
sasl2-bin saslpasswd2
libsasl2-modules
libsasl2-modules-db
libnss-wrapper
libgnutls-dane0
libidn12
libnsl2
libgmime-3.0-dev
libpython3.11-testsuite
'
# Their absence costs some checks only (another compiler, sanitizers, fuzzing, formatting).
llvm_packages='
clang-19 clang-19
clang-tidy-19 clang-tidy-19
clang-format-19 clang-format-19
lld-19 ld.lld-19
libclang-rt-19-dev
llvm-19 llvm-symbolizer-19
'

group=${1:-all}
case $group in
    build) wanted=$build_packages ;;
    all) wanted=$build_packages$test_packages$llvm_packages ;;
    *) sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

say() { printf 'setup: %s\n' "$*"; }

installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

list_missing() {
    local package command
    while read -r package command; do
        [ -n "$package" ] || continue
        PATH=$PATH:/usr/sbin:/sbin command -v "${command:-/nonexistent}" >/dev/null && continue
        installed "$package" || printf '%s\n' "$package"
    done <<<"$wanted"
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "this is neither Debian nor Ubuntu: install by hand what the build then misses"
    exit 0
fi

mapfile -t missing < <(list_missing)

# What an earlier run could find nowhere is not looked for again for a day.
unavailable_list=build/.setup-unavailable
if [ -n "$(find "$unavailable_list" -mmin -1440 2>/dev/null)" ] && [ ${#missing[@]} -gt 0 ]; then
    mapfile -t missing < <(printf '%s\n' "${missing[@]}" | grep -vxFf "$unavailable_list")
fi
as_root=()
apt_get() {
    say "${as_root[*]}${as_root:+ }apt-get $*"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@"
}
# Keeps the services of packages from being started while they are installed (invoke-rc.d(8)).
keep_services_down() {
    [ -e /usr/sbin/policy-rc.d ] && return
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee /usr/sbin/policy-rc.d >/dev/null
    "${as_root[@]}" chmod 755 /usr/sbin/policy-rc.d
    trap 'rm -f "$log"; "${as_root[@]}" rm -f /usr/sbin/policy-rc.d' EXIT
}
has_candidate() {
    local policy
    policy=$(apt-cache policy "$1" 2>/dev/null)
    [[ $policy =~ Candidate:\ [^\(] ]]
}
install_missing() {
    say "missing: ${missing[*]}"
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            say "there is no sudo: as root, run  apt-get install ${missing[*]}"
            exit 1
        fi
        as_root=(sudo)
    fi
    apt_get update || say "some package lists could not be fetched; going on with the others"
    available=()
    unavailable=()
    for package in "${missing[@]}"; do
        if has_candidate "$package"; then available+=("$package"); else unavailable+=("$package"); fi
    done

    if [ ${#available[@]} -gt 0 ]; then
        log=$(mktemp)
        trap 'rm -f "$log"' EXIT
        # Postfix asks what it is for; it is for nothing but its programs.
        if [[ " ${available[*]} " == *" postfix "* ]]; then
            echo "postfix postfix/main_mailer_type select No configuration" |
                "${as_root[@]}" debconf-set-selections || true
        fi
        keep_services_down
        say "installing, which can take some minutes"
        if ! apt_get install -y --no-install-recommends "${available[@]}" >"$log" 2>&1; then
            cat "$log"
            exit 1
        fi
        # Benchmarks start their own; the services that the packages bring would take their ports.
        for pair in nginx:nginx h2o:h2o redis-server:redis-server haproxy:haproxy postfix:postfix \
                    sasl2-bin:saslauthd postgresql:postgresql prometheus:prometheus \
                    tinyproxy:tinyproxy dante-server:danted; do
            service=${pair#*:}
            [[ " ${available[*]} " == *" ${pair%:*}"* ]] && [ -d /run/systemd/system ] || continue
            say "switching off the $service service, which nothing here uses"
            "${as_root[@]}" systemctl disable --now "$service" >/dev/null 2>&1 || true
        done
        say "installed: ${available[*]}"
    fi

    for package in "${unavailable[@]}"; do
        say "not in this system's packages: $package"
        if grep -qE "^${package//+/.}( |\$)" <<<"$build_packages"; then
            say "without it nothing can be built"
            exit 1
        fi
    done
    if [ ${#unavailable[@]} -gt 0 ]; then
        mark_unavailable "${unavailable[@]}"
        say "the checks that need them are left out or fail by name; all else works"
    fi
}
mark_unavailable() {
    mkdir -p build
    printf '%s\n' "$@" >>"$unavailable_list"
}
is_unavailable() {
    [ -n "$(find "$unavailable_list" -mmin -1440 -exec grep -x "$1" {} + 2>/dev/null)" ]
}

# What tests need besides packages is fetched here, into the user's cache: a test downloads nothing. Where
# it cannot be had its tests are skipped, or fail by name where all must be there.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/coracle
three_times() {
    local try
    for try in 1 2 3; do
        "$@" && return
        sleep $((try * 5))
    done
    return 1
}
# fetch_once NAME FILES COMMAND...: unless it succeeded before for the same FILES.
fetch_once() {
    local name=$1 stamp
    # shellcheck disable=SC2086
    stamp=$cache/$name.$(cat $2 | sha256sum | cut -c1-16)
    shift 2
    [ -e "$stamp" ] && return
    is_unavailable "$name" && return
    say "fetching $name"
    if three_times "$@"; then
        mkdir -p "$cache" && touch "$stamp"
    else
        say "$name cannot be had: the tests that need it are left out or fail by name"
        mark_unavailable "$name"
    fi
}
compile_go_peers() {
    (cd tests/support/http_peers/go && GOFLAGS=-mod=readonly GO111MODULE=on CGO_ENABLED=0 go build ./...)
}
fetch_go_smtp() {
    (cd tests/integration/peers/go_smtp && GOFLAGS=-mod=mod go mod download)
}
install_h2spec() {
    PATH=$PATH:$HOME/go/bin command -v h2spec >/dev/null ||
        go install github.com/summerwind/h2spec/cmd/h2spec@latest >/dev/null 2>&1
}
# Debian has one mail server installed at a time, and that is Postfix: Exim is unpacked.
unpack_exim() {
    local folder
    [ -x "$cache/peers/usr/sbin/exim4" ] && return
    folder=$(mktemp -d)
    # As _apt, which may not write here.
    chmod 777 "$folder"
    (cd "$folder" && apt-get -qq download exim4-daemon-light >/dev/null 2>&1) &&
        mkdir -p "$cache/peers" && dpkg -x "$folder"/exim4-daemon-light_*.deb "$cache/peers"
    rm -rf "$folder"
    [ -x "$cache/peers/usr/sbin/exim4" ]
}
# The Autobahn testsuite needs Python 2.7, of which pyenv may have one.
prepare_autobahn() {
    tests/conformance/autobahn.py --prepare 2>/dev/null
}

if [ ${#missing[@]} -gt 0 ]; then install_missing; fi
if [ "$group" = all ]; then
    if command -v go >/dev/null; then
        fetch_once go_peers "tests/support/http_peers/go/go.mod tests/support/http_peers/go/go.sum" compile_go_peers
        fetch_once go_smtp "tests/integration/peers/go_smtp/go.mod tests/integration/peers/go_smtp/go.sum" fetch_go_smtp
        fetch_once h2spec /dev/null install_h2spec
    fi
    fetch_once exim4 /dev/null unpack_exim
    fetch_once autobahn tests/conformance/autobahn.py prepare_autobahn
fi
