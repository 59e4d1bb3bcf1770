#include "file_argument.hpp"

#include "settings.hpp"

#include <algorithm>
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

/// The keyword of a property.
using keyword = std::string_view;
using keywords = std::initializer_list<keyword>;

/// Returns the size of "; type=" at the begin of `text`, for the keyword "type"; 0 where something
/// else stands there.
std::size_t size_of_start(std::string_view text, keyword of) {
    if (!text.starts_with(';')) return 0;
    const std::size_t name = text.find_first_not_of(" \t", 1);
    if (name == std::string_view::npos) return 0;
    const std::string_view rest = text.substr(name);
    const bool is_it = rest.starts_with(of) && rest.substr(of.size()).starts_with('=');
    return is_it ? name + of.size() + 1 : 0;
}

/// Reads from the front of `rest` what stands before any of these properties, and removes it there.
/// Quotes delimit it if all of it stands in them.
std::string take_until(std::string_view& rest, keywords properties, keywords refused) {
    const auto begins = [&](std::string_view text) {
        const auto is_there = [text](keyword k) { return size_of_start(text, k) != 0; };
        return std::ranges::any_of(properties, is_there) || std::ranges::any_of(refused, is_there);
    };
    std::string_view behind = rest;
    auto quoted = take_quoted(behind);
    if (quoted && (behind.empty() || begins(behind))) {
        rest = behind;
        return *std::move(quoted);
    }
    std::size_t size = std::min(rest.find(';'), rest.size());
    while (size != rest.size() && !begins(rest.substr(size))) {
        size = std::min(rest.find(';', size + 1), rest.size());
    }
    std::string plain(rest.substr(0, size));
    rest.remove_prefix(size);
    return plain;
}

}  // namespace

file_argument read_file_argument(std::string_view text, std::string_view name,
                                 std::initializer_list<std::string_view> refused) {
    constexpr keyword type = "type";
    const std::string_view whole = text;
    file_argument o;
    o.value = take_until(text, {name, type}, refused);
    while (!text.empty()) {
        for (const keyword k : refused) {
            if (size_of_start(text, k) == 0) continue;
            throw failure("cannot read '" + std::string(whole) + "': there is no ';" +
                          std::string(k) + "=' here; a content that has it stands in quotes");
        }
        const std::size_t of_type = size_of_start(text, type);
        text.remove_prefix(of_type != 0 ? of_type : size_of_start(text, name));
        // A media type may have parameters too.
        std::optional<std::string>& property = of_type != 0 ? o.type : o.name;
        property = take_until(text, {of_type != 0 ? name : type}, refused);
        // Blanks may stand before the ";" of the next one.
        if (of_type != 0) property->resize(property->find_last_not_of(" \t") + 1);
    }
    return o;
}

}  // namespace coracle::tool
