#pragma once

#include <coracle/http/event.hpp>
#include <coracle/http/request.hpp>
#include <coracle/http/response.hpp>
#include <coracle/runtime/mutex.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::http {

class event_topic;

struct event_options {
    /// The silence after which a comment is sent, so that no proxy in between takes the connection
    /// for dead, and a lost client is found. Default 15 s; 0: none.
    std::chrono::milliseconds heartbeat = std::chrono::seconds(15);
    /// The time that clients shall wait before they reconnect; nothing: as they like.
    std::optional<std::chrono::milliseconds> retry = {};
    /// When the server drains, the stream ends in order between two events, behind a comment: the
    /// client reconnects, and another server has it. False: it goes on until its function ends, or
    /// is cut. Default true.
    bool ends_with_server = true;
};

/// Sends server-sent events. Given to the function of `events`, for as long as that runs.
class event_sink {
public:
    event_sink(const event_sink&) = delete;
    event_sink& operator=(const event_sink&) = delete;

    /// Completes when the event has been handed to the system: awaiting it is the back-pressure.
    /// The texts of `e` are copied at once. Several tasks may send: each event stays whole. Fails
    /// with `std::errc::invalid_argument` when the id or the type holds CR, LF or NUL, and as
    /// `body_writer::write`. Cancelling it ends the connection,
    /// unless it waited for another `send`.
    operation<void> send(const server_event& e);
    /// An event that is nothing but data.
    operation<void> send(std::string_view data);
    /// Sends a comment, which clients ignore.
    operation<void> comment(std::string_view text);

    /// The id of the last event that this client got before it reconnected; empty for a new one.
    std::string_view last_event_id() const noexcept { return last_event_id_; }

private:
    friend class event_topic;
    friend class event_response;
    event_sink(body_writer& out, std::string_view last_event_id) noexcept
        : out_(&out), last_event_id_(last_event_id) {}
    static task<std::expected<void, error>> write(event_sink* self, std::string text);

    body_writer* out_;
    std::string_view last_event_id_;
    mutex<> lock_;
    time_point last_write_{};
    bool ended_ = false;
};

using event_function = unique_function<task<>(event_sink&)>;

/// A response of server-sent events that `send(sink)` sends, until it ends. The response owns
/// `send`; when the client goes away it is cancelled. The head goes out at once. The Last-Event-ID
/// is read from `req`.
response events(request& req, event_function send, event_options options = {});

/// Sends the same events to many clients, on any loops. Keeps the last ones, so that a client that
/// reconnects gets what it missed. Events are numbered, and the number is their id.
///
/// This is a handle: copies lead to the same topic. It must outlive what is awaited on it.
class event_topic {
public:
    static constexpr std::size_t default_history = 256;

    /// Keeps the last `history` events, and lets a client lag by as many, or by `default_history`
    /// where none are kept; room for these is allocated at once. With a `first_id` that
    /// grows from start to start of the program (the time, say), clients notice a restart.
    explicit event_topic(std::size_t history = default_history, std::uint64_t first_id = 1);

    /// Returns the id. Never waits. Any thread. Throws `exception` (`std::errc::invalid_argument`)
    /// when the type holds CR, LF or NUL.
    std::uint64_t publish(std::string_view data, std::string_view event = {});

    /// Sends the events to a client: those since its Last-Event-ID, then new ones, until `close`.
    /// When that id is not known any more, all that are kept; without an id, only new ones, behind
    /// the id of the last one, so that a client that is cut before the first misses none. Fails
    /// with `errc::too_slow` when the client lags too far, and as `event_sink::send`.
    operation<void> send_to(event_sink& out);

    /// Ends `send_to` for all, once they have sent what was published. Any thread.
    void close();
    /// Clients that are sent to now.
    std::size_t readers() const noexcept;

private:
    struct state;
    static task<std::expected<void, error>> forward(std::shared_ptr<state> from, event_sink* out);
    std::shared_ptr<state> state_;
};

}  // namespace coracle::http
