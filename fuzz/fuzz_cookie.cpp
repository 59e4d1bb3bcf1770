// Cookies, both ways. Checked: what is read off a Cookie field is a part of it without bytes that
// could end a line, and a cookie that can be set comes back with the same name and value.
#include "require.hpp"

#include <coracle/base/error.hpp>
#include <coracle/http/cookie.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace coracle;
using namespace coracle::http;

namespace {

bool is_within(std::string_view part, std::string_view whole) {
    return part.empty() || (part.data() >= whole.data() &&
                            part.data() + part.size() <= whole.data() + whole.size());
}

void read(std::string_view field) {
    std::string_view rest = field;
    cookie_pair pair;
    std::size_t before = rest.size() + 1;
    while (next_cookie(rest, pair)) {
        require(rest.size() < before);
        before = rest.size();
        require(!pair.name.empty() && is_within(pair.name, field) && is_within(pair.value, field));
        require(pair.name.find_first_of(";=\r\n") == std::string_view::npos);
        require(pair.value.find_first_of(";\r\n") == std::string_view::npos);
    }
}

void write(std::string_view name, std::string_view value, std::string_view attribute) {
    std::string text;
    try {
        set_cookie c(name, value);
        if (attribute.size() % 2 != 0) {
            c.path(attribute);
        } else {
            c.domain(attribute);
        }
        text = c.text();
    } catch (const exception&) {
        return;
    }
    require(text.find_first_of("\r\n") == std::string::npos);
    std::string_view rest = text;
    cookie_pair pair;
    require(next_cookie(rest, pair) && pair.name == name && pair.value == value);
    require(next_cookie(rest, pair) && (pair.name == "Path" || pair.name == "Domain"));
    require(!next_cookie(rest, pair));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes{reinterpret_cast<const char*>(data), size};
    read(bytes);
    // A line each: the name, the value, and a path or a domain.
    const std::size_t first = bytes.find('\n');
    if (first == std::string_view::npos) return 0;
    const std::size_t second = bytes.find('\n', first + 1);
    if (second == std::string_view::npos) return 0;
    write(bytes.substr(0, first), bytes.substr(first + 1, second - first - 1),
          bytes.substr(second + 1));
    return 0;
}
