#pragma once

#include "http/client/auth/authenticator.hpp"

#include <coracle/connect/proxy.hpp>

#include <mutex>

namespace coracle::http::detail {

/// Authenticates all loops of a client to one proxy: a Digest challenge that one of them received
/// serves all.
class proxy_login final : public connect::proxy_authenticator {
public:
    explicit proxy_login(credentials c) : authenticator_(std::move(c), auth_side::proxy) {}

    std::expected<secret, error> authorize(std::string_view method,
                                           std::string_view target) override;
    bool challenged(const std::vector<std::string>& challenges, unsigned repeats) override;

private:
    std::mutex guard_;
    authenticator authenticator_;
};

}  // namespace coracle::http::detail
