#include "net/resolver/name.hpp"

#include <net/if.h>

#include <algorithm>

namespace coracle::net::detail {
namespace {

constexpr std::size_t longest_label = 63;

bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}

/// Letters, digits and hyphens (RFC 952), and the underscore, which is in use.
bool is_host_byte(char c) noexcept {
    return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_';
}

char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

bool ends_in_label(std::string_view name, std::string_view label) noexcept {
    if (!name.ends_with(label)) return false;
    return name.size() == label.size() || name[name.size() - label.size() - 1] == '.';
}

/// Converts "fe80::1%eth0" to "fe80::1%2".
std::string with_zone_number(std::string_view text) {
    const std::size_t percent = text.find('%');
    if (percent == std::string_view::npos) return std::string(text);
    const std::string zone(text.substr(percent + 1));
    if (std::ranges::all_of(zone, is_digit)) return std::string(text);
    const unsigned number = ::if_nametoindex(zone.c_str());
    if (number == 0) return {};
    return std::string(text.substr(0, percent + 1)) + std::to_string(number);
}

}  // namespace

std::optional<address> numeric_address(std::string_view host) {
    if (host.empty() || host.find('\0') != std::string_view::npos) return std::nullopt;
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
        host = host.substr(1, host.size() - 2);
    }
    const bool is_v6 = host.find(':') != std::string_view::npos;
    if (!is_v6 && !std::ranges::all_of(host, [](char c) { return is_digit(c) || c == '.'; })) {
        return std::nullopt;
    }
    const std::string text =
        is_v6 ? '[' + with_zone_number(host) + "]:0" : std::string(host) + ":0";
    auto a = address::parse(text);
    if (!a) return std::nullopt;
    return *a;
}

std::optional<std::string> canonical_name(std::string_view host, bool& absolute) {
    absolute = host.ends_with('.');
    if (absolute) host.remove_suffix(1);
    if (host.empty() || host.size() > longest_name) return std::nullopt;
    std::string name(host);
    std::size_t label = 0;
    bool digits_only = true;
    for (char& c : name) {
        c = lower(c);
        if (c == '.') {
            if (label == 0) return std::nullopt;
            label = 0;
            digits_only = true;
            continue;
        }
        if (!is_host_byte(c) || ++label > longest_label) return std::nullopt;
        digits_only = digits_only && is_digit(c);
    }
    // RFC 3696 section 2: no top-level domain is a number, so this was meant as an address.
    if (label == 0 || digits_only) return std::nullopt;
    return name;
}

bool is_localhost(std::string_view name) noexcept {
    return ends_in_label(name, "localhost");
}

bool is_never_asked(std::string_view name) noexcept {
    return ends_in_label(name, "invalid") || ends_in_label(name, "onion");
}

std::vector<std::string> candidates(const std::string& name, bool absolute,
                                    const std::vector<std::string>& search, std::size_t domains,
                                    unsigned dots) {
    std::vector<std::string> all;
    const auto has = static_cast<unsigned>(std::ranges::count(name, '.'));
    const bool itself_first = absolute || has >= dots;
    if (itself_first) all.push_back(name);
    if (!absolute) {
        for (const std::string& domain : search) {
            if (domains-- == 0) break;
            std::string full(name);
            full.append(1, '.').append(domain);
            if (full.size() > longest_name || std::ranges::find(all, full) != all.end()) continue;
            all.push_back(std::move(full));
        }
    }
    if (!itself_first && std::ranges::find(all, name) == all.end()) all.push_back(name);
    return all;
}

}  // namespace coracle::net::detail
