#pragma once

#include <string>

namespace coracle::tool {

/// Returns a URL for printing: without user and password, also where it is malformed.
std::string without_secrets(const std::string& url);

}  // namespace coracle::tool
