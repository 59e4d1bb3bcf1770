#include "http/local_client.hpp"

#include "http/forwarded/forwarding_field.hpp"
#include "http/message/token.hpp"

#include <coracle/http/forwarded.hpp>
#include <coracle/http/request.hpp>
#include <coracle/net/network.hpp>

#include <algorithm>

namespace coracle::http::detail {
namespace {

/// The host without its port, in the forms that name this machine.
bool names_this_machine(std::string_view host) noexcept {
    if (host.starts_with('[')) return host.substr(0, host.find(']') + 1) == "[::1]";
    host = host.substr(0, host.find(':'));
    if (equal_ignoring_case(host, "localhost")) return true;
    const auto address = net::parse_ip(host, 0);
    return address && address->is_loopback();
}

bool is_of_a_proxy(const field& f) noexcept {
    return is_forwarding_field(f.name) || equal_ignoring_case(f.name, "via");
}

/// Returns true where a proxy made the request for another client, which no trusted proxy names.
bool is_for_another(const request& req) noexcept {
    const auto* const info = req.data<client_info>();
    if (info != nullptr && info->proxies != 0) return info->hidden;
    return std::ranges::any_of(req.fields(), is_of_a_proxy);
}

}  // namespace

bool comes_from_here(const request& req) noexcept {
    if (is_for_another(req)) return false;
    const net::address& a = req.client();
    const bool is_local = a.family() == net::family::unix_path || a.is_loopback();
    return is_local && names_this_machine(req.host());
}

}  // namespace coracle::http::detail
