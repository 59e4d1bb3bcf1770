#pragma once

#include "tls/openssl.hpp"

#include <list>
#include <mutex>
#include <string>
#include <string_view>

namespace coracle::tls::detail {

/// Sessions that a client can resume, the newest first; those of TLS 1.3 are used once (RFC 8446
/// appendix C.4). Thread-safe.
class session_cache {
public:
    /// The most sessions of one host. Each connection adds two, so one host could fill the cache.
    static constexpr std::size_t most_of_one_key = 32;

    explicit session_cache(std::size_t most) noexcept : most_(most) {}

    /// `key` has the host, and all else that must be equal.
    void put(std::string_view key, ssl_session_ptr session);
    void clear();
    /// Returns null if there is none.
    ssl_session_ptr take(std::string_view key);

private:
    struct entry {
        std::string key;
        ssl_session_ptr session;
    };
    void forget_surplus(std::string_view key);

    std::mutex lock_;
    std::size_t most_;
    std::list<entry> entries_;
};

}  // namespace coracle::tls::detail
