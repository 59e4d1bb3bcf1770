#pragma once

#include <coracle/base/typed_slots.hpp>
#include <coracle/net/address.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace coracle::tls {
class stream;
}

namespace coracle::http {

/// What the requests of one connection have in common. Lives as long as the connection, and belongs
/// to its loop.
class connection_info {
public:
    explicit connection_info(const net::address& peer,
                             const tls::stream* secured = nullptr) noexcept
        : peer_(&peer), tls_(secured) {}

    /// The other end, or the client that it speaks for, where a PROXY header from a proxy that is
    /// trusted said so.
    const net::address& peer() const noexcept { return *peer_; }
    /// What TLS agreed on, and whom the client's certificate names; null without TLS.
    const tls::stream* tls() const noexcept { return tls_; }

    /// What was left for this connection under its type by an earlier request, or null. Destroyed
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

    /// For the server: who the peer speaks for.
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
    const tls::stream* tls_;
    std::unique_ptr<more> more_;
};

}  // namespace coracle::http
