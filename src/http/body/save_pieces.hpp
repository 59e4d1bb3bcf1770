#pragma once

#include "fs/file_writer.hpp"

#include <coracle/http/multipart.hpp>

#include <string>
#include <string_view>

namespace coracle::http::detail {

/// The destination of a file.
struct destination {
    static destination at(std::string_view path, fs::if_exists policy);

    std::string directory;
    std::string name;
    fs::if_exists policy = fs::if_exists::replace;
};

/// Returns the next piece; empty at the end.
using piece_source = unique_function<operation<std::string_view>()>;

/// Writes the pieces of `read` to a file that appears complete or not at all, on the threads of
/// `offload`, or in a simulation on its disk. If the name is taken and the policy forbids replacing
/// it, tries numbered names.
task<std::expected<saved_file, error>> save_pieces(piece_source read, destination to);

/// Saves to a path and replaces an existing file; follows symbolic links. Fails with
/// `operation_not_supported` for a device, a FIFO or a socket.
task<std::expected<saved_file, error>> save_pieces_at(piece_source read, std::string path);

}  // namespace coracle::http::detail
