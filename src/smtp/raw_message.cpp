// A mail that was made elsewhere: its lines, its envelope, and Bcc, which nobody may see.

#include "base/ascii.hpp"
#include "mime/parameters.hpp"
#include "mime/text.hpp"
#include "smtp/message_state.hpp"

#include <coracle/mime/field.hpp>

#include <algorithm>

namespace coracle::smtp {
namespace {

using detail::address_field;
using detail::message_state;

// With CRLF at the end of each line; false: a byte that no line can hold, or a line too long.
bool normalise(std::string_view from, std::string& out) {
    out.reserve(from.size() + from.size() / 40);
    while (!from.empty()) {
        const std::size_t end = std::min(from.find('\n'), from.size());
        std::string_view line = from.substr(0, end);
        from.remove_prefix(std::min(end + 1, from.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.size() > mime::longest_header_line) return false;
        if (line.find('\r') != line.npos || line.find('\0') != line.npos) return false;
        out.append(line).append("\r\n");
    }
    return true;
}

/// One field of a header that is all there is: with its folds and line ends.
std::string_view take_field(std::string_view& rest) noexcept {
    std::size_t at = 0;
    do {
        at = rest.find("\r\n", at) + 2;
    } while (at < rest.size() && coracle::detail::is_blank(rest[at]));
    const std::string_view field = rest.substr(0, at);
    rest.remove_prefix(at);
    return field;
}

struct known_field {
    std::string_view name;
    address_field list;
};
constexpr known_field known_fields[] = {{"from", address_field::from},
                                        {"sender", address_field::sender},
                                        {"to", address_field::to},
                                        {"cc", address_field::cc},
                                        {"bcc", address_field::bcc}};

bool is_of_recipients(address_field f) noexcept {
    return f == address_field::to || f == address_field::cc || f == address_field::bcc;
}

constexpr std::string_view resent = "resent-";

std::string_view name_of(std::string_view field) noexcept {
    return coracle::detail::trim_blanks(field.substr(0, field.find(':')));
}

/// Returns how often the mail was resent (RFC 5322 section 3.6.6).
std::size_t times_resent(std::string_view header) noexcept {
    std::size_t times = 0;
    while (!header.empty()) {
        const std::string_view name = name_of(take_field(header));
        if (mime::detail::equal_ignoring_case(name, "resent-from")) ++times;
    }
    return times;
}

/// `prefix`: of the fields that the envelope is read from. False: it is no field.
bool read_field(message_state& s, std::string_view field, std::string_view prefix, bool& is_bcc) {
    const std::size_t colon = field.find(':');
    if (colon == std::string_view::npos) return false;
    std::string_view name = name_of(field);
    std::string checked;
    if (!mime::append_field(checked, name, "x")) return false;
    is_bcc = mime::detail::equal_ignoring_case(name, "bcc") ||
             mime::detail::equal_ignoring_case(name, "resent-bcc");
    if (!mime::detail::equal_ignoring_case(name.substr(0, prefix.size()), prefix)) return true;
    name.remove_prefix(prefix.size());
    for (const known_field& k : known_fields) {
        if (!mime::detail::equal_ignoring_case(name, k.name)) continue;
        const std::string value = mime::unfold(field.substr(colon + 1));
        auto read = mime::parse_addresses(value);
        const bool is_empty = coracle::detail::trim_blanks(value).empty();
        if (!read && is_of_recipients(k.list) && !is_empty) s.raw_recipients_unread = true;
        if (read) {
            for (mime::address& a : *read) s.of(k.list).push_back(std::move(a));
        }
    }
    return true;
}

}  // namespace

message& message::raw(std::string whole) {
    message_state& s = own_state();
    std::string lines;
    if (!normalise(whole, lines)) {
        s.refuse("raw: a CR alone, NUL, or a line beyond 998 bytes");
        return *this;
    }
    const std::size_t end = lines.starts_with("\r\n") ? 0 : lines.find("\r\n\r\n");
    const std::size_t header_end = end == std::string::npos ? lines.size() : end == 0 ? 0 : end + 2;
    std::string_view header(lines.data(), header_end);
    const std::size_t times = times_resent(header);
    // The blocks cannot be told apart.
    if (times > 1) s.raw_recipients_unread = true;
    std::string kept;
    while (!header.empty()) {
        const std::string_view field = take_field(header);
        bool is_bcc = false;
        if (!read_field(s, field, times == 0 ? "" : resent, is_bcc)) {
            s.refuse("raw: a line of the header is no field");
            return *this;
        }
        if (!is_bcc) kept += field;
    }
    if (kept.empty()) s.refuse("raw: no header");
    s.raw_header_is_utf8 = !mime::detail::is_ascii(kept);
    kept += end == std::string::npos ? "\r\n" : std::string_view(lines).substr(header_end);
    s.raw_is_eight_bit = !mime::detail::is_ascii(kept);
    s.raw = std::make_shared<const std::string>(std::move(kept));
    return *this;
}

}  // namespace coracle::smtp
