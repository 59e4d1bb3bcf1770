#!/bin/sh
# usage: cmake/compile_cached.sh CCACHE COMPILER [ARGUMENT...]
#
# Compiles through ccache.
#
# Without the sloppiness ccache passes on everything that uses a precompiled header. By dependencies, never
# by preprocessed text: where only a comment has changed, the text is the same, and the precompiled header
# of the old comment comes back, for which g++ no longer knows that it has seen the file (#pragma once).
# The namespace leaves behind what caches hold of that kind.
export CCACHE_DEPEND=1 CCACHE_NAMESPACE=by_dependencies
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime

# The precompiled headers of g++ have up to 130 MB, and ccache would read them anew for each source that
# uses one (0.11 s in place of 0.03). It takes the checksum beside them instead. One that is there while
# it is compiled anew would count among its sources: the outcome would be found in no other folder.
export CCACHE_PCH_EXTSUM=1
precompiled=
for argument; do
    case $argument in *.gch) precompiled=$argument ;; esac
done
[ -n "$precompiled" ] || exec "$@"
rm -f "$precompiled" "$precompiled.sum"
"$@" && sha256sum <"$precompiled" >"$precompiled.sum"
