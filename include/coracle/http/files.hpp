#pragma once

#include <coracle/http/handler.hpp>
#include <coracle/net/file.hpp>

#include <string>
#include <string_view>

namespace coracle::http {

struct file_options {
    /// The route parameter that holds the path beneath the root, as in "/static/{*path}". Where the
    /// route has no such parameter, the whole path of the request is taken. Default "path".
    std::string param = "path";
    /// What answers for a directory. Default "index.html"; empty: 404.
    std::string index = "index.html";
    /// Sent as Cache-Control. Default: none.
    std::string cache_control;
    /// Whether names that begin with a dot are served. Default: they are not found.
    bool hidden = false;
    /// How files are opened. Default: as the kernel allows.
    net::beneath_method how = net::beneath_method::automatic;
};

/// Answers GET and HEAD with the files beneath the directory `root`: media types by extension,
/// strong entity tags, Last-Modified, conditional requests, one range, directories by their index
/// file. Nothing outside of `root` is reachable: not by "..", encoded slashes, backslashes or NUL
/// (404), and not by symbolic links, which are followed only while they stay beneath it (and not at
/// all on kernels without openat2). FIFOs, devices and sockets are not found either. The directory
/// is opened once: renaming it does not disturb, replacing it is not noticed.
///
/// Looking a path up, and reading a file of up to 16 KiB, blocks the loop for as long as the disk
/// takes: nothing when it is cached.
///
/// Throws `exception` when `root` is no directory that can be opened.
handler serve_files(const std::string& root, file_options options = {});

/// The answer to a GET or HEAD with an open regular file: preconditions (RFC 9110 section 13.2.2)
/// and one range (section 14) are applied; several ranges, and a malformed one, are ignored. Call
/// it on a loop: its clock decides whether Last-Modified is good enough for If-Range. Of a
/// directory it makes 404.
response file_response(const request& req, net::file file, std::string_view media_type,
                       std::string_view cache_control = {});

}  // namespace coracle::http
