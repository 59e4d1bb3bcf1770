#pragma once

#include <coracle/http/handler.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace coracle::http {

struct https_only_options {
    /// The port of https. Default 443.
    std::uint16_t port = 443;
    /// The time for which browsers use only https after a visit (Strict-Transport-Security, RFC
    /// 6797), in whole seconds. Default 180 days; 0: they forget what they were told (section
    /// 6.1.1); negative: the field is not sent.
    std::chrono::seconds max_age = std::chrono::hours(24 * 180);
    /// Includes all subdomains. Default: no.
    bool subdomains = false;
    /// Asks to be put on the list that browsers are shipped with; hard to take back. Default: not.
    bool preload = false;
    /// Paths with this prefix are served without TLS too, so that a certificate can be obtained
    /// (RFC 8555). Default "/.well-known/acme-challenge/"; empty: none.
    std::string exempt = "/.well-known/acme-challenge/";
};

/// Middleware that redirects requests without TLS to https (308, so that the method stays), and
/// adds Strict-Transport-Security to responses over TLS, also where a handler throws. With a
/// trusted proxy (`trust_proxies`, before this one) the client's scheme counts. A request that
/// names no host gets a 400.
class https_only {
public:
    explicit https_only(https_only_options o = {});
    handler operator()(handler inner) const;

private:
    https_only_options options_;
    std::string field_;
};

}  // namespace coracle::http
