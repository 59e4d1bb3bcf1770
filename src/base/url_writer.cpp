#include "base/url_writer.hpp"

#include "base/ascii.hpp"
#include "base/idn.hpp"
#include "base/ip_literal.hpp"

#include <coracle/base/percent.hpp>

#include <algorithm>
#include <array>
#include <charconv>

namespace coracle::detail {
namespace {

constexpr auto npos = std::string_view::npos;

// The characters that each part may hold unencoded (RFC 3986 appendix A).
enum char_class : std::uint16_t {
    in_path = 1,
    in_query = 2,  ///< and in a fragment
    in_user = 4,   ///< also in a password, which may have ":" too
    in_name = 8,   ///< characters of host names in use: letters, digits, "-", ".", "_"
    in_scheme = 16,
    control = 32,
    ends_authority = 64,  ///< and a path, but for the "/"
    marks_user = 128,  ///< "@", and characters that some programs take for the end of an authority
    in_target = 256,   ///< characters that no URL has unencoded, though servers accept them
};

constexpr std::array<std::uint16_t, 256> classes = [] {
    std::array<std::uint16_t, 256> table{};
    for (unsigned byte = 0; byte < 256; ++byte) {
        const char c = static_cast<char>(byte);
        unsigned bits = 0;
        if (byte < 0x20 || byte == 0x7f) bits |= control;
        const bool alnum = is_letter(c) || is_digit(c);
        if (alnum || c == '-' || c == '.' || c == '_') bits |= in_name;
        if (alnum || c == '-' || c == '.' || c == '+') bits |= in_scheme;
        if (is_unreserved(c) || sub_delimiters.find(c) != npos) {
            bits |= in_path | in_query | in_user;
        }
        if (c == ':' || c == '@') bits |= in_path | in_query;
        if (c == '/' || c == '?') bits |= in_query;
        if (c == '/' || c == '?' || c == '#') bits |= ends_authority;
        if (c == '@' || c == '\\') bits |= marks_user;
        if (std::string_view("[\\]^`{|}").find(c) != npos) bits |= in_target;
        table[byte] = static_cast<std::uint16_t>(bits);
    }
    return table;
}();

unsigned classes_of(char c) noexcept {
    return classes[static_cast<unsigned char>(c)];
}

bool is(char c, unsigned allowed) noexcept {
    return (classes_of(c) & allowed) != 0;
}

constexpr const char* has_control = "a control byte stands in it";
constexpr const char* has_backslash = "a backslash stands before the query";

struct known_scheme {
    std::string_view name;
    std::uint16_t port;
};

// The first ones are those of client requests.
constexpr known_scheme known_schemes[] = {
    {"http", 80},      {"https", 443},   {"ws", 80},        {"wss", 443},    {"ftp", 21},
    {"ftps", 990},     {"smtp", 25},     {"smtps", 465},    {"socks", 1080}, {"socks4", 1080},
    {"socks4a", 1080}, {"socks5", 1080}, {"socks5h", 1080},
};

std::uint16_t port_of(std::string_view scheme) noexcept {
    for (const known_scheme& s : known_schemes) {
        if (s.name == scheme) return s.port;
    }
    return 0;
}

std::string_view trimmed(std::string_view text) noexcept {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
}

// Returns the text before the first ":" if that is a scheme (RFC 3986 section 3.1), else nothing.
std::string_view scheme_of(std::string_view text) noexcept {
    if (text.empty() || !is_letter(text.front())) return {};
    std::size_t size = 1;
    while (size < text.size() && is(text[size], in_scheme)) ++size;
    return size < text.size() && text[size] == ':' ? text.substr(0, size) : std::string_view();
}

bool same_text(std::string_view a, std::string_view lower_case) noexcept {
    return std::ranges::equal(a, lower_case, {}, [](char c) { return lower(c); });
}

// Returns true for a label that readers of IPv4 addresses take for a number: "1", "0x7f", "0x".
bool is_number(std::string_view label) noexcept {
    if (label.empty()) return false;
    if (label.starts_with("0x")) {
        return std::ranges::all_of(label.substr(2), [](char c) { return hex_value(c) >= 0; });
    }
    return std::ranges::all_of(label, is_digit);
}

// Copies in two blocks: byte by byte took twice as long.
void append_lower(std::string& out, std::string_view text) {
    const std::size_t begin = out.size();
    out += text;
    char* const lowered = out.data() + begin;
    for (std::size_t i = 0; i < text.size(); ++i) lowered[i] = lower(lowered[i]);
}

// Returns how many dots a segment consists of, plain or encoded; 0 where it holds anything else.
std::size_t count_dots(std::string_view segment) noexcept {
    std::size_t dots = 0;
    for (; !segment.empty(); ++dots) {
        if (segment.front() == '.') {
            segment.remove_prefix(1);
        } else if (same_text(segment.substr(0, 3), "%2e")) {
            segment.remove_prefix(3);
        } else {
            return 0;
        }
    }
    return dots;
}

std::uint32_t narrow(std::size_t at) noexcept {
    return static_cast<std::uint32_t>(at);
}

/// The capacity to reserve for `text`. With a possible password, enough for every byte escaped, so
/// that growing leaves no copy of it in a freed block.
std::size_t room_for(std::string_view text, bool may_have_password) noexcept {
    return may_have_password ? 3 * text.size() : text.size();
}

bool may_have_password(std::string_view text) noexcept {
    return text.find('@') != std::string_view::npos;
}

}  // namespace

bool url_writer::write(std::string_view text, url_path how) {
    keeps_dots_ = keeps_bytes_ = how == url_path::as_is;
    return write_whole(trimmed(text));
}

bool url_writer::write_whole(std::string_view text) {
    if (text.empty()) return refuse("it is empty");
    if (text.size() > url::max_size) return refuse_size();
    const std::string_view scheme = scheme_of(text);
    if (scheme.empty()) return refuse("it does not begin with a scheme, such as \"http://\"");
    const std::string_view rest = text.substr(scheme.size() + 1);
    if (!rest.starts_with("//")) return refuse("no \"//\" follows the scheme");
    // One more: an empty path becomes "/".
    text_.reserve(room_for(text, may_have_password(text)) + 1);
    return write_absolute(scheme, rest.substr(2));
}

// `rest` is the text after "//".
bool url_writer::write_absolute(std::string_view scheme, std::string_view rest) {
    append_lower(text_, scheme);
    out_.scheme_end = narrow(text_.size());
    text_ += "://";
    std::size_t end = 0;
    unsigned seen = 0;
    while (end < rest.size() && !is(rest[end], ends_authority)) seen |= classes_of(rest[end++]);
    std::string_view authority = rest.substr(0, end);
    if ((seen & marks_user) != 0 && !take_user(authority)) return false;
    if (!write_authority(authority)) return false;
    rest.remove_prefix(end);
    if (rest.starts_with('/')) rest.remove_prefix(1);
    out_.path_begin = narrow(text_.size());
    text_ += '/';
    return write_path(rest);
}

// Removes it from the front of `authority`, with the "@".
bool url_writer::take_user(std::string_view& authority) {
    // Programs that take a backslash for a slash would see another host.
    if (authority.find('\\') != npos) return refuse(has_backslash);
    const std::size_t at = authority.find('@');
    if (authority.find('@', at + 1) != npos) {
        return refuse("a second \"@\" stands before the path: in a password it is \"%40\"");
    }
    if (!write_user(authority.substr(0, at))) return false;
    authority.remove_prefix(at + 1);
    return true;
}

bool url_writer::write_authority(std::string_view authority) {
    out_.host_begin = narrow(text_.size());
    const std::size_t colon =
        authority.starts_with('[') ? authority.find(':', authority.find(']')) : authority.find(':');
    const std::string_view host = authority.substr(0, colon);
    if (!write_host(host)) return false;
    out_.host_end = narrow(text_.size());
    return write_port(colon == npos ? std::string_view() : authority.substr(colon + 1));
}

bool url_writer::write_user(std::string_view user) {
    const std::size_t colon = std::min(user.find(':'), user.size());
    const std::size_t begin = text_.size();
    if (!write_encoded(user.substr(0, colon), in_user)) return false;
    if (colon + 1 < user.size()) {
        text_ += ':';
        out_.password_begin = narrow(text_.size());
        if (!write_encoded(user.substr(colon + 1), in_user)) return false;
    }
    if (text_.size() > begin) text_ += '@';
    return true;
}

bool url_writer::write_host(std::string_view host) {
    if (host.empty()) return refuse("the host is empty");
    if (!host.starts_with('[')) return write_name(host);
    if (!host.ends_with(']')) return refuse("a host that begins with \"[\" must end with \"]\"");
    if (host.find('%') != npos)
        return refuse("an IPv6 address with a zone is valid on this machine only");
    text_ += '[';
    if (!append_ipv6(text_, host.substr(1, host.size() - 2))) {
        return refuse("the text in brackets is not an IPv6 address");
    }
    text_ += ']';
    return true;
}

bool url_writer::write_name(std::string_view host) {
    const std::size_t begin = text_.size();
    for (const char c : host) {
        if (!is(c, in_name)) return write_foreign_name(host);
    }
    append_lower(text_, host);
    return check_name(std::string_view(text_).substr(begin));
}

// Handles a name with other characters: it may be encoded, or not ASCII.
bool url_writer::write_foreign_name(std::string_view host) {
    const auto name = percent_decode(host);
    if (!name) return refuse("a \"%\" in the host begins no two hexadecimal digits");
    bool is_ascii = true;
    for (const char c : *name) {
        const bool ascii = static_cast<unsigned char>(c) < 0x80;
        if (is(c, control)) return refuse(has_control);
        if (ascii && !is(c, in_name))
            return refuse("the host has a character that names cannot have");
        is_ascii = is_ascii && ascii;
    }
    const std::size_t begin = text_.size();
    if (is_ascii) {
        append_lower(text_, *name);
    } else if (!append_ascii_name(text_, *name)) {
        return refuse("the host is not a valid internationalized name");
    }
    return check_name(std::string_view(text_).substr(begin));
}

// `name` is in normal form (RFC 1034 section 3.1, RFC 3986 section 3.2.2).
bool url_writer::check_name(std::string_view name) {
    const std::string_view whole = name;
    if (name.ends_with('.')) name.remove_suffix(1);
    if (name.size() > 253) return refuse("the host is longer than 253 bytes");
    std::size_t label = 0;
    for (std::size_t i = 0; i <= name.size(); ++i) {
        if (i < name.size() && name[i] != '.') {
            // The output of libidn2 is checked like any other name.
            if (!is(name[i], in_name))
                return refuse("the host has a character that names cannot have");
            continue;
        }
        if (i == label) return refuse("a part of the host's name is empty");
        if (i - label > 63) return refuse("a part of the host's name is longer than 63 bytes");
        if (i < name.size()) label = i + 1;
    }
    // "0x7f.1", "2130706433" and "127.0.0.01" are 127.0.0.1 for some programs, and names for
    // others.
    if (is_number(name.substr(label)) && !is_ipv4(whole)) {
        return refuse(
            "the host ends in a number and is no IPv4 address, "
            "which is four decimal numbers without leading zeros");
    }
    return true;
}

bool url_writer::write_port(std::string_view digits) {
    const std::uint16_t usual = port_of(std::string_view(text_).substr(0, out_.scheme_end));
    out_.port = usual;
    if (digits.empty()) return true;
    const char* end = digits.data() + digits.size();
    const auto read = std::from_chars(digits.data(), end, out_.port);
    if (read.ec != std::errc() || read.ptr != end || out_.port == 0) {
        return refuse("the port is not a number from 1 to 65535");
    }
    if (out_.port == usual) return true;
    char text[5];
    const auto written = std::to_chars(text, text + sizeof text, out_.port);
    text_ += ':';
    text_.append(text, written.ptr);
    return true;
}

// Writes `path`, without its first slash but with query and fragment, after the "/" that the text
// ends with.
bool url_writer::write_path(std::string_view path) {
    for (;;) {
        std::size_t end = 0;
        while (end < path.size() && is(path[end], in_path)) ++end;
        const std::size_t segment = text_.size();
        if (end == path.size() || is(path[end], ends_authority)) {
            text_.append(path, 0, end);
        } else {
            while (end < path.size() && !is(path[end], ends_authority)) ++end;
            if (!write_segment(path.substr(0, end))) return false;
        }
        const bool more = end < path.size() && path[end] == '/';
        if (more) text_ += '/';
        const char first = text_.size() > segment ? text_[segment] : '\0';
        if ((first == '.' || first == '%') && !keeps_dots_) apply_dots(segment);
        if (!more) return write_query_and_fragment(path.substr(end));
        path.remove_prefix(end + 1);
    }
}

bool url_writer::write_segment(std::string_view segment) {
    if (segment.find('\\') != npos) return refuse(has_backslash);
    return write_encoded(segment, in_path);
}

// Applies a dot segment (RFC 3986 section 5.2.4): the text from `segment` on, with or without a
// slash after it.
void url_writer::apply_dots(std::size_t segment) {
    std::string_view last = std::string_view(text_).substr(segment);
    if (last.ends_with('/')) last.remove_suffix(1);
    const std::size_t dots = count_dots(last);
    if (dots == 1) {
        text_.resize(segment);
    } else if (dots == 2) {
        const bool has_parent = segment > out_.path_begin + 1;
        text_.resize(has_parent ? text_.rfind('/', segment - 2) + 1 : segment);
    }
}

bool url_writer::write_query_and_fragment(std::string_view tail) {
    const std::size_t hash = std::min(tail.find('#'), tail.size());
    out_.query_begin = narrow(text_.size());
    if (hash > 0) {
        text_ += '?';
        if (!write_encoded(tail.substr(1, hash - 1), in_query)) return false;
    }
    return write_fragment(tail.substr(hash));
}

// `tail` begins with the "#", or there is none.
bool url_writer::write_fragment(std::string_view tail) {
    out_.fragment_begin = narrow(text_.size());
    if (!tail.empty()) {
        text_ += '#';
        if (!write_encoded(tail.substr(1), in_query)) return false;
    }
    return finish();
}

bool url_writer::write_encoded(std::string_view part, unsigned allowed) {
    // A password may hold colons; a user ends at the first.
    const char also = allowed == in_user ? ':' : '\0';
    const bool keeps_escapes = allowed != in_user;
    if (keeps_escapes && keeps_bytes_) allowed |= in_target;
    while (!part.empty()) {
        std::size_t run = 0;
        while (run < part.size() && (is(part[run], allowed) || (also && part[run] == also))) ++run;
        text_.append(part, 0, run);
        part.remove_prefix(run);
        if (part.empty()) break;
        if (is(part.front(), control)) return refuse(has_control);
        part.remove_prefix(write_escaped(part, keeps_escapes));
    }
    return true;
}

// Writes the first character of `rest`, or its escape, encoded (RFC 3986 section 6.2.2.1 and
// 6.2.2.2). Returns the number of bytes consumed from `rest`. A "%" that begins no escape is
// encoded as a character, unless all bytes are kept.
std::size_t url_writer::write_escaped(std::string_view rest, bool keeps_escapes) {
    constexpr std::string_view hex = "0123456789ABCDEF";
    auto byte = static_cast<unsigned char>(rest.front());
    std::size_t taken = 1;
    if (byte == '%' && rest.size() > 2 && hex_value(rest[1]) >= 0 && hex_value(rest[2]) >= 0) {
        byte = static_cast<unsigned char>(hex_value(rest[1]) << 4 | hex_value(rest[2]));
        taken = 3;
        if (keeps_escapes) {
            text_.append(rest, 0, taken);
            return taken;
        }
        if (is_unreserved(static_cast<char>(byte))) {
            text_ += static_cast<char>(byte);
            return taken;
        }
    } else if (byte == '%' && keeps_escapes && keeps_bytes_) {
        text_ += '%';
        return taken;
    }
    const char escape[] = {'%', hex[byte >> 4], hex[byte & 15U]};
    text_.append(escape, sizeof escape);
    return taken;
}

bool url_writer::resolve(const url& base, std::string_view reference) {
    keeps_bytes_ = true;
    reference = trimmed(reference);
    if (reference.size() > url::max_size) return refuse_size();
    const std::string_view scheme = scheme_of(reference);
    if (base.empty()) return write_whole(reference);
    if (!scheme.empty()) {
        std::string_view rest = reference.substr(scheme.size() + 1);
        // RFC 3986 section 5.4.2: "http:g" on a page of http is what old pages have for "g". But
        // "http:/g" is "http://g" to some.
        if (rest.starts_with('/') || !same_text(scheme, base.scheme())) {
            return write_whole(reference);
        }
        reference = rest;
    }
    const bool secret = base.has_user() || may_have_password(reference);
    text_.reserve(base.parts().text.size() + room_for(reference, secret) + 1);
    if (reference.starts_with("//")) {
        return write_absolute(base.scheme(), reference.substr(2));
    }
    keep_authority(base);
    const std::string_view path = base.path();
    if (reference.starts_with('/')) {
        text_ += '/';
        return write_path(reference.substr(1));
    }
    if (!reference.empty() && reference.front() != '?' && reference.front() != '#') {
        const std::string_view folder = path.substr(0, path.rfind('/') + 1);
        // One that was kept as it was may have dot segments too.
        if (folder.contains("/.") || folder.contains("/%2")) {
            const std::string merged = std::string(folder.substr(1)).append(reference);
            text_ += '/';
            return write_path(merged);
        }
        text_ += folder;
        return write_path(reference);
    }
    if (reference.starts_with('?')) {
        text_ += path;
        return write_query_and_fragment(reference);
    }
    keep_target(base);
    return write_fragment(reference);
}

bool url_writer::add_query(const url& base, std::string_view name, std::string_view value) {
    const auto append_encoded = [this](std::string_view text) {
        // A form's "%20" is "+".
        for (const char c : text) {
            if (c == ' ' || is_unreserved(c)) {
                text_ += c == ' ' ? '+' : c;
            } else {
                write_escaped({&c, 1});
            }
        }
    };
    if (base.empty()) return refuse("it is empty");
    text_.reserve(base.parts().text.size() + 3 * (name.size() + value.size()) + 2);
    keep_authority(base);
    keep_target(base);
    if (!base.has_query()) {
        text_ += '?';
    } else if (!base.query().empty()) {
        text_ += '&';
    }
    append_encoded(name);
    text_ += '=';
    append_encoded(value);
    out_.fragment_begin = narrow(text_.size());
    text_ += std::string_view(base.parts().text).substr(base.parts().fragment_begin);
    return finish();
}

bool url_writer::set_fragment(const url& base, std::string_view fragment) {
    if (base.empty()) return refuse("it is empty");
    text_.reserve(base.parts().text.size() + 3 * fragment.size() + 1);
    keep_authority(base);
    keep_target(base);
    if (fragment.empty()) return true;
    text_ += '#';
    return write_encoded(fragment, in_query) && finish();
}

void url_writer::remove_user(const url& base) {
    const url_parts& from = base.parts();
    const std::uint32_t begin = from.scheme_end + 3;
    const std::uint32_t size = from.host_begin - begin;
    text_.reserve(from.text.size() - size);
    text_.append(from.text, 0, begin).append(from.text, from.host_begin);
    out_.scheme_end = from.scheme_end;
    out_.host_begin = from.host_begin;
    out_.host_end = from.host_end;
    out_.path_begin = from.path_begin;
    out_.query_begin = from.query_begin;
    out_.fragment_begin = from.fragment_begin;
    out_.port = from.port;
    for (std::uint32_t* at : {&out_.host_begin, &out_.host_end, &out_.path_begin, &out_.query_begin,
                              &out_.fragment_begin}) {
        *at -= size;
    }
}

void url_writer::keep_authority(const url& base) {
    text_.append(base.parts().text, 0, base.parts().path_begin);
    out_.scheme_end = base.parts().scheme_end;
    out_.password_begin = base.parts().password_begin;
    out_.host_begin = base.parts().host_begin;
    out_.host_end = base.parts().host_end;
    out_.path_begin = base.parts().path_begin;
    out_.port = base.parts().port;
}

// Writes the target of `base`, after its authority.
void url_writer::keep_target(const url& base) {
    text_ += base.target();
    out_.query_begin = base.parts().query_begin;
    out_.fragment_begin = base.parts().fragment_begin;
}

bool url_writer::finish() noexcept {
    return text_.size() <= url::max_size || refuse_size();
}

bool url_writer::refuse_size() noexcept {
    too_long_ = true;
    return false;
}

bool url_writer::refuse(const char* sentence) noexcept {
    sentence_ = sentence;
    return false;
}

error url_writer::failure() const {
    if (too_long_) return error(errc::limit_exceeded, "url:").on("url::max_size");
    return error(std::errc::invalid_argument, "url:").on(sentence_);
}

}  // namespace coracle::detail
