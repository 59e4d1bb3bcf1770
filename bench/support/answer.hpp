#pragma once

// Measures one HTTP/1.1 answer with a Content-Length; enough for the load programs here.

#include <strings.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bench {

struct answer_head {
    int status = 0;               // 0 while the head is not complete
    std::size_t head_size = 0;    // with the blank line
    std::uint64_t body_size = 0;  // Content-Length
    bool closes = false;          // the server said `Connection: close`
};

inline answer_head read_answer_head(std::string_view bytes) {
    const std::size_t end = bytes.find("\r\n\r\n");
    if (end == bytes.npos || !bytes.starts_with("HTTP/1.")) return {};
    answer_head head;
    head.head_size = end + 4;
    const std::string_view code = bytes.substr(9, 3);
    std::from_chars(code.data(), code.data() + code.size(), head.status);
    std::string_view lines = bytes.substr(0, end + 2);
    while (!lines.empty()) {
        const std::size_t eol = lines.find("\r\n");
        const std::string_view line = lines.substr(0, eol);
        lines.remove_prefix(eol + 2);
        constexpr std::string_view length = "content-length: ";
        constexpr std::string_view close = "connection: close";
        if (line.size() > length.size() &&
            strncasecmp(line.data(), length.data(), length.size()) == 0) {
            std::from_chars(line.data() + length.size(), line.data() + line.size(), head.body_size);
        } else if (line.size() == close.size() &&
                   strncasecmp(line.data(), close.data(), close.size()) == 0) {
            head.closes = true;
        }
    }
    return head;
}

}  // namespace bench
