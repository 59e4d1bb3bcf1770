#include "http/server/endpoints.hpp"

#include "base/ascii.hpp"

#include <algorithm>
#include <optional>

namespace coracle::http::detail {
namespace {

constexpr std::string_view inherited = "inherited";

/// One item of `listen` in its parts.
struct item {
    std::string_view text;  ///< all of it
    std::string_view at;    ///< without its scheme
    std::optional<bool> secure;

    bool is_inherited() const noexcept {
        return at == inherited || (at.starts_with(inherited) && at[inherited.size()] == ':');
    }
    /// Empty: every one.
    std::string_view inherited_name() const noexcept {
        return at == inherited ? std::string_view() : at.substr(inherited.size() + 1);
    }
};

item read_item(std::string_view text) noexcept {
    text = coracle::detail::trim_blanks(text);
    item i{text, text, {}};
    for (const std::string_view scheme : {"https://", "http://"}) {
        if (!text.starts_with(scheme)) continue;
        i.at = text.substr(scheme.size());
        i.secure = scheme == "https://";
        break;
    }
    return i;
}

/// Where neither the address nor the name says it: whether there are certificates.
bool is_secure(const item& i, std::string_view name, bool has_tls) noexcept {
    if (i.secure) return *i.secure;
    return name != "http" && has_tls;
}

/// The sockets of another process that an item means: by their names, which are items of its
/// `listen` where it is one of ours, or by the address.
bool means(const item& i, const net::address* at, const net::inherited_socket& s) noexcept {
    if (!s.descriptor) return false;
    if (s.name == i.text) return true;
    if (at != nullptr) return s.local == *at;
    return i.is_inherited() && (i.at == inherited || s.name == i.inherited_name());
}

/// The address that an item names, if it is one.
std::optional<net::address> address_of(const item& i) {
    if (i.is_inherited()) return std::nullopt;
    const auto parsed = net::address::parse(i.at);
    return parsed ? std::optional(*parsed) : std::nullopt;
}

std::vector<const net::inherited_socket*> sockets_of(
    const item& i, const std::optional<net::address>& at,
    const std::vector<net::inherited_socket>& sockets) {
    std::vector<const net::inherited_socket*> all;
    for (const net::inherited_socket& s : sockets) {
        if (means(i, at ? &*at : nullptr, s)) all.push_back(&s);
    }
    return all;
}

void take_sockets(const item& i, const net::address* at, bool has_tls,
                  std::vector<net::inherited_socket>& sockets, std::vector<endpoint_wanted>& into) {
    const std::size_t first = into.size();
    for (net::inherited_socket& s : sockets) {
        if (!means(i, at, s)) continue;
        const auto is_same = [&](const endpoint_wanted& e) { return e.at == s.local; };
        auto there =
            std::find_if(into.begin() + static_cast<std::ptrdiff_t>(first), into.end(), is_same);
        if (there == into.end()) {
            endpoint_wanted e;
            e.at = s.local;
            e.secure = is_secure(i, s.name, has_tls);
            e.text = i.text;
            into.push_back(std::move(e));
            there = into.end() - 1;
        }
        there->given.push_back(std::move(s.descriptor));
    }
}

void add(const item& i, bool has_tls, std::vector<net::inherited_socket>& sockets,
         std::vector<endpoint_wanted>& into) {
    const std::size_t before = into.size();
    std::optional<net::address> at;
    if (!i.is_inherited()) {
        auto parsed = net::address::parse(i.at);
        if (!parsed) throw_exception(std::move(parsed).error());
        at = *parsed;
    }
    take_sockets(i, at ? &*at : nullptr, has_tls, sockets, into);
    if (into.size() != before) return;
    if (!at) {
        throw_exception(error(std::errc::invalid_argument, "listen")
                            .on(std::string(i.text) + ": no such socket was passed"));
    }
    endpoint_wanted e;
    e.at = *at;
    e.secure = is_secure(i, {}, has_tls);
    e.text = i.text;
    into.push_back(std::move(e));
}

}  // namespace

std::vector<endpoint_wanted> find_endpoints(std::string_view listen, bool has_tls,
                                            std::vector<net::inherited_socket>& sockets) {
    std::vector<endpoint_wanted> all;
    while (!listen.empty()) {
        add(read_item(coracle::detail::take_item(listen)), has_tls, sockets, all);
    }
    if (all.empty()) {
        throw_exception(error(std::errc::invalid_argument, "listen").on("it names no address"));
    }
    for (const endpoint_wanted& e : all) {
        if (!e.secure || has_tls) continue;
        throw_exception(error(std::errc::invalid_argument, "listen")
                            .on(e.text + " without certificates (tls)"));
    }
    return all;
}

bool has_item_of(std::string_view listen, const std::vector<net::inherited_socket>& sockets) {
    while (!listen.empty()) {
        const item i = read_item(coracle::detail::take_item(listen));
        if (!sockets_of(i, address_of(i), sockets).empty()) return true;
    }
    return false;
}

std::optional<std::uint16_t> secure_port_of(std::string_view listen, bool has_tls,
                                            const std::vector<net::inherited_socket>& sockets) {
    const auto has_port = [](const net::address& a) {
        return (a.family() == net::family::v4 || a.family() == net::family::v6) && a.port() != 0;
    };
    while (!listen.empty()) {
        const item i = read_item(coracle::detail::take_item(listen));
        const auto at = address_of(i);
        const auto passed = sockets_of(i, at, sockets);
        for (const net::inherited_socket* const s : passed) {
            if (is_secure(i, s->name, has_tls) && has_port(s->local)) return s->local.port();
        }
        if (passed.empty() && at && is_secure(i, {}, has_tls) && has_port(*at)) return at->port();
    }
    return std::nullopt;
}

}  // namespace coracle::http::detail
