#include "base/ascii.hpp"
#include "mime/parameters.hpp"

#include <coracle/mime/field.hpp>

#include <algorithm>

namespace coracle::mime {
namespace {

// RFC 5322 section 3.6.8.
bool is_field_name(std::string_view name) noexcept {
    return !name.empty() && name.size() <= 76 &&
           std::ranges::all_of(name, [](char c) { return c > 0x20 && c < 0x7f && c != ':'; });
}

std::unexpected<error> refuse(std::string_view name, std::string_view why) {
    std::string subject(is_field_name(name) ? name : "a field");
    subject.append(": ").append(why);
    return std::unexpected(error(std::errc::invalid_argument, "header").on(subject));
}

constexpr std::size_t longest_line_of_encoded_words = 76;  // RFC 2047 section 2

bool is_encoded(std::string_view piece) noexcept {
    return detail::trim(piece).starts_with("=?");
}

// Returns the blanks and the word after them, which folding does not separate.
std::string_view take_piece(std::string_view& rest) noexcept {
    std::size_t end = std::min(rest.find_first_not_of(" \t"), rest.size());
    end = std::min(rest.find_first_of(" \t", end), rest.size());
    const std::string_view piece = rest.substr(0, end);
    rest.remove_prefix(end);
    return piece;
}

}  // namespace

std::expected<void, error> append_field(std::string& header, std::string_view name,
                                        std::string_view value) {
    if (!is_field_name(name)) return refuse(name, "no name of a field");
    if (!detail::is_field_value(value)) return refuse(name, "CR, LF or NUL in the value");
    value = detail::trim(value);
    const std::size_t before = header.size();
    header.append(name).append(":");
    std::size_t column = name.size() + 1;
    std::string first(value.empty() ? "" : " ");
    first += take_piece(value);
    bool has_encoded = false;  // the line
    for (std::string_view piece = first; !piece.empty(); piece = take_piece(value)) {
        has_encoded = has_encoded || is_encoded(piece);
        // The first word stays on the line of the name where it fits: some readers expect that.
        const bool alone = column == name.size() + 1;
        const std::size_t most = has_encoded ? longest_line_of_encoded_words
                                 : alone     ? longest_header_line
                                             : preferred_header_line;
        if (column + piece.size() > most && coracle::detail::is_blank(piece.front())) {
            header += "\r\n";
            column = 0;
            has_encoded = is_encoded(piece);
        }
        header += piece;
        column += piece.size();
        if (column > longest_header_line) {
            header.resize(before);
            return refuse(name, "a word that no line can hold");
        }
    }
    header += "\r\n";
    return {};
}

std::string unfold(std::string_view value) {
    std::string out;
    out.reserve(value.size());
    for (std::size_t at = 0; at != value.size(); ++at) {
        const std::string_view rest = value.substr(at);
        const std::size_t end = rest.starts_with("\r\n") ? 2 : rest.starts_with('\n') ? 1 : 0;
        if (end != 0 && rest.size() > end && coracle::detail::is_blank(rest[end])) {
            at += end - 1;
            continue;
        }
        out += value[at];
    }
    return out;
}

}  // namespace coracle::mime
