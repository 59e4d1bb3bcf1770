#include "connect/socks5_dialogue.hpp"

#include <coracle/net/network.hpp>

#include <algorithm>

namespace coracle::connect {
namespace {

constexpr char version = 5;
constexpr char login_version = 1;
constexpr char no_authentication = 0;
constexpr char user_and_password = 2;
constexpr char no_method = '\xff';
constexpr char address_v4 = 1;
constexpr char address_name = 3;
constexpr char address_v6 = 4;

/// RFC 1928 section 6, "REP".
constexpr proxy_errc replies[] = {
    proxy_errc::general_failure,       proxy_errc::not_allowed,
    proxy_errc::network_unreachable,   proxy_errc::host_unreachable,
    proxy_errc::connection_refused,    proxy_errc::ttl_expired,
    proxy_errc::command_not_supported, proxy_errc::address_not_supported,
};

}  // namespace

socks5_dialogue::socks5_dialogue(const proxy& p, std::string_view host, std::uint16_t port)
    : user_(p.user()), password_(p.password()), host_(host), port_(port),
      has_credentials_(p.has_credentials()) {
    offer_methods();
}

void socks5_dialogue::offer_methods() {
    std::string& out = begin_output(4);
    out += version;
    out += static_cast<char>(has_credentials_ ? 2 : 1);
    out += no_authentication;
    if (has_credentials_) out += user_and_password;
}

std::size_t socks5_dialogue::take(std::string_view bytes) {
    const std::size_t n = std::min(bytes.size(), wanted_ - reply_.size());
    reply_ += bytes.substr(0, n);
    switch (step_) {
        case step::method: method_came(); break;
        case step::login: login_came(); break;
        case step::reply: reply_came(); break;
    }
    return n;
}

void socks5_dialogue::next(step s, std::size_t wanted) {
    step_ = s;
    wanted_ = wanted;
    reply_.clear();
}

void socks5_dialogue::method_came() {
    if (reply_[0] != version) return malformed("not a SOCKS5 reply");
    if (reply_.size() < wanted_) return;
    switch (reply_[1]) {
        case no_authentication: return ask();
        case user_and_password:
            if (has_credentials_) return log_in();
            break;
        case no_method:
            return refuse(
                has_credentials_ ? proxy_errc::credentials_refused : proxy_errc::credentials_wanted,
                "no method of authentication in common");
        default: break;
    }
    malformed("a method of authentication that was not offered");
}

/// RFC 1929 section 2.
void socks5_dialogue::log_in() {
    const std::string_view password = password_.reveal();
    std::string& out = begin_output(3 + user_.size() + password.size());
    out += login_version;
    out += static_cast<char>(user_.size());
    out += user_;
    out += static_cast<char>(password.size());
    out += password;
    next(step::login, 2);
}

void socks5_dialogue::login_came() {
    if (reply_[0] != login_version) return malformed("not a reply to a SOCKS5 login");
    if (reply_.size() < wanted_) return;
    if (reply_[1] != 0) return refuse(proxy_errc::credentials_refused);
    ask();
}

void socks5_dialogue::ask() {
    std::string& out = begin_output(7 + host_.size());
    out += version;
    out.append("\x01\0", 2);
    if (const auto ip = net::parse_ip(host_)) {
        out += ip->family() == net::family::v4 ? address_v4 : address_v6;
        out.append(ip->bytes().begin(), ip->bytes().end());
    } else {
        out += address_name;
        out += static_cast<char>(host_.size());
        out += host_;
    }
    out += static_cast<char>(port_ >> 8);
    out += static_cast<char>(port_ & 0xff);
    next(step::reply, 5);
}

void socks5_dialogue::reply_came() {
    if (reply_[0] != version) return malformed("not a reply of SOCKS5");
    if (reply_.size() < 2) return;
    // Some proxies end a refusal here.
    if (const auto code = static_cast<unsigned char>(reply_[1]); code != 0) {
        if (code > std::size(replies)) return malformed("an unknown reply of SOCKS5");
        return refuse(replies[code - 1]);
    }
    if (reply_.size() < wanted_) return;
    if (wanted_ != 5) return open();
    // The address and port that the proxy connects from, which are not used.
    switch (reply_[3]) {
        case address_v4: wanted_ = 4 + 4 + 2; return;
        case address_v6: wanted_ = 4 + 16 + 2; return;
        case address_name: wanted_ = 5 + static_cast<unsigned char>(reply_[4]) + 2U; return;
        default: malformed("an unknown kind of address in a reply of SOCKS5");
    }
}

}  // namespace coracle::connect
