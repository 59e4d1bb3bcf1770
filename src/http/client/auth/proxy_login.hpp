#pragma once

#include "http/client/auth/authenticator.hpp"

#include <coracle/connect/proxy.hpp>

#include <mutex>

namespace coracle::http::detail {

/// How the loops of a client make themselves known to one proxy: with Digest, what one of them was
/// asked serves all.
class proxy_login final : public connect::proxy_authenticator {
public:
    explicit proxy_login(credentials who) : who_(std::move(who), auth_side::proxy) {}

    std::expected<secret, error> authorize(std::string_view method,
                                           std::string_view target) override;
    bool challenged(const std::vector<std::string>& challenges, unsigned answered) override;

private:
    std::mutex guard_;
    authenticator who_;
};

}  // namespace coracle::http::detail
