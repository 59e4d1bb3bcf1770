#pragma once

#include <cstdint>

namespace coracle::http::h1 {

/// The code that searches for the end of a name, a target or a value.
enum class scan_mode : std::uint8_t {
    automatic,  ///< vector instructions where the build has them
    scalar,     ///< one byte at a time; for tests, same results
};

}  // namespace coracle::http::h1
