#pragma once

#include <coracle/base/detail/typed_slots.hpp>
#include <coracle/net/address.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace coracle::tls {
class session_info;
}

namespace coracle::http {

/// The state that the requests of one connection share. Lives as long as the connection, and
/// belongs to its loop.
class connection_info {
public:
    explicit connection_info(const net::address& peer,
                             const tls::session_info* secured = nullptr) noexcept
        : peer_(&peer), tls_(secured) {}

    /// The other end, or the client that it speaks for, where a PROXY header from a proxy that is
    /// trusted said so.
    const net::address& peer() const noexcept { return *peer_; }
    /// The parameters of TLS and the client's certificate; null without TLS.
    const tls::session_info* tls() const noexcept { return tls_; }

    /// The value of this type that an earlier request stored for the connection, or null. Destroyed
    /// with the connection.
    template <class T>
    T* data() noexcept {
        return more_ == nullptr ? nullptr : more_->slots.find<T>();
    }
    /// Leaves a value under its type, in place of the one that was there, which is destroyed.
    template <class T>
    std::decay_t<T>& set_data(T&& value) {
        return emplace_data<std::decay_t<T>>(std::forward<T>(value));
    }
    template <class T, class... Args>
    T& emplace_data(Args&&... args) {
        return rare().slots.emplace<T>(more_->memory, std::forward<Args>(args)...);
    }

    /// Sets the client that the peer speaks for. For the server.
    void speaks_for(const net::address& client) {
        rare().client = client;
        peer_ = &more_->client;
    }

private:
    /// Apart: most connections have none of it.
    struct more {
        arena memory;
        typed_slots slots;
        net::address client;
    };
    more& rare() {
        if (more_ == nullptr) more_ = std::make_unique<more>();
        return *more_;
    }

    const net::address* peer_;
    const tls::session_info* tls_;
    std::unique_ptr<more> more_;
};

}  // namespace coracle::http
