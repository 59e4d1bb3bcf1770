#pragma once

#include <coracle/websocket/compression.hpp>
#include <coracle/websocket/connection.hpp>
#include <coracle/websocket/slow_reader.hpp>
#include <coracle/websocket/topic_bus.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::websocket {

class topics;

namespace detail {
class topic_state;
class topic_subscriber;
}  // namespace detail

struct topic_options {
    /// Messages that wait for one subscriber that reads slowly. Default 256.
    std::size_t backlog = 256;
    /// The policy at that bound. Default: the oldest message is dropped.
    slow_reader policy = slow_reader::drop_oldest;
    /// Messages are compressed once for all subscribers that agreed on compression; the window is
    /// always 15 bits. Default: off.
    compression_options compression = {};
    /// Topics whose last message is kept; beyond it the one that was published to least recently is
    /// forgotten. Default 10,000.
    std::size_t retained = 10'000;
    /// Bytes of messages on their way to another loop, with 256 for each of them; messages beyond
    /// it are dropped for the subscribers of that loop. Default 16 MiB.
    std::size_t handed_over = 16 * 1024 * 1024;
};

/// Counts of a `topics`, since it was made.
struct topic_counters {
    std::uint64_t published = 0;
    std::uint64_t delivered = 0;    ///< to subscribers, whether they had to wait or not
    std::uint64_t dropped = 0;      ///< for a subscriber that reads too slowly, or a busy loop
    std::uint64_t subscribers = 0;  ///< now
    std::uint64_t gaps = 0;         ///< times that the bus has lost messages
};

/// Keeps a connection subscribed as long as it lives. Move-only; must be destroyed on the loop of
/// the connection, and may outlive it and the `topics`.
class subscription {
public:
    subscription() noexcept = default;
    subscription(subscription&&) noexcept;
    subscription& operator=(subscription&&) noexcept;
    ~subscription();

    /// Ends it early.
    void cancel() noexcept;

private:
    friend class topics;
    explicit subscription(std::unique_ptr<detail::topic_subscriber> s) noexcept;
    std::unique_ptr<detail::topic_subscriber> subscriber_;
};

/// Sends messages to all connections that have subscribed to a topic, on whatever loops they are: a
/// message is framed once, and its bytes are shared. Delivery is at most once, and for one
/// subscriber in the order in which a publisher has published.
///
/// A topic is a name of tokens with points between them: "room.harbour". A pattern may have "*" for
/// one token and ">" as its last, for one or more: "room.*", "room.>". A connection that has
/// several subscriptions to a topic gets a message once, and the retained one with each.
///
/// This is a handle: copies lead to the same topics. `publish` and the questions may be called by
/// any thread, `subscribe` on the loop of the connection. Loops that have subscribers must not be
/// destroyed while another thread publishes, unless they have ended.
class topics {
public:
    /// With `bus`, messages go to other processes too, and come from them. The end of the last
    /// handle or subscription stops it, which may take a while: keep a handle until the server has
    /// ended.
    explicit topics(topic_options o = {}, std::shared_ptr<topic_bus> bus = nullptr);

    /// Subscribes a connection, as long as the subscription lives: `publish` sends to it. The last
    /// message of topics that match is sent first, where it was retained. Throws `exception`
    /// (`std::errc::invalid_argument`) for a pattern that is none.
    [[nodiscard]] subscription subscribe(connection& ws, std::string_view pattern);

    /// Publishes a message, and never waits: a subscriber that reads slowly is dealt with as
    /// `topic_options::policy` says. With `retain` it is the one that new subscribers get; an empty
    /// one is forgotten. Returns the number of subscribers on this loop that it went to. Throws
    /// `exception` (`std::errc::invalid_argument`) for a topic that is none.
    std::size_t publish(std::string_view topic, message_type type, std::string_view bytes,
                        bool retain = false);
    std::size_t publish(std::string_view topic, std::string_view text, bool retain = false) {
        return publish(topic, message_type::text, text, retain);
    }
    /// Sends on what was received.
    std::size_t publish(std::string_view topic, const message& m) {
        return publish(topic, m.type(), m.data());
    }

    /// How many subscriptions of this process have exactly this pattern or topic.
    std::size_t presence(std::string_view pattern) const;
    /// The last message that was published to a topic to be retained.
    std::optional<std::string> retained(std::string_view topic) const;
    topic_counters counters() const noexcept;

private:
    std::shared_ptr<detail::topic_state> state_;
};

/// Returns whether a topic matches a pattern.
bool topic_matches(std::string_view pattern, std::string_view topic) noexcept;

}  // namespace coracle::websocket
