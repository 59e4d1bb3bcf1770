#pragma once

#include <coracle/base/unique_function.hpp>
#include <coracle/runtime/operation.hpp>

#include <cstdint>
#include <string>

namespace coracle::fs {

struct copy_options {
    /// Replaces an existing file atomically, but no device, FIFO or socket
    /// (`operation_not_supported`). Default: fails with `file_exists`.
    bool overwrite = false;
    /// Completes when the copy is on the disk, with its names. Default: when others see it.
    bool durable = false;
    /// Sets the times of the copy, or of all of a copied tree, to those of the original. Default:
    /// the current time.
    bool keep_times = false;
    /// Called after each piece, of up to `most_bytes_a_call`: with the bytes copied of this file,
    /// and its size. Default: no call.
    unique_function<void(std::uint64_t, std::uint64_t)> progress{};
};

/// Copies the content and the permissions of a regular file; gives the number of bytes. The kernel
/// does it where it can (copy_file_range, which shares blocks on file systems that know how), else
/// the bytes go through memory. The copy gets its name when it is complete: after a failure or a
/// cancellation before that no part of it remains, and a file that was there is untouched. What may
/// fail behind it is the sync of its directory, with `durable`. Symbolic links are followed on both
/// sides.
operation<std::uint64_t> copy_file(std::string from, std::string to, copy_options options = {});

/// The result of `copy_tree`.
struct copied_tree {
    std::uint64_t directories = 0;
    std::uint64_t files = 0;
    std::uint64_t links = 0;
    std::uint64_t skipped = 0;  ///< FIFOs, sockets and devices, which it leaves out
    std::uint64_t bytes = 0;
};

/// Copies a directory with all that is in it into the directory `to`, which is made when it is
/// missing. Symbolic links are copied as links. Directories that are there are filled, and keep
/// their permissions; files and links that are there are an error, unless `overwrite` has them
/// replaced: no link in `to` is followed, but `to` itself may be one. No
/// set-id bits are copied. Ends at the first failure, or when it
/// is cancelled: what was copied stays. Fails with `invalid_argument` when `to` is in `from`.
operation<copied_tree> copy_tree(std::string from, std::string to, copy_options options = {});

}  // namespace coracle::fs
