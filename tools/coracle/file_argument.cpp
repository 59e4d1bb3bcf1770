#include "file_argument.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace coracle::tool {
namespace {

/// Reads a text in quotes from the front of `rest` and removes it there; nothing where there is
/// none. A backslash precedes a quote or a backslash in it.
std::optional<std::string> take_quoted(std::string_view& rest) {
    if (!rest.starts_with('"')) return std::nullopt;
    std::string out;
    for (std::size_t i = 1; i < rest.size(); ++i) {
        if (rest[i] == '"') {
            rest.remove_prefix(i + 1);
            return out;
        }
        const std::string_view pair = rest.substr(i, 2);
        if (pair == "\\\"" || pair == "\\\\") ++i;
        out += rest[i];
    }
    return std::nullopt;
}

/// Reads from the front of `rest` what stands before any of `ends`, and removes it there. Quotes
/// delimit it if all of it stands in them.
std::string take_until(std::string_view& rest, std::initializer_list<std::string_view> ends) {
    std::string_view behind = rest;
    auto quoted = take_quoted(behind);
    const bool whole = behind.empty() || std::ranges::any_of(ends, [&](std::string_view end) {
                           return behind.starts_with(end);
                       });
    if (quoted && whole) {
        rest = behind;
        return *std::move(quoted);
    }
    std::size_t size = rest.size();
    for (const std::string_view end : ends) size = std::min(size, rest.find(end));
    std::string plain(rest.substr(0, size));
    rest.remove_prefix(size);
    return plain;
}

}  // namespace

file_argument read_file_argument(std::string_view text, std::string_view name) {
    const std::string of_name = ';' + std::string(name) + '=';
    const std::string of_type = ";type=";
    file_argument o;
    o.value = take_until(text, {of_name, of_type});
    while (!text.empty()) {
        const bool is_type = text.starts_with(of_type);
        text.remove_prefix((is_type ? of_type : of_name).size());
        // A media type may have parameters too.
        (is_type ? o.type : o.name) = take_until(text, {is_type ? of_name : of_type});
    }
    return o;
}

}  // namespace coracle::tool
