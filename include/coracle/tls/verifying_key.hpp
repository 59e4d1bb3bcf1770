#pragma once

#include <coracle/base/error.hpp>

#include <cstdint>
#include <expected>
#include <memory>
#include <string_view>

namespace coracle::tls {

/// Signatures that are verified, each of its own kind of key.
enum class signature_scheme : std::uint8_t {
    rsa_sha256,         ///< RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017), of at least 2048 bits
    ecdsa_p256_sha256,  ///< ECDSA on P-256 with SHA-256 (FIPS 186-5)
    ed25519,            ///< Ed25519 (RFC 8032)
};

/// A public key that verifies signatures. A copy refers to the same key. Thread-safe.
class verifying_key {
public:
    class implementation;

    /// Reads a public key or a certificate: the path of a PEM file, or the PEM text. Blocks for as
    /// long as the file takes. Fails with `tls::errc::key_unreadable`, or `tls::errc::bad_option`
    /// for a key of no scheme.
    static std::expected<verifying_key, error> read(std::string_view from);
    /// Makes a key of its numbers as bytes, the highest first (RFC 7518 section 6). Fail with
    /// `tls::errc::bad_option`.
    static std::expected<verifying_key, error> rsa(std::string_view modulus,
                                                   std::string_view exponent);
    static std::expected<verifying_key, error> p256(std::string_view x, std::string_view y);
    static std::expected<verifying_key, error> ed25519(std::string_view bytes);

    signature_scheme scheme() const noexcept;

    /// Returns true if `signature` is that of `text` by this key. One of ECDSA is two numbers of
    /// 32 bytes, as JWS has it (RFC 7518 section 3.4).
    bool verify(std::string_view text, std::string_view signature) const noexcept;

private:
    explicit verifying_key(std::shared_ptr<const implementation> i) noexcept
        : inner_(std::move(i)) {}

    std::shared_ptr<const implementation> inner_;
};

}  // namespace coracle::tls
