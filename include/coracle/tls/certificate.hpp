#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tls {

/// An X.509 certificate (RFC 5280), to look at. A copy refers to the same one. Thread-safe.
class certificate {
public:
    class implementation;

    certificate() noexcept = default;
    explicit certificate(std::shared_ptr<const implementation> i) noexcept : inner_(std::move(i)) {}
    /// Returns true if there is a certificate: all other members need one.
    explicit operator bool() const noexcept { return inner_ != nullptr; }

    /// The subject in the form of RFC 2253: "CN=example.org,O=Example".
    std::string subject() const;
    std::string issuer() const;
    /// The common name of the subject; empty when there is none.
    std::string common_name() const;
    /// DNS names, IP addresses, mail addresses and URIs of the subject's alternative names.
    std::vector<std::string> names() const;
    /// Returns true if it names this host, as a client checks that (RFC 9525): a DNS name, by a
    /// wildcard too, or an IP address.
    bool covers(std::string_view host) const;
    /// The serial number in hexadecimal digits.
    std::string serial() const;
    /// Seconds since 1970-01-01 00:00 UTC.
    std::int64_t not_before() const;
    std::int64_t not_after() const;
    /// SHA-256 of the certificate, in 64 hexadecimal digits.
    std::string fingerprint() const;
    /// Returns what binds an exchange above TLS to it (tls-server-end-point, RFC 5929 section 4.1):
    /// its digest by the hash function of its signature, or SHA-256 for older ones; empty where the
    /// signature has none, as with Ed25519.
    std::string endpoint_binding() const;
    std::string pem() const;
    /// The bytes of the certificate (ITU-T X.690).
    std::string der() const;

private:
    std::shared_ptr<const implementation> inner_;
};

}  // namespace coracle::tls
