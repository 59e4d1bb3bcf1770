#pragma once

#include "connect/dialogue.hpp"

namespace coracle::connect {

/// SOCKS5 (RFC 1928), without authentication or with user and password (RFC 1929).
class socks5_dialogue final : public dialogue {
public:
    /// `host` is a name or an IP address.
    socks5_dialogue(const proxy& p, std::string_view host, std::uint16_t port);

    std::size_t take(std::string_view bytes) override;

private:
    enum class step : std::uint8_t { method, login, reply };

    /// To be called when more of the reply was received; `reply_` has at most `wanted_` bytes.
    void method_came();
    void login_came();
    void reply_came();
    void offer_methods();
    void log_in();
    void ask();
    void next(step s, std::size_t wanted);

    std::string user_;
    secret password_;
    std::string host_;
    std::uint16_t port_;
    bool has_credentials_;
    step step_ = step::method;
    std::string reply_;
    std::size_t wanted_ = 2;  ///< bytes of the reply known to follow
};

}  // namespace coracle::connect
