#pragma once

#include <coracle/redis/options.hpp>
#include <coracle/runtime/backend.hpp>
#include <coracle/websocket/topic_bus.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace coracle {
class logger;
}

namespace coracle::redis {

namespace detail {
class bus_core;
}

/// A time in which messages of other processes may have been missed, told when it is over.
struct topic_gap {
    duration away{};            ///< from the loss of the connection until all subscriptions stood
    std::uint64_t dropped = 0;  ///< own messages that never left, since the last gap
    error why;                  ///< of the loss
};

struct topic_bus_options : connection_options {
    /// The beginning of the names of channels and keys. Keys have it in braces, so that a cluster
    /// keeps them on one node. Channels, which are of a server and not of a database, have "/" and
    /// the number of the database behind it, unless that is 0. Default "coracle".
    std::string prefix = "coracle";
    /// Messages of this process that wait to be sent, or for the server to have taken them; one
    /// more is dropped, and one that makes them more than 16 MiB. Default 1,024.
    std::size_t queued = 1024;
    /// The longest time that a message waits for a server that is away, or slow; then it is
    /// dropped. Zero: none. Default 5 s.
    duration publish_timeout = std::chrono::seconds(5);
    /// Retained messages that the server keeps for all processes, beyond which those that were
    /// published to least recently are forgotten. Default 10,000.
    std::size_t retained = 10'000;
    /// Silence of the server after which it is asked whether it is there; after another as long the
    /// connection is given up. Default 10 s.
    duration ping = std::chrono::seconds(10);
    /// The longest time that the end of the topics waits for messages on their way to the server.
    /// Default 1 s.
    duration drain = std::chrono::seconds(1);
    /// Called after each gap, on the thread of the bus, which it must not hold. Default: none.
    std::function<void(const topic_gap&)> on_gap = {};
    /// Default: the best one that works here.
    backend_kind backend = backend_kind::automatic;
    /// Default: warnings and errors, or what CORACLE_LOG says, to standard error. Must outlive the
    /// bus.
    logger* log = nullptr;
};

/// Counts of a bus, since it was made.
struct topic_bus_counters {
    std::uint64_t published = 0;      ///< taken by the server
    std::uint64_t dropped = 0;        ///< never left, or perhaps not
    std::uint64_t received = 0;       ///< of other processes, and delivered
    std::uint64_t echoes = 0;         ///< own ones that came back, and were dropped
    std::uint64_t duplicates = 0;     ///< came by several subscriptions, and were dropped
    std::uint64_t unwanted = 0;       ///< came by a wider pattern than was subscribed to
    std::uint64_t foreign = 0;        ///< not from a bus
    std::uint64_t restored = 0;       ///< retained ones that were fetched
    std::uint64_t connections = 0;    ///< for subscriptions
    std::uint64_t gaps = 0;           ///< told
    std::uint64_t subscriptions = 0;  ///< that the server has confirmed, now
};

/// Carries the messages of `websocket::topics` between processes by the PUBLISH and SUBSCRIBE of
/// Redis (5.0 or later; one node, or any node of a cluster). On a thread and two connections of its
/// own.
///
///     auto bus = std::make_shared<redis::topic_bus>("redis://127.0.0.1");
///     websocket::topics topics({}, bus);
///
/// Delivery is at most once: a message that is published while a process is away from the server is
/// not delivered there, and `topic_gap` reports when that may have been. It is delivered once where
/// several patterns match, and not again in the process that published it. Messages of one process
/// arrive in the order in which they were published.
///
/// A retained message is also kept by the server, and given to processes that subscribe later, and
/// again after a gap to those that have missed it.
class topic_bus final : public websocket::topic_bus {
public:
    /// A fault of the URL or of TLS is logged when the bus starts, and nothing leaves the process.
    explicit topic_bus(std::string_view url, topic_bus_options o = {});
    ~topic_bus() override;
    topic_bus(const topic_bus&) = delete;
    topic_bus& operator=(const topic_bus&) = delete;

    /// Starts the thread. Throws `exception` when no backend works.
    void start(websocket::topic_receiver& to) override;
    /// Waits for what is on its way, for `topic_bus_options::drain` at most, and ends the thread.
    void stop() noexcept override;
    void publish(std::string_view topic, websocket::message_type type, std::string_view bytes,
                 bool retain) override;
    void subscribe(std::string_view pattern) override;
    void unsubscribe(std::string_view pattern) noexcept override;

    /// Returns true while the server has confirmed all subscriptions. From any thread.
    bool is_connected() const noexcept;
    /// From any thread.
    topic_bus_counters counters() const noexcept;

private:
    std::shared_ptr<detail::bus_core> core_;
};

}  // namespace coracle::redis
