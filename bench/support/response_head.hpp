#pragma once

// Measures one HTTP/1.1 response with a Content-Length; enough for the load programs here.

#include <strings.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace bench {

struct response_head {
    int status = 0;               // 0 while the head is not complete
    std::size_t head_size = 0;    // with the blank line
    std::uint64_t body_size = 0;  // Content-Length
    bool closes = false;          // the server said `Connection: close`
};

namespace detail {

inline void take_field(std::string_view line, response_head& head) {
    constexpr std::string_view length = "content-length: ";
    constexpr std::string_view close = "connection: close";
    if ((line[0] | 0x20) != 'c') return;
    if (line.size() > length.size() &&
        strncasecmp(line.data(), length.data(), length.size()) == 0) {
        std::from_chars(line.data() + length.size(), line.data() + line.size(), head.body_size);
    } else if (line.size() == close.size() &&
               strncasecmp(line.data(), close.data(), close.size()) == 0) {
        head.closes = true;
    }
}

}  // namespace detail

// One pass, for the limits use it too.
inline response_head read_response_head(std::string_view bytes) {
    if (bytes.size() < 12 || !bytes.starts_with("HTTP/1.")) return {};
    response_head head;
    std::from_chars(bytes.data() + 9, bytes.data() + 12, head.status);
    const char* at = bytes.data();
    const char* const end = at + bytes.size();
    while (const auto* feed = static_cast<const char*>(
               std::memchr(at, '\n', static_cast<std::size_t>(end - at)))) {
        if (feed == at || feed[-1] != '\r') return {};
        const std::string_view line{at, static_cast<std::size_t>(feed - at - 1)};
        at = feed + 1;
        if (line.empty()) {
            head.head_size = static_cast<std::size_t>(at - bytes.data());
            return head;
        }
        detail::take_field(line, head);
    }
    return {};
}

}  // namespace bench
