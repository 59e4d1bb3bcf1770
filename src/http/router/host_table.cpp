#include "http/router/host_table.hpp"

#include "base/ascii.hpp"

#include <coracle/base/error.hpp>

#include <algorithm>

namespace coracle::http::detail {
namespace {

bool is_host(std::string_view name) noexcept {
    if (name.starts_with("*.")) name.remove_prefix(2);
    return !name.empty() && name.size() <= host_table::longest_name &&
           name.find_first_of("*/ @?#") == std::string_view::npos && !name.starts_with('.') &&
           (name.starts_with('[') || name.find(':') == std::string_view::npos);
}

/// Returns the host without the port and a dot at the end (RFC 3986 section 3.2.2).
std::string_view name_of(std::string_view host) noexcept {
    if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
    host = host.substr(0, host.find(':'));
    if (host.ends_with('.')) host.remove_suffix(1);
    return host;
}

}  // namespace

void host_table::add(std::string_view name, handler target, std::shared_ptr<router_state> routes) {
    if (!is_host(name)) {
        throw_exception(error(std::errc::invalid_argument, "host")
                            .on('"' + std::string(name) + "\" is no name of a host"));
    }
    if (!target) {
        throw_exception(error(std::errc::invalid_argument, "host")
                            .on('"' + std::string(name) + "\" has no handler"));
    }
    std::string key = coracle::detail::lower(name_of(name));
    if (look_up(key) != nullptr) {
        throw_exception(error(errc::already_exists, "host").on('"' + std::string(name) + '"'));
    }
    const auto at =
        std::lower_bound(entries_.begin(), entries_.end(), key,
                         [](const entry& e, const std::string& k) { return e.name < k; });
    entries_.insert(at, {std::move(key), std::move(target), std::move(routes)});
}

const host_table::entry* host_table::look_up(std::string_view name) const noexcept {
    const auto at = std::lower_bound(entries_.begin(), entries_.end(), name,
                                     [](const entry& e, std::string_view k) { return e.name < k; });
    return at != entries_.end() && at->name == name ? &*at : nullptr;
}

const handler* host_table::find(std::string_view host) const noexcept {
    const std::string_view given = name_of(host);
    if (given.empty() || given.size() > longest_name) return nullptr;
    // One byte in front, for the asterisk of a wildcard.
    char text[longest_name + 1];
    for (std::size_t i = 0; i != given.size(); ++i) text[i + 1] = coracle::detail::lower(given[i]);
    const std::string_view name(text + 1, given.size());
    if (const entry* e = look_up(name)) return &e->target;
    for (std::size_t dot = name.find('.'); dot != std::string_view::npos;
         dot = name.find('.', dot + 1)) {
        if (dot == 0) continue;
        char* const star = text + dot;
        const char kept = std::exchange(*star, '*');
        const entry* e = look_up({star, name.size() - dot + 1});
        *star = kept;
        if (e != nullptr) return &e->target;
    }
    return nullptr;
}

}  // namespace coracle::http::detail
