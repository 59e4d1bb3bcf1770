#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::tls::detail {

/// The hash functions for uses outside of TLS.
enum class hash : std::uint8_t {
    md5,         ///< RFC 1321: only where a protocol knows no other
    sha256,      ///< FIPS 180-4
    sha512_256,  ///< FIPS 180-4 section 6.7: not the first half of SHA-512
};

/// The digest of bytes that arrive in pieces. Move-only; not thread-safe.
class digester {
public:
    /// Begins a digest. Where the provider refuses the function, as FIPS ones do with MD5, `good`
    /// is false and stays so.
    explicit digester(hash function) noexcept;
    digester(digester&& other) noexcept : context_(std::exchange(other.context_, nullptr)) {}
    digester& operator=(digester&& other) noexcept {
        std::swap(context_, other.context_);
        return *this;
    }
    ~digester();

    bool good() const noexcept { return context_ != nullptr; }
    void add(std::string_view bytes) noexcept;
    /// Returns the digest in lower-case hexadecimal digits; nothing when it is not good. Once.
    std::optional<std::string> finish();

private:
    void drop() noexcept;

    void* context_ = nullptr;
};

/// Returns the digest of all parts, one after the other.
std::optional<std::string> digest(hash function, std::initializer_list<std::string_view> parts);

}  // namespace coracle::tls::detail
