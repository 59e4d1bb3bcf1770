#include "http/h1/unfold.hpp"

#include "base/ascii.hpp"

#include <string_view>

namespace coracle::http::h1 {

using coracle::detail::is_blank;

bool unfold(char* bytes, std::size_t size) noexcept {
    const std::string_view all(bytes, size);
    bool found = false;
    bool in_fields = false;
    bool continues = false;  // the line that `line` stands in
    std::size_t line = 0;
    for (;;) {
        const std::size_t end = all.find("\r\n", line);
        const bool over = end == line && !continues;
        if (end == std::string_view::npos || over || end + 2 >= size) return found;
        line = end + 2;
        continues = in_fields && is_blank(all[line]);
        in_fields = in_fields || !is_blank(all[line]);
        if (!continues) continue;
        std::size_t first = end;
        while (is_blank(all[first - 1])) --first;
        while (line < size && is_blank(all[line])) ++line;
        for (std::size_t i = first; i != line; ++i) bytes[i] = ' ';
        found = true;
    }
}

}  // namespace coracle::http::h1
