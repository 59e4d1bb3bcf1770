#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::tls::detail {

inline constexpr std::size_t seal_salt = 16;
inline constexpr std::size_t seal_tag = 16;
/// Bytes that a sealed text has more than the text.
inline constexpr std::size_t seal_overhead = seal_salt + seal_tag;

/// Encrypts and authenticates `text` (AES-256-GCM, NIST SP 800-38D), and authenticates `bound`,
/// which is not in the result: the salt, the encrypted text, the tag. Each text has a key of its
/// own, HMAC-SHA-256 of `key` and the salt of 16 random bytes, so that one key seals as many texts
/// as there will ever be. Throws `exception` where OpenSSL has no such cipher.
std::string seal(std::string_view key, std::string_view salt, std::string_view bound,
                 std::string_view text);

/// The text that `seal` was given, or nothing where `sealed` is not whole, or was not made of this
/// key and `bound`.
std::optional<std::string> unseal(std::string_view key, std::string_view bound,
                                  std::string_view sealed);

}  // namespace coracle::tls::detail
