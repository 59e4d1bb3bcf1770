#pragma once

#include <coracle/base/error.hpp>
#include <coracle/base/secret.hpp>

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::tls {

enum class key_kind : std::uint8_t { rsa, ed25519 };

/// A private key that signs texts. A copy refers to the same key. Thread-safe.
class signing_key {
public:
    class implementation;

    /// Reads an RSA key of at least 1024 bits or an Ed25519 key: the path of a PEM file, or the PEM
    /// text. Blocks for as long as the file takes. Fails with `tls::errc::key_unreadable`,
    /// `tls::errc::wrong_password`, or `tls::errc::bad_option` for another kind of key; the error
    /// never holds any of the key.
    static std::expected<signing_key, error> read(const secret& from, const secret& password = {});

    key_kind kind() const noexcept;

    /// Returns the signature, as bytes: RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017), or Ed25519 (RFC
    /// 8032) of the SHA-256 digest of `text`, which is what DKIM wants (RFC 8463).
    std::expected<std::string, error> sign_sha256(std::string_view text) const;

private:
    explicit signing_key(std::shared_ptr<const implementation> i) noexcept : inner_(std::move(i)) {}

    std::shared_ptr<const implementation> inner_;
};

}  // namespace coracle::tls
