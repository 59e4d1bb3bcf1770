#pragma once

#include "fs/file_writer.hpp"

#include <coracle/http/multipart.hpp>

#include <string>
#include <string_view>

namespace coracle::http::detail {

/// Where a file is to go.
struct destination {
    static destination at(std::string_view path, fs::if_exists policy);

    std::string directory;
    std::string name;
    fs::if_exists policy = fs::if_exists::replace;
};

/// Gives the next piece, empty at the end.
using piece_source = unique_function<operation<std::string_view>()>;

/// Writes what `read` gives to a file that appears whole or not at all, on the threads of
/// `offload`. Of a name that is taken, where the policy forbids to replace it, numbered ones are
/// tried.
task<std::expected<saved_file, error>> save_pieces(piece_source read, destination to);

/// The same to a path, of which a file is replaced: what a symbolic link leads to. Fails with
/// `operation_not_supported` where there is a device, a FIFO or a socket.
task<std::expected<saved_file, error>> save_pieces_at(piece_source read, std::string path);

}  // namespace coracle::http::detail
