#pragma once

#include <coracle/http/body.hpp>

#include <string>

namespace coracle::tool {

/// Throws `unreadable` when it is clear already that `path` cannot be sent.
void check_upload(const std::string& path);

/// Returns the URL that a file is uploaded to: a URL that ends with a slash, or has no path, gets
/// the name of the file at the end of its path.
std::string upload_url(const std::string& url, const std::string& path);

/// The content of a file as a body: of a known size, or, of the standard input ("-" or "."), a FIFO
/// or a device, piece by piece as it comes. Throws `unreadable`.
http::body upload_body(const std::string& path);

}  // namespace coracle::tool
