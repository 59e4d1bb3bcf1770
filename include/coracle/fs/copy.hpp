#pragma once

#include <coracle/base/unique_function.hpp>
#include <coracle/runtime/operation.hpp>

#include <cstdint>
#include <string>

namespace coracle::fs {

struct copy_options {
    /// Replaces what is there, at once. Default: fails with `file_exists`.
    bool overwrite = false;
    /// Completes when the copy is on the disk, with its names. Default: when others see it.
    bool durable = false;
    /// Gives the copy the times of the original; of a tree, all that is made. Default: it is new.
    bool keep_times = false;
    /// Called after each piece, of up to `most_bytes_a_call`: bytes copied of this file, bytes that
    /// it has. Default: nobody is told.
    unique_function<void(std::uint64_t, std::uint64_t)> progress{};
};

/// Copies the content and the permissions of a regular file: the number of bytes. The kernel does
/// it where it can (copy_file_range, which shares blocks on file systems that know how), else the
/// bytes go through memory. The copy gets its name when it is whole: failed or cancelled, nothing
/// is left behind and what was there before is there. Symbolic links are followed on both sides.
operation<std::uint64_t> copy_file(std::string from, std::string to, copy_options options = {});

/// What `copy_tree` has copied.
struct copied_tree {
    std::uint64_t directories = 0;
    std::uint64_t files = 0;
    std::uint64_t links = 0;
    std::uint64_t skipped = 0;  ///< FIFOs, sockets and devices, which it leaves out
    std::uint64_t bytes = 0;
};

/// Copies a directory with all that is in it into the directory `to`, which is made when it is
/// missing. Symbolic links are copied as links. Directories that are there are filled, and keep
/// their permissions; files that are there are an error unless `overwrite` says otherwise. No
/// set-id bits are copied. Ends at the first failure, or when it
/// is cancelled: what was copied stays. Fails with `invalid_argument` when `to` is in `from`.
operation<copied_tree> copy_tree(std::string from, std::string to, copy_options options = {});

}  // namespace coracle::fs
