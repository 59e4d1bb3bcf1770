#include "connect/dialogue.hpp"

#include "connect/http_dialogue.hpp"
#include "connect/names.hpp"
#include "connect/socks4_dialogue.hpp"
#include "connect/socks5_dialogue.hpp"

#include <coracle/net/network.hpp>

#include <utility>

namespace coracle::connect {
namespace {

refusal unsayable(std::string what) {
    return {std::make_error_code(std::errc::invalid_argument), std::move(what)};
}

/// Returns the reason why the protocol cannot carry the credentials; empty: it can.
std::string unsayable_credentials(const proxy& p) {
    const std::string& user = p.user();
    if (p.authenticator() != nullptr) {
        return p.is_http() ? "" : "a proxy of SOCKS is given a user and a password";
    }
    if (p.is_http()) {
        // RFC 7617 section 2.
        return user.find(':') != std::string::npos ? "a colon in the proxy's user" : "";
    }
    if (user.size() > 255 || p.password().reveal().size() > 255) {
        return "the proxy's user or password is longer than 255 bytes";
    }
    const bool is_v4 = p.kind() == proxy_kind::socks4 || p.kind() == proxy_kind::socks4a;
    return is_v4 && user.find('\0') != std::string::npos ? "a zero byte in the proxy's user" : "";
}

}  // namespace

void dialogue::sent() noexcept {
    wipe(output_.data(), output_.size());
    output_.clear();
}

std::string& dialogue::begin_output(std::size_t size) {
    output_.reserve(size);
    return output_;
}

void dialogue::refuse(std::error_code code, std::string detail) {
    status_ = status::refused;
    why_ = {code, std::move(detail)};
}

void dialogue::malformed(std::string_view what) {
    refuse(errc::protocol_error, std::string(what));
}

std::expected<std::unique_ptr<dialogue>, refusal> make_dialogue(const proxy& p,
                                                                std::string_view host,
                                                                std::uint16_t port,
                                                                unsigned repeats) {
    if (host.size() > most_name_bytes) return std::unexpected(unsayable("a name over 255 bytes"));
    if (!is_sendable(host)) return std::unexpected(unsayable("this is no host name"));
    if (std::string what = unsayable_credentials(p); !what.empty()) {
        return std::unexpected(unsayable(std::move(what)));
    }
    if (p.is_http()) return http_dialogue::make(p, host, port, repeats);
    if (p.kind() == proxy_kind::socks5 || p.kind() == proxy_kind::socks5h) {
        return std::make_unique<socks5_dialogue>(p, host, port);
    }
    const auto ip = net::parse_ip(host);
    const bool is_v4 = ip && ip->family() == net::family::v4;
    if (!is_v4 && (ip || p.kind() == proxy_kind::socks4)) {
        return std::unexpected(refusal{proxy_errc::address_not_supported, "SOCKS4 is for IPv4"});
    }
    return std::make_unique<socks4_dialogue>(p, host, port);
}

}  // namespace coracle::connect
