#pragma once

#include <coracle/http/handler.hpp>
#include <coracle/net/network.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace coracle::http {

struct address_filter_options {
    /// Networks that are served, such as "10.0.0.0/8"; empty: all.
    std::vector<std::string_view> allow = {};
    /// Networks that are not, even where `allow` has them.
    std::vector<std::string_view> deny = {};
};

/// Middleware that responds with 403 to clients by their address: `request::client()`, so behind
/// `trust_proxies` that which the proxy tells; one that it hides is in no network of `allow`.
/// Throws `exception` (invalid_argument) naming a network that is malformed.
class address_filter {
public:
    explicit address_filter(const address_filter_options& options);
    handler operator()(handler inner) const;

    class rules;

private:
    std::shared_ptr<const rules> rules_;
};

}  // namespace coracle::http
