#pragma once

#include <cstdint>
#include <string_view>

namespace coracle::http {

/// The protocol version that a message travelled in.
enum class version : std::uint8_t { http_1_0, http_1_1, http_2 };

/// "HTTP/1.0", "HTTP/1.1" or "HTTP/2". The text lives forever.
[[nodiscard]] constexpr std::string_view to_string(version value) noexcept {
    switch (value) {
        case version::http_1_0: return "HTTP/1.0";
        case version::http_1_1: return "HTTP/1.1";
        case version::http_2: return "HTTP/2";
    }
    return {};
}

}  // namespace coracle::http
