#include "http/local_client.hpp"

#include "http/message/token.hpp"

#include <coracle/http/request.hpp>
#include <coracle/net/network.hpp>

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

}  // namespace

bool comes_from_here(const request& req) noexcept {
    const net::address& a = req.client();
    const bool is_local = a.family() == net::family::unix_path || a.is_loopback();
    return is_local && names_this_machine(req.host());
}

}  // namespace coracle::http::detail
