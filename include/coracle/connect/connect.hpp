#pragma once

#include <coracle/net/resolver.hpp>
#include <coracle/net/socket.hpp>

#include <chrono>
#include <memory>
#include <string_view>

/// One call that gives a byte stream to a name.
namespace coracle::connect {

/// How to connect. Each setter gives the object itself.
class options {
public:
    static constexpr duration default_attempt_delay = std::chrono::milliseconds(250);
    static constexpr duration default_resolution_delay = std::chrono::milliseconds(50);
    static constexpr duration default_limit = std::chrono::seconds(30);
    static constexpr unsigned default_addresses = 20;

    // g++ 12 destroys an aggregate twice inside a co_await expression: this must not be one.
    options() noexcept {}  // NOLINT(modernize-use-equals-default)

    /// How long an attempt has before the next address is tried beside it (RFC 8305 section 5:
    /// "Connection Attempt Delay"), between 10 ms and 2 s. Default 250 ms.
    options& attempt_delay(duration d) noexcept;
    /// How long the addresses of IPv4 wait for those of IPv6 (RFC 8305 section 3: "Resolution
    /// Delay"). Default 50 ms.
    options& resolution_delay(duration d) noexcept {
        resolution_delay_ = d;
        return *this;
    }
    /// The whole, names included. Default 30 s.
    options& limit(duration d) noexcept {
        limit_ = d;
        return *this;
    }
    /// Only addresses of this family. Default none: both.
    options& only(net::family f) noexcept {
        only_ = f;
        return *this;
    }
    /// Addresses that are tried at most. Default 20.
    options& addresses(unsigned most) noexcept {
        addresses_ = most;
        return *this;
    }
    /// For each socket. `fast_open` is left out: with it every attempt succeeds at once, and the
    /// first address would always win.
    options& socket(const socket_options& o) noexcept {
        socket_ = o;
        return *this;
    }

    duration attempt_delay() const noexcept { return attempt_delay_; }
    duration resolution_delay() const noexcept { return resolution_delay_; }
    duration limit() const noexcept { return limit_; }
    net::family only() const noexcept { return only_; }
    unsigned addresses() const noexcept { return addresses_; }
    const socket_options& socket() const noexcept { return socket_; }

private:
    duration attempt_delay_ = default_attempt_delay;
    duration resolution_delay_ = default_resolution_delay;
    duration limit_ = default_limit;
    net::family only_ = net::family::none;
    unsigned addresses_ = default_addresses;
    socket_options socket_;
};

/// Connects to a host by name, as RFC 8305 ("Happy Eyeballs v2") says: asks for its addresses of
/// IPv6 and IPv4 at the same time, tries them one after the other, families in turn, begins with
/// the next when one has failed or was not quick, and keeps the first that connects. `host` is
/// copied; `names` must live until it has completed.
///
/// Completes when an address has answered, the other attempts have been given up and their sockets
/// are closed. Resumes from the loop. Fails with phase resolve when there are no addresses; with
/// phase connect when all have failed: the error's subject says each address and why, its code is
/// that of the first; `std::errc::timed_out` after `limit`. Cancelling it cancels all attempts.
operation<std::unique_ptr<net::byte_stream>> to(net::resolver& names, std::string_view host,
                                                std::uint16_t port, const options& o = {});

}  // namespace coracle::connect
