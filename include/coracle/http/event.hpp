#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::http {

/// Limits for reading a stream of events.
struct event_limits {
    std::size_t line = 256 * 1024;   ///< bytes of one line, without its end
    std::size_t data = 1024 * 1024;  ///< bytes of the data of one event
};

/// A server-sent event (HTML standard, section 9.2): views of what is to be sent.
struct server_event {
    /// The id, which a client that reconnects sends back as Last-Event-ID.
    std::optional<std::string_view> id = {};
    /// The type; empty: "message".
    std::string_view event = {};
    /// Text of any lines. Without it the client's program gets no event; the client takes `id` and
    /// `retry` only.
    std::optional<std::string_view> data = {};
    /// The time that a client waits before it reconnects.
    std::optional<std::chrono::milliseconds> retry = {};
};

/// Appends an event as it goes over the wire. Each line of the data, which CRLF, CR or LF may end,
/// becomes a line of its own, so data cannot become another event. False, and nothing is appended,
/// when the id or the type holds CR, LF or NUL. (A client that sees NUL drops an id.)
[[nodiscard]] bool append_event(std::string& out, const server_event& e);
/// Appends a comment, which clients ignore: each of its lines as one.
void append_event_comment(std::string& out, std::string_view text);

/// An event that was received.
struct received_event {
    std::string event;  ///< its type, "message" unless it has one
    std::string data;
    std::string id;  ///< the last one that the stream has set
    /// The time to wait before requesting the stream again, when the stream has set one.
    std::optional<std::chrono::milliseconds> retry = {};

    friend bool operator==(const received_event&, const received_event&) = default;
};

/// Reads a stream of events as the HTML standard says (section 9.2.6), in pieces of any size, and
/// holds one line and one event. Without input or output of its own. Bytes are not checked to be
/// UTF-8.
class event_parser {
public:
    enum class status : std::uint8_t {
        need_more,       ///< all was consumed
        event,           ///< `event()` has the next one
        limit_exceeded,  ///< for good
    };
    struct result {
        status what = status::need_more;
        std::size_t consumed = 0;
    };

    explicit event_parser(const event_limits& limits = {}) : limits_(limits) {}

    /// Reads up to the end of the next event. Text after the last empty line is no event when the
    /// stream ends.
    result parse(std::string_view in);

    /// Valid until the next call of `parse`.
    const received_event& event() const noexcept { return event_; }
    /// The value of Last-Event-ID when the stream breaks off.
    const std::string& last_event_id() const noexcept { return event_.id; }
    /// The time to wait before that, when the stream has set one.
    std::optional<std::chrono::milliseconds> retry() const noexcept { return retry_; }
    /// The name of the limit that was exceeded; empty unless one was.
    std::string_view exceeded() const noexcept { return exceeded_; }

private:
    bool take_line(std::string_view line);
    bool take_field(std::string_view name, std::string_view value);
    bool dispatch();

    event_limits limits_;
    std::string line_;
    std::string type_;
    std::string data_;
    std::string id_;  // of the event that is read, when it has changed
    std::optional<std::chrono::milliseconds> retry_;
    received_event event_;
    bool id_changed_ = false;
    bool first_line_ = true;
    bool after_cr_ = false;
    std::string_view exceeded_;
};

}  // namespace coracle::http
