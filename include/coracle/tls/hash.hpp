#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::tls {

/// Hash functions. MD5 and SHA-1 are broken: only for protocols that know no other.
enum class hash : std::uint8_t {
    md5,     ///< RFC 1321, 16 bytes
    sha1,    ///< FIPS 180-4, 20 bytes
    sha256,  ///< FIPS 180-4, 32 bytes
    sha512,  ///< FIPS 180-4, 64 bytes
};

/// The digest of `bytes`, as bytes. Throws `exception` (not_supported) where the provider of
/// OpenSSL refuses the function, as FIPS ones do with MD5. Of bytes that come in pieces: `sha256`.
[[nodiscard]] std::string digest(hash function, std::string_view bytes);

/// The keyed digest of `bytes` (HMAC, RFC 2104), as bytes. Throws as `digest`.
[[nodiscard]] std::string hmac(hash function, std::string_view key, std::string_view bytes);

/// Returns a key made of a password (PBKDF2 with HMAC, RFC 8018 section 5.2), as long as the
/// digest, as bytes. Takes some microseconds for each ten iterations: bound what a peer asks for.
/// Throws as `digest`.
[[nodiscard]] std::string pbkdf2(hash function, std::string_view password, std::string_view salt,
                                 unsigned iterations);

/// Returns true if two texts are equal, in a time that does not depend on where they differ: for
/// digests, tokens and signatures that a client sends. Their sizes are no secret.
[[nodiscard]] bool equal_in_constant_time(std::string_view a, std::string_view b) noexcept;

/// Bytes as hexadecimal digits in lower case.
[[nodiscard]] std::string to_hex(std::string_view bytes);

}  // namespace coracle::tls
