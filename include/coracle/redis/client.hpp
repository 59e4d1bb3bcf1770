#pragma once

#include <coracle/redis/error.hpp>
#include <coracle/redis/options.hpp>
#include <coracle/redis/reply.hpp>
#include <coracle/runtime/operation.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace coracle::redis {

namespace detail {
class client_core;
}

/// Counts of a client over all loops, since it was made.
struct client_counters {
    std::uint64_t commands = 0;     ///< taken
    std::uint64_t failed = 0;       ///< of these, without a reply
    std::uint64_t refused = 0;      ///< not taken: the queue was full, or the server away
    std::uint64_t connections = 0;  ///< made
    std::uint64_t lost = 0;         ///< of these, ended other than by us
};

/// Sends commands to a Redis server (5.0 or later). Each loop that uses the client has one
/// connection, made with the first command, over which the commands of all its tasks are pipelined;
/// when it is lost it is made anew, with growing delays. May be used by any number of loops at
/// once. Destroying it closes the connections; commands under way fail with `errc::shutting_down`
/// of coracle.
///
///     redis::client store{"redis://:password@cache.example.com/2"};
///     co_await store.command("SET", "boat", "coracle", "EX", "60");
///     const redis::reply name = co_await store.command("GET", "boat");
///
/// The URL is redis:// (port 6379), rediss:// (TLS) or unix:///path/of/socket, with user and
/// password where wanted; the path of the first two, and ?db=N of the last, is the database.
///
/// The server is one node: redirections of a cluster (`errc::moved`) are not followed.
class client {
public:
    /// A fault of the URL or of the TLS options fails each command.
    explicit client(std::string_view url, client_options o = {});
    ~client();
    client(const client&) = delete;
    client& operator=(const client&) = delete;

    /// Sends a command, whose parts are copied by the call, and completes with the reply. Commands
    /// of one loop reach the server in the order of the calls that were awaited. Resumes on its
    /// loop. Parts are bytes: no escaping is needed, and none can break out of its part.
    ///
    /// An error reply fails it with an `errc` of this layer. Fails with `std::errc::timed_out`
    /// after `client_options::command_timeout`, with `errc::limit_exceeded` when the queue is full,
    /// with the connection's error when that is lost; `error::safe_to_retry` says that the server
    /// cannot have seen the command. Commands that change what others of the connection see
    /// (SUBSCRIBE, MULTI, SELECT and their like) fail with `errc::shared_connection`; those that
    /// block in the server hold up all others. Cancelling it forgets a command that was not sent,
    /// and drops the reply of one that was.
    template <std::convertible_to<std::string_view>... Part>
        requires(sizeof...(Part) != 0)
    operation<reply> command(const Part&... parts) {
        const std::string_view all[] = {std::string_view(parts)...};
        return send(all);
    }
    operation<reply> command(std::span<const std::string> parts);

    /// Takes no more commands on this loop, completes when those under way there have their
    /// replies, and closes its connection. Fails with `std::errc::timed_out` after `limit`, when it
    /// has cut them. Cancelling it cuts them at once. Default 30 s.
    operation<void> drain(duration limit = std::chrono::seconds(30));

    /// From any thread.
    client_counters counters() const noexcept;

private:
    operation<reply> send(std::span<const std::string_view> parts);

    std::shared_ptr<detail::client_core> core_;
};

}  // namespace coracle::redis
