#pragma once

#include <coracle/connect/overrides.hpp>
#include <coracle/connect/proxy.hpp>
#include <coracle/net/resolver.hpp>
#include <coracle/net/socket.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

/// One call that gives a byte stream to a name.
namespace coracle::connect {

/// The time at which each part of a connect was done, since it began; zero: there was no such part,
/// or it was not reached. With a proxy, `resolve` and `connect` are about the proxy.
struct timings {
    duration resolve{};              ///< the first address was there
    duration connect{};              ///< TCP, or the Unix socket
    duration tls_to_proxy{};         ///< the handshake with a proxy of kind https
    duration proxy{};                ///< the proxy has connected to the target
    net::address peer;               ///< who was connected to: the target, or the proxy
    phase reached = phase::resolve;  ///< what it was about when it ended
};

/// Options of a connection. Each setter returns the object itself.
class options {
public:
    static constexpr duration default_attempt_delay = std::chrono::milliseconds(250);
    static constexpr duration default_resolution_delay = std::chrono::milliseconds(50);
    static constexpr duration default_timeout = std::chrono::seconds(30);
    static constexpr unsigned default_addresses = 20;

    // g++ 12 destroys an aggregate twice inside a co_await expression: this must not be one.
    options() noexcept {}  // NOLINT(modernize-use-equals-default)

    /// The time that an attempt has before the next address is tried beside it (RFC 8305 section 5:
    /// "Connection Attempt Delay"), between 10 ms and 2 s. Default 250 ms.
    options& attempt_delay(duration d) noexcept;
    /// The longest time that the addresses of IPv4 wait for those of IPv6 (RFC 8305 section 3:
    /// "Resolution Delay"). Default 50 ms.
    options& resolution_delay(duration d) noexcept {
        resolution_delay_ = d;
        return *this;
    }
    /// The whole, names included. Default 30 s.
    options& timeout(duration d) noexcept {
        timeout_ = d;
        return *this;
    }
    /// Tries only addresses of this family. Default none: both.
    options& only(net::family f) noexcept {
        only_ = f;
        return *this;
    }
    /// Addresses that are tried at most, of both families together; at least 1. Default 20.
    options& addresses(unsigned most) noexcept {
        addresses_ = most == 0 ? 1 : most;
        return *this;
    }
    /// Sets the options of each socket. `fast_open` is ignored: with it every attempt succeeds at
    /// once, and the first address would always win.
    options& socket(const socket_options& o) noexcept {
        socket_ = o;
        return *this;
    }
    /// The names, within `timeout`: those of a proxy too. Default none.
    options& resolve_timeout(duration d) noexcept {
        resolve_timeout_ = d;
        return *this;
    }
    /// Goes through this proxy; null: none. Default none.
    options& proxy(std::shared_ptr<const connect::proxy> p) noexcept {
        proxy_ = std::move(p);
        return *this;
    }
    options& proxy(connect::proxy p) {
        return proxy(std::make_shared<const connect::proxy>(std::move(p)));
    }
    /// Connects to this path whatever name and port are, and takes no proxy; "@name" is an abstract
    /// one. Empty, the default: no.
    options& unix_socket(std::string path) noexcept {
        unix_socket_ = std::move(path);
        return *this;
    }
    /// Addresses that are known without asking, those of a proxy too. Default none.
    options& resolve(overrides o) {
        return resolve(std::make_shared<const overrides>(std::move(o)));
    }
    options& resolve(std::shared_ptr<const overrides> o) noexcept {
        overrides_ = std::move(o);
        return *this;
    }
    /// Binds the socket to a local address with a port or 0. Only addresses of its family are then
    /// tried. Default: the system chooses.
    options& bind(const net::address& local) noexcept;
    /// The local address, or the network device (SO_BINDTODEVICE), such as "eth0", that is used.
    /// Empty, the default: any.
    options& interface_name(std::string_view name) noexcept;
    /// Writes down when each part was done. `to` must live until the connect has completed. Default
    /// null: nowhere.
    options& record(timings* to) noexcept {
        timings_ = to;
        return *this;
    }

    duration attempt_delay() const noexcept { return attempt_delay_; }
    duration resolution_delay() const noexcept { return resolution_delay_; }
    duration timeout() const noexcept { return timeout_; }
    net::family only() const noexcept { return only_; }
    unsigned addresses() const noexcept { return addresses_; }
    const socket_options& socket() const noexcept { return socket_; }
    duration resolve_timeout() const noexcept { return resolve_timeout_; }
    const std::shared_ptr<const connect::proxy>& proxy() const noexcept { return proxy_; }
    const std::string& unix_socket() const noexcept { return unix_socket_; }
    const std::shared_ptr<const overrides>& resolve() const noexcept { return overrides_; }
    timings* record() const noexcept { return timings_; }
    /// Returns true if `interface_name` was given a text that can be neither an address nor a
    /// device.
    bool has_bad_interface() const noexcept { return bad_interface_; }

private:
    duration attempt_delay_ = default_attempt_delay;
    duration resolution_delay_ = default_resolution_delay;
    duration timeout_ = default_timeout;
    net::family only_ = net::family::none;
    unsigned addresses_ = default_addresses;
    bool bad_interface_ = false;
    duration resolve_timeout_ = duration::max();
    socket_options socket_;
    std::shared_ptr<const connect::proxy> proxy_;
    std::shared_ptr<const overrides> overrides_;
    std::string unix_socket_;
    timings* timings_ = nullptr;
};

/// Connects to a host by name, as RFC 8305 ("Happy Eyeballs v2") says: queries its IPv6 and IPv4
/// addresses at the same time, tries them one after the other, families in turn, begins with the
/// next one when one has failed or is slow, and keeps the first that connects. With a proxy,
/// connects to the proxy that way, and the proxy to the host: the result is a stream to the host,
/// with the proxy's address as peer. `host` is copied; `names` must live until it has completed.
///
/// Completes when an address has accepted the connection, the other attempts have been given up and
/// their sockets are closed. Resumes from the loop. Fails with phase resolve when there are no
/// addresses; with phase connect when all have failed: the error's subject names each address and
/// its error, its code is that of the first; `std::errc::timed_out` after `timeout`. Fails with
/// phase proxy when a proxy refuses or cannot be understood, with operation "resolve proxy" when
/// the proxy's own name has no addresses; with phase tls when the handshake with the proxy fails.
/// Cancelling it cancels all attempts.
operation<std::unique_ptr<net::byte_stream>> to(net::resolver& names, std::string_view host,
                                                std::uint16_t port, const options& o = {});

/// Connects to the proxy that `o` names, with TLS where its kind is https, and asks nothing of it:
/// for plain HTTP, which proxies take as requests with a whole URL. Fails as `to` does.
operation<std::unique_ptr<net::byte_stream>> to_proxy(net::resolver& names, const options& o);

}  // namespace coracle::connect
