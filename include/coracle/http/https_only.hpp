#pragma once

#include <coracle/http/handler.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace coracle::http {

struct https_only_options {
    /// Where https is. Default 443.
    std::uint16_t port = 443;
    /// How long browsers use https only once they have been here (Strict-Transport-Security, RFC
    /// 6797), in whole seconds. Default 180 days; 0: the field is not sent.
    std::chrono::seconds max_age = std::chrono::hours(24 * 180);
    /// The same for all subdomains. Default: not.
    bool subdomains = false;
    /// Asks to be put on the list that browsers are shipped with; hard to take back. Default: not.
    bool preload = false;
    /// Paths that begin so are answered without TLS too, so that a certificate can be had (RFC
    /// 8555). Default "/.well-known/acme-challenge/"; empty: none.
    std::string exempt = "/.well-known/acme-challenge/";
};

/// A middleware that sends whoever comes without TLS to https (308, so that the method stays), and
/// adds Strict-Transport-Security to what is answered over TLS, also where a handler throws. A
/// proxy that is trusted (`trust_proxies`, before this one) is believed what the client spoke. A
/// request that names no host gets a 400.
class https_only {
public:
    explicit https_only(https_only_options o = {});
    handler operator()(handler inner) const;

private:
    https_only_options options_;
    std::string field_;
};

}  // namespace coracle::http
