#pragma once

#include <coracle/websocket/message.hpp>

#include <cstdint>
#include <string_view>

namespace coracle::websocket {

/// Takes what a `topic_bus` brings from other processes. May be called by any thread.
class topic_receiver {
public:
    /// Delivers to the subscribers of this process.
    virtual void deliver(std::string_view topic, message_type type, std::string_view bytes,
                         bool retain) = 0;
    /// Messages may have been lost: the bus was away.
    virtual void missed() noexcept = 0;

    /// Returns where the order of this process stands: `restore` takes it.
    virtual std::uint64_t mark() const noexcept = 0;
    /// Delivers a message that was retained elsewhere before `since`, a `mark`, unless this process
    /// has published, received or forgotten a retained one of the topic after it, or has the same
    /// one already; 0 for one that this process itself has retained: what it has now came later,
    /// and may not have reached the others. With a pattern it goes to the subscribers of just that
    /// pattern, which have called for it; with an empty one to all whose patterns match.
    virtual void restore(std::string_view pattern, std::string_view topic, message_type type,
                         std::string_view bytes, std::uint64_t since) = 0;

protected:
    ~topic_receiver() = default;
};

/// Carries the messages of `topics` between processes: the seam for Redis, NATS and the like.
/// Delivery is at most once. Its functions are called by any thread, one at a time, and never wait.
class topic_bus {
public:
    virtual ~topic_bus() = default;
    /// Called once, before all others. The receiver lives until `stop` has returned.
    virtual void start(topic_receiver& to) = 0;
    /// Called once, when the topics are no more.
    virtual void stop() noexcept = 0;
    /// Takes a message to all other processes, and not back to this one.
    virtual void publish(std::string_view topic, message_type type, std::string_view bytes,
                         bool retain) = 0;
    /// This process has a first subscriber to a pattern, or no more of them. What other processes
    /// have retained for a new pattern is given to `topic_receiver::restore`.
    virtual void subscribe(std::string_view pattern) = 0;
    virtual void unsubscribe(std::string_view pattern) noexcept = 0;
};

}  // namespace coracle::websocket
