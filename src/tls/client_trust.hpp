#pragma once

#include "tls/openssl.hpp"

#include <coracle/base/error.hpp>
#include <coracle/tls/options.hpp>

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

namespace coracle::tls::detail {

/// The authorities and revocation lists by which a server verifies its clients: read once, for all
/// of its certificates.
class client_trust {
public:
    /// Reads nothing for a server that wants no certificates.
    static std::expected<client_trust, error> read(const server_options& o);

    /// Has clients asked for certificates, and these verified.
    void apply(SSL_CTX* to) const;
    /// Names authorities and lists, in whatever order they stand.
    const std::string& digest() const noexcept { return digest_; }
    /// The time until which all lists are up to date, in seconds since 1970.
    std::int64_t until() const noexcept { return until_; }

private:
    client_certificates wanted_ = client_certificates::none;
    x509_store_ptr store_;
    std::vector<x509_ptr> authorities_;
    std::string digest_;
    std::int64_t until_ = 0;
};

}  // namespace coracle::tls::detail
