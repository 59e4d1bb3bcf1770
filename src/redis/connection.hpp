#pragma once

#include "redis/protocol.hpp"
#include "redis/server_address.hpp"

#include <coracle/net/byte_stream.hpp>
#include <coracle/net/resolver.hpp>
#include <coracle/redis/options.hpp>
#include <coracle/runtime/operation.hpp>
#include <coracle/tls/context.hpp>

#include <deque>
#include <expected>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace coracle::redis::detail {

/// The server and how it is reached. Immutable but for the context of TLS, which is made with the
/// first connection. Thread-safe.
class endpoint {
public:
    endpoint(std::string_view url, connection_options o);

    /// Returns the address of the URL, or why it is malformed.
    const std::expected<server_address, error>& address() const noexcept { return address_; }
    const connection_options& options() const noexcept { return options_; }
    const std::string& user() const noexcept;
    const secret& password() const noexcept;
    std::expected<tls::client_context*, error> tls() const;

private:
    std::expected<server_address, error> address_;
    connection_options options_;
    mutable std::mutex guard_;
    mutable std::unique_ptr<tls::client_context> tls_;
};

/// A connection that was authenticated, and the reader of what comes over it.
class connection {
public:
    connection(std::unique_ptr<net::byte_stream> stream, const reply_limits& limits)
        : stream_(std::move(stream)), reader_(limits) {}

    /// Sends all of the bytes, which must live until then.
    task<std::expected<void, error>> send(std::string_view bytes);
    /// Completes with the next reply; one that was read already, at once.
    task<std::expected<reply, error>> receive();
    /// Returns the number of bytes that have come.
    std::uint64_t received() const noexcept { return received_; }

private:
    std::unique_ptr<net::byte_stream> stream_;
    reply_reader reader_;
    std::uint64_t received_ = 0;
};

/// Connects and sends AUTH and SELECT where the endpoint has them, and PING: the first command
/// finds a server that serves. Within `connect_timeout`. Both parameters must live until then.
task<std::expected<std::unique_ptr<connection>, error>> open(const endpoint& to,
                                                             net::resolver& names);

/// The error that an error reply means.
error error_of(const reply& r, const char* operation);

/// The delays between attempts: twice as long each time, shortened by chance.
class backoff {
public:
    explicit backoff(const connection_options& o) noexcept
        : first_(o.first_delay), longest_(o.longest_delay) {}
    duration next() noexcept;
    void reset() noexcept { last_ = {}; }

private:
    duration first_;
    duration longest_;
    duration last_{};
};

}  // namespace coracle::redis::detail
