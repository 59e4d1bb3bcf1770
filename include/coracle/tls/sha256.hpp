#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace coracle::tls {

/// The SHA-256 digest (FIPS 180-4) of bytes that come in pieces. Move-only; not thread-safe.
class sha256 {
public:
    /// Throws `exception` when the provider of OpenSSL does not have it.
    sha256();
    sha256(sha256&&) noexcept;
    sha256& operator=(sha256&&) noexcept;
    ~sha256();

    void add(std::string_view bytes) noexcept;
    /// 64 hexadecimal digits in lower case. Once.
    std::string finish();

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace coracle::tls
