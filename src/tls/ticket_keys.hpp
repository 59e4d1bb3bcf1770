#pragma once

#include "tls/openssl.hpp"

#include <coracle/base/secret.hpp>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>

namespace coracle::tls::detail {

/// The keys that encrypt session tickets (RFC 5077 section 4). They rotate: old keys are kept as
/// long as their tickets are valid, so that a leaked key decrypts little. They are random,
/// or derived from a secret and the time, so that others who have it have the same. Thread-safe.
class ticket_keys {
public:
    /// `lifetime`: of a ticket, in seconds. Without a secret the keys are random.
    explicit ticket_keys(std::int64_t lifetime, secret shared = {}) noexcept
        : lifetime_(lifetime), shared_(std::move(shared)) {}
    ticket_keys(const ticket_keys&) = delete;
    ticket_keys& operator=(const ticket_keys&) = delete;
    ~ticket_keys();

    static constexpr std::size_t name_size = 16;

    /// The callback of OpenSSL: prepares to encrypt a ticket, or to decrypt the one under `name`;
    /// returns 1, 2 (decrypt, and give the client a new one), 0 (unknown) or -1 (failed).
    int prepare(std::int64_t now, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                EVP_MAC_CTX* mac, bool encrypt) noexcept;

private:
    struct key {
        unsigned char name[name_size];
        unsigned char cipher[32];
        unsigned char mac[32];
        std::int64_t made = 0;
    };
    static constexpr std::size_t kept = 4;
    static constexpr std::size_t kept_random = 3;

    bool begin_key(std::int64_t now) noexcept;
    bool derive(std::int64_t now) noexcept;
    std::int64_t period() const noexcept { return std::max<std::int64_t>(lifetime_ / 2, 1); }
    bool newest(std::int64_t now, key& copy) noexcept;
    bool find(std::int64_t now, const unsigned char* name, key& copy, bool& renew) noexcept;

    std::mutex lock_;
    std::int64_t lifetime_;
    secret shared_;
    key keys_[kept];
    std::size_t count_ = 0;  ///< the newest is the first
};

}  // namespace coracle::tls::detail
