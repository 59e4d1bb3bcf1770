#!/usr/bin/env bash
# usage: scripts/check_machine.sh [FOLDER]
#
# Looks whether this machine can run the checks at all: the devices that tests write to are devices, and
# there are 2 GiB of memory, and of disk in FOLDER (default: here). What is wrong is said in one line,
# with the command that mends it. Load and programs that burn a core are printed, no more.
set -uo pipefail
folder=${1:-.}
needed=$((2 * 1024 * 1024))  # KiB
wrong=0
fault() {
    echo "machine: $*"
    wrong=1
}

for device in null:3 zero:5 full:7 urandom:9; do
    path=${CORACLE_DEVICES:-/dev}/${device%:*}
    # 1:N is the device itself, and not one more file that somebody put there.
    [ -c "$path" ] && [ "$(stat -c %t:%T "$path")" = "1:${device#*:}" ] && continue
    fault "$path is not the device: rm -f $path && mknod -m 666 $path c 1 ${device#*:}"
done
free_disk=$(df -Pk "$folder" | awk 'NR == 2 { print $4 }')
[ "$free_disk" -ge "$needed" ] ||
    fault "only $((free_disk / 1024)) MiB of disk are free in $folder: make clean, or ccache -C"
free_memory=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
[ "$free_memory" -ge "$needed" ] ||
    fault "only $((free_memory / 1024)) MiB of memory are free: ps -eo pid,rss,args --sort -rss | head"

printf 'machine: %s cores, load %s, %d MiB of memory and %d MiB of disk free\n' \
    "$(nproc)" "$(cut -d' ' -f1-3 /proc/loadavg)" $((free_memory / 1024)) $((free_disk / 1024))
# Of an earlier run, perhaps: they make every limit of time tighter.
ps -eo pid=,pcpu=,etimes=,args= --sort=-pcpu |
    awk '$2 > 50 && $3 > 5 && n++ < 5 { print "machine: busy: " substr($0, 1, 100) }'
exit $wrong
