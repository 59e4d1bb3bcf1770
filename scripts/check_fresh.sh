#!/usr/bin/env bash
# usage: scripts/check_fresh.sh [--if-changed]
#
# Follows the README on a bare Debian 12: a minimal root with git, make and ca-certificates, a user with
# sudo, a path with a blank, the tree without .git. There `make run` must serve its page, and the
# README's program must build against the installed tree both ways, by the README's own commands: there, and on
# a second machine that has the installed tree and the packages that the README names for that, no more.
#
#   --if-changed   only where the files that decide it differ from those that passed before
#
# Needs root (it asks sudo), mmdebstrap and some ten minutes; the root is kept as a tar for a month.
set -euo pipefail
[ "$(id -u)" -eq 0 ] || exec sudo --preserve-env=XDG_CACHE_HOME,HOME "$0" "$@"
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cache=${XDG_CACHE_HOME:-$HOME/.cache}/coracle
tar=$cache/bare-bookworm.tar
mkdir -p "$cache"

# Two runs over the same bytes of these differ in nothing that this check is about.
fingerprint=$(find cmake CMakeLists.txt CMakePresets.json Makefile README.md scripts/setup.sh "$0" -type f \
                   -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -d ' ' -f 1)
if [ "${1:-}" = --if-changed ] && grep -qsxF "$fingerprint" "$cache/fresh-passed"; then
    echo "check_fresh: nothing that decides it has changed since it passed"
    exit 0
fi

say() { printf 'check_fresh: %s\n' "$*"; }
fail() { say "$*" >&2; exit 1; }

if [ -z "$(find "$tar" -mtime -30 2>/dev/null)" ]; then
    say "making the bare root"
    mapfile -t options < <(apt-config dump | sed -nE 's/^(Acquire::(Check|http|https)[^ ]*) (.*);$/--aptopt=\1 \3/p')
    find /etc/apt -name '*.sources' -o -name 'sources.list' | sort | xargs cat >"$cache/sources"
    mmdebstrap --quiet --variant=minbase --include=git,make,ca-certificates,sudo "${options[@]}" \
        bookworm "$cache/new.tar" <"$cache/sources" || fail "mmdebstrap could not make a root"
    mv "$cache/new.tar" "$tar"
fi

root=$(mktemp -d)
second=$(mktemp -d)
server=
clean_up() {
    [ -z "$server" ] || kill -- "-$server" 2>/dev/null || true
    for machine in "$root" "$second"; do
        for mounted in dev proc; do umount --lazy "$machine/$mounted" 2>/dev/null || true; done
        rm -rf --one-file-system "$machine"
    done
}
trap clean_up EXIT

# A bare machine in this directory.
begin() {
    tar -C "$1" -xf "$tar"
    mount --rbind /dev "$1/dev" && mount --make-rslave "$1/dev"
    mount -t proc proc "$1/proc"
    cp /etc/resolv.conf "$1/etc/"
    cp --remove-destination /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/"
    chroot "$1" useradd --create-home --shell /bin/bash boat
    echo 'boat ALL=(ALL) NOPASSWD: ALL' >"$1/etc/sudoers.d/boat"
}

# Runs a command as the user of a bare machine, in a directory below its home.
as_user() {
    chroot "$1" sudo -u boat -H env -i HOME=/home/boat USER=boat LANG=C.UTF-8 \
        PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin bash -c "cd \"\$HOME/$2\" && $3"
}

begin "$root"
tree="home/boat/my projects/coracle"
mkdir -p "$root/$tree"
git ls-files -z --cached --others --exclude-standard | tar --null -cf - -T - | tar -C "$root/$tree" -xf -
chroot "$root" chown -R boat:boat /home/boat

say "make run"
set -m
as_user "$root" "my projects/coracle" 'exec make run ARGS="--listen 127.0.0.1:0"' >"$root/run.log" 2>&1 &
server=$!
set +m
url=
for _ in $(seq 1800); do
    url=$(grep -oE 'http://127\.0\.0\.1:[0-9]+' "$root/run.log" | head -n 1) && break
    kill -0 "$server" 2>/dev/null || break
    sleep 1
done
[ -n "$url" ] || { tail -n 40 "$root/run.log"; fail "make run did not come to serve its page"; }
python3 - "$url" <<'PYTHON' || { tail -n 20 "$root/run.log"; fail "the welcome page is not there"; }
import sys, urllib.request
page = urllib.request.build_opener(urllib.request.ProxyHandler({})).open(sys.argv[1] + "/", timeout=20).read()
sys.exit(0 if b"Coracle" in page else 1)
PYTHON
kill -INT -- "-$server"
wait "$server" || true
server=

say "the README's consumers"
# The blocks of the README: its first program, its CMakeLists.txt, its install line, its compile line.
block() { awk -v want="$1" '/^```/ {inside = !inside; if (inside) {text = ""} else if (text ~ want) {printf "%s", text; exit}; next}
                            inside {text = text $0 "\n"}' README.md; }
mkdir -p "$root/home/boat/greeter"
block 'routes.get\("/hello' >"$root/home/boat/greeter/main.cpp"
block 'project\(greeter' >"$root/home/boat/greeter/CMakeLists.txt"
install=$(block 'cmake --install' | sed 's/ *#.*//')
compile=$(block 'pkg-config --cflags')
for piece in "$(cat "$root/home/boat/greeter/main.cpp")" "$(cat "$root/home/boat/greeter/CMakeLists.txt")" "$install" "$compile"; do
    [ -n "$piece" ] || fail "the README has lost a block that this check takes from it"
done
chroot "$root" chown -R boat:boat /home/boat
as_user "$root" "my projects/coracle" "$install" >"$root/install.log" 2>&1 || { tail -n 30 "$root/install.log"; fail "$install"; }

build_greeter() {
    as_user "$1" greeter "cmake -S . -B build && cmake --build build && test -x build/greeter" >"$1/cmake.log" 2>&1 ||
        { tail -n 30 "$1/cmake.log"; fail "find_package does not build the README's program"; }
    as_user "$1" greeter "$compile && test -x greeter" >"$1/pc.log" 2>&1 ||
        { tail -n 30 "$1/pc.log"; fail "pkg-config does not build the README's program"; }
}
build_greeter "$root"

say "the README's consumers where only its packages are installed"
packages=$(tr '\n' ' ' <README.md | sed -nE 's/.*`(apt-get install g\+\+ [^`]*)`.*/\1/p')
[ -n "$packages" ] || fail "the README names no packages for linking"
begin "$second"
cp -a "$root/usr/local" "$second/usr/"
mkdir "$second/home/boat/greeter"
cp "$root/home/boat/greeter/main.cpp" "$root/home/boat/greeter/CMakeLists.txt" "$second/home/boat/greeter/"
chroot "$second" chown -R boat:boat /home/boat
as_user "$second" . "sudo apt-get update && sudo DEBIAN_FRONTEND=noninteractive ${packages/install/install -y}" \
    >"$second/packages.log" 2>&1 || { tail -n 30 "$second/packages.log"; fail "$packages"; }
build_greeter "$second"

grep -qsxF "$fingerprint" "$cache/fresh-passed" || echo "$fingerprint" >>"$cache/fresh-passed"
say "a bare Debian 12 serves the page and builds the README's program both ways, another one with the README's packages too"
