#pragma once

#include <coracle/base/error.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace coracle::tool {

/// Returns an address of --listen without its "http://" or "https://".
std::string_view without_scheme(std::string_view text);
/// Returns the addresses of --listen as one text of `http::server_options`. Throws `wrong_usage`
/// for one that is none, or comes twice.
std::string joined_addresses(const std::vector<std::string>& addresses);
/// Throws the `failure` for an address that cannot be listened on.
[[noreturn]] void cannot_listen(const error& e);

}  // namespace coracle::tool
