#include "base/ascii.hpp"
#include "connect/names.hpp"

#include <coracle/connect/overrides.hpp>
#include <coracle/net/network.hpp>

#include <utility>

namespace coracle::connect {
namespace {

/// Removes "host:" or "[v6]:" from the front and returns the host without brackets; empty if there
/// is none.
std::string_view take_host(std::string_view& text) noexcept {
    const bool has_brackets = text.starts_with('[');
    const std::size_t end = has_brackets ? text.find("]:") : text.find(':');
    if (end == std::string_view::npos) return {};
    const std::string_view host = has_brackets ? text.substr(1, end - 1) : text.substr(0, end);
    text.remove_prefix(end + (has_brackets ? 2 : 1));
    return host;
}

}  // namespace

std::expected<void, error> overrides::add(std::string_view entry_text) {
    const auto bad = [entry_text] {
        return std::unexpected(error(std::errc::invalid_argument, "resolve").on(entry_text));
    };
    std::string_view rest = entry_text;
    entry e;
    e.host = coracle::detail::lower(plain_host(take_host(rest)));
    if (e.host.empty() || rest.find(':') == std::string_view::npos) return bad();
    if (const std::string_view port = coracle::detail::take_item(rest, ':'); port != "*") {
        const auto number = read_port(port);
        if (!number) return bad();
        e.port = *number;
    }
    do {
        const auto address = net::parse_ip(plain_host(coracle::detail::take_item(rest)));
        if (!address) return bad();
        e.addresses.push_back(*address);
    } while (!rest.empty());
    entries_.push_back(std::move(e));
    return {};
}

std::optional<std::vector<net::address>> overrides::find(std::string_view host,
                                                         std::uint16_t port) const {
    const entry* found = find_named(plain_host(host), port);
    if (found == nullptr) found = find_named("*", port);
    if (found == nullptr) return {};
    std::vector<net::address> all = found->addresses;
    for (net::address& a : all) a.set_port(port);
    return all;
}

const overrides::entry* overrides::find_named(std::string_view name,
                                              std::uint16_t port) const noexcept {
    for (const entry& e : entries_) {
        if ((e.port == 0 || e.port == port) && same_name(e.host, name)) return &e;
    }
    return nullptr;
}

}  // namespace coracle::connect
