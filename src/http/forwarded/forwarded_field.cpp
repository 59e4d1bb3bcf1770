// The Forwarded field (RFC 7239) and the nodes that it names.

#include "base/whole_number.hpp"
#include "http/message/token.hpp"

#include <coracle/http/forwarded.hpp>

namespace coracle::http {
namespace {

/// Reads a line from its left. After a failure `bad` stays.
struct reader {
    std::string_view rest;
    bool bad = false;

    void skip_spaces() noexcept {
        while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t')) {
            rest.remove_prefix(1);
        }
    }
    bool take(char byte) noexcept {
        if (rest.empty() || rest.front() != byte) return false;
        rest.remove_prefix(1);
        return true;
    }
    std::string_view token() noexcept {
        std::size_t size = 0;
        while (size != rest.size() && is_token(rest.substr(size, 1))) ++size;
        const std::string_view text = rest.substr(0, size);
        rest.remove_prefix(size);
        bad = bad || text.empty();
        return text;
    }
    /// RFC 9110 section 5.6.4.
    std::string quoted() {
        std::string text;
        while (!rest.empty() && rest.front() != '"') {
            if (rest.front() == '\\') rest.remove_prefix(1);
            if (rest.empty()) break;
            text += rest.front();
            rest.remove_prefix(1);
        }
        bad = bad || !take('"');
        return text;
    }
    std::string value() { return take('"') ? quoted() : std::string(token()); }
};

/// `parameter=value`; false when it is malformed or there twice.
bool read_parameter(reader& in, forwarded_element& out, unsigned& seen) {
    const std::string_view name = in.token();
    if (in.bad || !in.take('=')) return false;
    std::string value = in.value();
    if (in.bad) return false;
    constexpr std::string_view names[] = {"for", "by", "host", "proto"};
    std::string* const places[] = {&out.for_node, &out.by_node, &out.host, &out.proto};
    for (unsigned i = 0; i != std::size(names); ++i) {
        if (!equal_ignoring_case(name, names[i])) continue;
        if ((seen >> i & 1U) != 0) return false;
        seen |= 1U << i;
        *places[i] = std::move(value);
        break;
    }
    return true;
}

/// The parameters up to a comma or the end.
bool read_element(reader& in, forwarded_element& out) {
    unsigned seen = 0;
    for (;;) {
        in.skip_spaces();
        if (in.rest.empty() || in.rest.front() == ',') return true;
        if (in.take(';')) continue;
        if (!read_parameter(in, out, seen)) return false;
        in.skip_spaces();
        if (!in.rest.empty() && in.rest.front() != ',' && in.rest.front() != ';') return false;
    }
}

}  // namespace

std::optional<std::vector<forwarded_element>> parse_forwarded(std::string_view line) {
    std::vector<forwarded_element> all;
    reader in{line};
    while (!in.rest.empty()) {
        const std::size_t before = in.rest.size();
        forwarded_element element;
        if (!read_element(in, element)) return std::nullopt;
        const std::string_view text = line.substr(line.size() - before, before - in.rest.size());
        in.take(',');
        // RFC 9110 section 5.6.1: empty elements of a list are ignored.
        if (trim_ows(text).empty()) continue;
        if (all.size() == most_forwarded_elements) return std::nullopt;
        all.push_back(std::move(element));
    }
    return all;
}

std::optional<net::address> parse_forwarded_node(std::string_view text) noexcept {
    if (const auto alone = net::parse_ip(text)) return alone;
    const std::size_t colon = text.rfind(':');
    std::string_view host = text;
    std::uint16_t port = 0;
    if (colon != std::string_view::npos && !text.ends_with(']')) {
        const std::string_view digits = text.substr(colon + 1);
        const auto number = coracle::detail::whole_number<std::uint16_t>(digits);
        // An obfuscated port hides no address (section 6.3).
        const bool hidden = digits.size() > 1 && digits.front() == '_';
        if (!hidden && !number) return std::nullopt;
        port = number.value_or(0);
        host = text.substr(0, colon);
    }
    const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (brackets) host = host.substr(1, host.size() - 2);
    auto found = net::parse_ip(host, port);
    // Brackets are for IPv6, and IPv6 with a port needs them.
    if (found && brackets != (found->family() == net::family::v6)) return std::nullopt;
    return found;
}

}  // namespace coracle::http
