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
    /// Whether there is one: all else needs it.
    explicit operator bool() const noexcept { return inner_ != nullptr; }

    /// In the form of RFC 2253: "CN=example.org,O=Example".
    std::string subject() const;
    std::string issuer() const;
    /// The common name of the subject; empty when there is none.
    std::string common_name() const;
    /// DNS names, IP addresses, mail addresses and URIs of the subject's alternative names.
    std::vector<std::string> names() const;
    /// In hexadecimal digits.
    std::string serial() const;
    /// Seconds since 1970-01-01 00:00 UTC.
    std::int64_t not_before() const;
    std::int64_t not_after() const;
    /// SHA-256 of the certificate, in 64 hexadecimal digits.
    std::string fingerprint() const;
    std::string pem() const;

private:
    std::shared_ptr<const implementation> inner_;
};

}  // namespace coracle::tls
