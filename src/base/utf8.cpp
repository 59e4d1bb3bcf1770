#include "base/utf8.hpp"

namespace coracle::detail {

void append_utf8(std::string& out, std::string_view text) {
    while (!text.empty()) {
        const std::size_t size = utf8_sequence(text);
        out += size == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, size);
        text.remove_prefix(size == 0 ? 1 : size);
    }
}

}  // namespace coracle::detail
