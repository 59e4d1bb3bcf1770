#pragma once

#include <coracle/runtime/operation.hpp>
#include <coracle/websocket/close_code.hpp>
#include <coracle/websocket/message.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace coracle {
namespace http {
class request;
}
namespace net {
class address;
}
}  // namespace coracle

namespace coracle::websocket {

class connection;
class message_writer;
class sender;

namespace detail {

class engine;

/// A message, or a part of one, on its way into the output of a connection.
class outgoing : public list_hook {
public:
    enum class kind : std::uint8_t {
        message,   ///< a whole one
        opening,   ///< waits for the messages before it
        fragment,  ///< of the one whose turn it is
        ending,    ///< the last fragment
    };

    outgoing(kind k, message_type t, compress c, std::string_view p) noexcept
        : payload(p), what(k), type(t), compression(c) {}
    outgoing(outgoing&&) noexcept = default;

    /// It is done: in the output, or `failed`. Called from the engine; later than `submit`.
    virtual void done() noexcept = 0;

    std::string_view payload;  ///< what is left of it
    message* given = nullptr;  ///< has these bytes, and may lose them to the output
    bool begun = false;        ///< a fragment of it is out
    bool failed = false;
    kind what;
    message_type type;
    compress compression;

protected:
    ~outgoing() = default;
};

/// The operation of `connection::receive`.
class [[nodiscard]] message_receive final
    : public coracle::detail::leaf<message_receive, std::optional<message>> {
public:
    static constexpr const char* name = "websocket receive";
    explicit message_receive(engine& e) noexcept : engine_(&e) {}
    bool start() noexcept;
    void cancel() noexcept override;
    std::expected<std::optional<message>, error> result();

private:
    engine* engine_;
};

/// The operation of `connection::receive_piece`.
class [[nodiscard]] piece_receive final
    : public coracle::detail::leaf<piece_receive, std::optional<piece>> {
public:
    static constexpr const char* name = "websocket receive_piece";
    explicit piece_receive(engine& e) noexcept : engine_(&e) {}
    bool start() noexcept;
    void cancel() noexcept override;
    std::expected<std::optional<piece>, error> result();

private:
    engine* engine_;
};

/// The operation of `connection::send`, `message_writer::write` and `message_writer::finish`.
class [[nodiscard]] message_send final : public coracle::detail::leaf<message_send, void>,
                                         outgoing {
public:
    static constexpr const char* name = "websocket send";
    message_send(engine& e, kind k, message_type t, std::string_view bytes,
                 compress c = compress::automatic) noexcept
        : outgoing(k, t, c, bytes), engine_(&e) {}
    message_send(engine& e, message&& m, compress c) noexcept
        : message_send(e, kind::message, m.type(), m.data(), c) {
        given = &m;
    }
    message_send(message_send&&) noexcept = default;
    bool start() noexcept;
    void cancel() noexcept override;
    std::expected<void, error> result();
    /// Returns true if some of it is in the output: cancelled, the rest is sent all the same.
    bool has_begun() const noexcept { return begun; }

private:
    void done() noexcept override;

    engine* engine_;
    bool queued_ = false;
};

/// The operation of `connection::ping`.
class [[nodiscard]] ping_wait final : public coracle::detail::leaf<ping_wait, duration> {
public:
    static constexpr const char* name = "websocket ping";
    explicit ping_wait(engine& e) noexcept : engine_(&e) {}
    bool start() noexcept;
    void cancel() noexcept override;
    std::expected<duration, error> result();

private:
    friend class engine;
    engine* engine_;
    std::uint64_t sequence_ = 0;
    time_point sent_{};
    duration took_{};
    bool waiting_ = false;  ///< it stands among those of the engine
    bool failed_ = false;
};

}  // namespace detail

/// A WebSocket connection (RFC 6455), of either side. Belongs to one loop; `sender` is for others.
/// One task may receive while others send. Pings of the peer get their pongs, and its close frame
/// is processed, whether a task receives or not, as long as no message waits to be received.
class connection {
public:
    connection(connection&&) noexcept;
    connection& operator=(connection&&) noexcept;
    /// Closes it with 1001 where it is open, without waiting.
    ~connection();

    // Receiving: one task at a time.

    /// Completes with the next message, or with nothing when the peer has sent its close frame,
    /// whichever side has closed first. Fails with a `fault` when the peer breaks the protocol or a
    /// limit, with `errc::end_of_stream` when the connection ends without a close frame, with
    /// `std::errc::timed_out` when the peer is silent for too long, and as streams do. Resumes from
    /// the loop when it has to wait. Cancelling it loses nothing.
    detail::message_receive receive() noexcept { return detail::message_receive(*engine_); }
    /// Completes with what has come of the next message, usually at most 64 KiB and perhaps nothing
    /// but its end; there is no limit for the whole. After a `receive` that was cancelled it is all
    /// that has come by then, up to `limits::message`. As `receive` otherwise, which gives what is
    /// left of a message that was begun in pieces.
    detail::piece_receive receive_piece() noexcept { return detail::piece_receive(*engine_); }

    // Sending: messages leave in the order in which they were asked for.

    /// Completes when the message is in the output of the connection: at once, unless more than
    /// `limits::unsent` bytes wait there to be sent; awaiting it is the back-pressure. The bytes
    /// must live until then. Text has to be UTF-8, which is asserted. Fails with
    /// `std::errc::broken_pipe` when the connection is closed or lost. Cancelling it takes back a
    /// message of which nothing has been sent, and else sends the rest.
    detail::message_send send(std::string_view text, compress c = compress::automatic) noexcept {
        return send(message_type::text, text, c);
    }
    detail::message_send send(message_type type, std::string_view bytes,
                              compress c = compress::automatic) noexcept {
        return {*engine_, detail::outgoing::kind::message, type, bytes, c};
    }
    /// Sends what was received on this connection, or another.
    detail::message_send send(const message& m, compress c = compress::automatic) noexcept {
        return send(m.type(), m.data(), c);
    }
    /// Sends it without copying its bytes, where it is large and not compressed; it may be empty
    /// then. Must live until this completes.
    detail::message_send send(message&& m, compress c = compress::automatic) noexcept {
        return {*engine_, std::move(m), c};
    }
    /// Sends a message if that need not wait; false, and nothing is sent, where it would, or the
    /// connection is closed.
    bool try_send(message_type type, std::string_view bytes,
                  compress c = compress::automatic) noexcept;
    bool try_send(std::string_view text) noexcept { return try_send(message_type::text, text); }
    /// Begins a message that is written in pieces: completes when the messages before it have been
    /// sent; later ones wait for `message_writer::finish`. Fails as `send`.
    operation<message_writer> stream(message_type type, compress c = compress::automatic);

    /// Sends a ping, and completes with the time until its pong. Fails as `receive` when the
    /// connection fails first, and with `std::errc::broken_pipe` when it is closed.
    detail::ping_wait ping() noexcept { return detail::ping_wait(*engine_); }
    /// The time of the last ping, `ping`'s or an automatic one; zero before.
    duration round_trip() const noexcept;

    // The end.

    /// Sends what is in the output, then a close frame, and completes when the peer's has come, or
    /// `timeouts::close` has passed since all of it was sent. Messages that wait to be sent fail.
    /// `reason`: at most 123 bytes of UTF-8, what is beyond is cut. Fails with
    /// `std::errc::invalid_argument` for a code that must not be sent. Later calls wait for the
    /// same end.
    operation<void> close(close_code c = close_code::normal, std::string_view reason = {});
    /// Completes when the connection has ended, whichever side closed it.
    operation<close_status> closed();
    bool is_open() const noexcept;
    /// How it ended, from the first close frame on; `abnormal` before that.
    const close_status& status() const noexcept;

    // Properties.

    /// The subprotocol that was agreed on; empty without.
    std::string_view subprotocol() const noexcept;
    /// Returns whether messages may be compressed.
    bool is_compressed() const noexcept;
    /// The request that became this connection. Only for those of a server.
    http::request& request() const noexcept { return *request_; }
    const net::address& peer() const noexcept;
    /// Bytes that wait to be sent.
    std::size_t unsent() const noexcept;
    /// A handle for other tasks, loops and threads.
    websocket::sender sender() const noexcept;

    /// For what makes connections, and is built upon them.
    connection(std::shared_ptr<detail::engine> e, http::request* r) noexcept;
    const std::shared_ptr<detail::engine>& engine() const noexcept { return engine_; }

private:
    std::shared_ptr<detail::engine> engine_;
    http::request* request_;
};

/// Writes one message piece by piece, each of them a fragment. Other messages wait meanwhile;
/// control frames go between. Must not outlive its connection. Destroying it before `finish` closes
/// the connection, with 1011.
class message_writer {
public:
    message_writer(message_writer&& other) noexcept;
    message_writer& operator=(message_writer&&) = delete;
    ~message_writer();

    /// As `connection::send`. A piece of a text may end in the midst of a character.
    detail::message_send write(std::string_view bytes) noexcept {
        return {*engine_, detail::outgoing::kind::fragment, type_, bytes, compression_};
    }
    /// Ends the message. Once; nothing is written afterwards.
    detail::message_send finish() noexcept {
        return {*engine_, detail::outgoing::kind::ending, type_, {}, compression_};
    }

private:
    friend class connection;
    message_writer(detail::engine& e, message_type t, compress c) noexcept;

    detail::engine* engine_;
    message_type type_;
    compress compression_;
    std::uint32_t number_;  ///< of the message
};

/// Sends to a connection from anywhere: copies lead to the same one, and may be used by any thread
/// and kept when the connection has ended. The loop of the connection must not be destroyed before
/// what it is asked here has come back.
class sender {
public:
    explicit sender(std::shared_ptr<detail::engine> e) noexcept : engine_(std::move(e)) {}

    /// As `connection::send`, from a task on any loop; the bytes are copied where that is another
    /// one. What one task sends arrives in order. Fails with `errc::shutting_down` when the loop of
    /// the connection ends before it has the bytes.
    operation<void> send(message_type type, std::string bytes) const;
    operation<void> send(std::string text) const {
        return send(message_type::text, std::move(text));
    }
    /// As `connection::try_send`, from any thread; false also where `limits::handed_over` bytes
    /// are on their way to the loop.
    bool try_send(message_type type, std::string_view bytes) const;
    bool try_send(std::string_view text) const { return try_send(message_type::text, text); }
    /// Begins to close, without waiting. Any thread. Throws `exception` (invalid_argument) for a
    /// code that no peer may send.
    void close(close_code c = close_code::normal, std::string_view reason = {}) const;
    bool is_open() const noexcept;

    friend bool operator==(const sender&, const sender&) noexcept = default;

private:
    static task<std::expected<void, error>> send_there(std::shared_ptr<detail::engine> e,
                                                       message_type type, std::string bytes);
    std::shared_ptr<detail::engine> engine_;
};

}  // namespace coracle::websocket
