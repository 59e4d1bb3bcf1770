#pragma once

#include "http/client/request_head.hpp"

#include <coracle/base/error.hpp>
#include <coracle/http/fields.hpp>
#include <coracle/http/version.hpp>
#include <coracle/runtime/operation.hpp>

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::http::detail {

class client_connection;
class client_exchange;
class client_shard;

/// Waits until more of a response was received: bytes of its head, of its body, its end or its
/// failure; behind its end, unless it is for the body, until the server takes no more of the
/// request. Fails when no more can follow. Resumes from the loop, or at once.
class [[nodiscard]] exchange_wait final : public coracle::detail::leaf<exchange_wait, void>,
                                          public receive_operation {
public:
    static constexpr const char* name = "receive";

    /// Receives a body into blocks of at most `most` bytes; 0: receives a head.
    explicit exchange_wait(client_exchange& what, std::uint64_t most = 0) noexcept
        : receive_operation(&done), exchange_(&what), most_(most) {}

    bool start() noexcept;
    void cancel() noexcept override;
    std::expected<void, error> result();

    std::uint64_t most() const noexcept { return most_; }
    /// For exchanges whose connection is read by another task: completes the wait.
    void ready() noexcept { owner().enqueue(*this); }
    /// For such exchanges: ends the wait as cancelled.
    void give_up() noexcept {
        mark_cancelled();
        owner().enqueue(*this);
    }

private:
    static void done(io_operation& op);

    client_exchange* exchange_;
    std::uint64_t most_;
};

/// The state of the head of a response.
enum class head_state : std::uint8_t {
    partial,
    interim,
    final,
    broken,  ///< malformed; `client_exchange::head_error` says why
};

/// The start line and the framing of a response.
struct response_start {
    std::uint16_t code = 0;
    http::version version = http::version::http_1_1;
    bool has_body = false;
    bool has_content_length = false;
    std::uint64_t content_length = 0;
    std::size_t size = 0;  ///< size of the head in bytes
};

/// The continuation after a piece of a request's body.
enum class follows : std::uint8_t {
    later,    ///< more pieces, at some later time
    at_once,  ///< more pieces, which are ready
    nothing,  ///< it was the last piece
};

/// Says if an exchange may switch to another protocol.
enum class upgrade_offer : std::uint8_t {
    yes,
    no,
    unknown,  ///< known after an `exchange_wait`
};

/// The reason for which an exchange ends.
enum class fate : std::uint8_t {
    unused,     ///< no request was sent
    finished,   ///< both messages are complete, or the caller needs no more of them
    cancelled,  ///< the caller does not want the rest
};

/// One request and its response on the wire, for every version of HTTP. Redirects, retries,
/// credentials, timeouts and codings belong to the layer above. An HTTP/1 connection is one
/// exchange at a time (client_h1_connection), an HTTP/2 connection has many. Its errors are those
/// of the wire. Belongs to one loop.
class client_exchange {
public:
    client_exchange(const client_exchange&) = delete;
    client_exchange& operator=(const client_exchange&) = delete;

    /// The connection that carries the exchange.
    virtual client_connection& connection() noexcept = 0;
    /// The connection carried requests before this one.
    virtual bool reused() const noexcept = 0;
    /// Returns true while its loop runs.
    virtual bool alive() const noexcept = 0;
    /// Returns true if the exchange may begin: its connection is still usable.
    virtual bool fit() noexcept = 0;
    /// Returns true if the peer may have closed the connection without our knowing.
    virtual bool may_be_stale() const noexcept { return false; }
    /// The number of its HTTP/2 stream; 0 in HTTP/1.
    virtual std::uint32_t stream_id() const noexcept { return 0; }

    // The request.

    /// Returns false while the peer takes no more requests on this connection: after an
    /// `exchange_wait` it may.
    virtual bool may_begin() const noexcept { return true; }
    /// Says if the server offers an upgrade; to be called before `begin`.
    virtual upgrade_offer offers_upgrade() const noexcept { return upgrade_offer::yes; }
    /// Takes the head, which is sent with the first bytes. Its views must live until then.
    virtual void begin(const outgoing_head& head) = 0;
    /// Returns the head of the request as text, for logs.
    virtual std::string request_text() const = 0;
    /// Sends head and body without waiting. Returns true if all was sent; otherwise `flush` sends
    /// the rest.
    virtual bool try_send(std::string_view body) = 0;
    /// Sends what has been taken and not sent. Cancelling this or any of the next functions ends
    /// the exchange.
    virtual task<std::expected<void, error>> flush() = 0;
    /// Sends a piece of the body, never empty; it must live until this has completed.
    virtual task<std::expected<void, error>> send(std::string_view piece, follows next) = 0;
    virtual task<std::expected<void, error>> send_file(int fd, std::uint64_t offset,
                                                       std::uint64_t size, follows next) = 0;
    /// Ends the body, unless the last piece did. `trailers`: null, or those of a body whose
    /// length was not announced, which live until this has completed.
    virtual task<std::expected<void, error>> finish(const http::fields* trailers) = 0;
    /// To be called when the rest of the request will not be sent.
    virtual void cut() noexcept = 0;
    /// The bytes sent, including the head.
    virtual std::uint64_t sent() const noexcept = 0;

    // The response.

    /// Parses received bytes, without waiting. The next call replaces an interim head; a final one
    /// stays. `of_interim`: gets the fields of an interim head; null: nobody wants them.
    virtual head_state read_head(response_start& start, http::fields* of_interim) = 0;
    virtual error head_error() const = 0;
    /// Returns the last head that was read as text, for logs.
    virtual std::string response_text() const = 0;
    /// Moves the fields of the final head to `to`; to be called right after that head was read.
    virtual void take_fields(http::fields& to) = 0;
    /// Returns the whole body if it has been received already and has at most `most` bytes; then
    /// the body has ended. The view is valid until the exchange is released.
    virtual std::optional<std::string_view> take_whole_body(std::uint64_t most) noexcept = 0;
    /// Returns the next received piece of the body; empty if there is none yet, or the body has
    /// ended. Valid until the next call.
    virtual std::expected<std::string_view, error> read_body() = 0;
    virtual bool body_ended() const noexcept = 0;
    /// Returns true if the bytes after the head belong to another protocol: see `detach`.
    virtual bool left_http() const noexcept = 0;
    /// The bytes of the body that were not read yet, where they were announced or are all there,
    /// with nothing behind them.
    virtual std::optional<std::uint64_t> body_left() const noexcept = 0;
    /// Returns the trailers of a body that has ended; null: none.
    virtual std::unique_ptr<http::fields> take_trailers() noexcept = 0;
    /// The bytes received, including the head.
    virtual std::uint64_t received() const noexcept = 0;
    /// The received bytes of the body that were not read yet.
    virtual std::size_t unread() const noexcept = 0;

    // The end.

    /// Returns true if others may follow on the connection once both messages have ended.
    virtual bool may_be_followed() const noexcept { return true; }
    /// Returns true if the peer certainly has not processed the request, so that any request may be
    /// sent again.
    virtual bool unprocessed() const noexcept = 0;
    /// Returns true if the peer itself said so: the request may be sent at once on another
    /// connection.
    virtual bool turned_away() const noexcept { return false; }
    /// Returns true if the peer requires HTTP/1.1.
    virtual bool needs_http_1() const noexcept { return false; }
    /// Ends the exchange; `this` must not be used any more.
    virtual void release(fate how) noexcept = 0;
    /// Releases an exchange that is not fit. Returns true if a new connection may be opened in
    /// place of its own; that one is counted already.
    virtual bool replace() noexcept = 0;
    /// Returns the connection, or the stream of an HTTP/2 connection, after a switch of protocols,
    /// and ends the exchange. A stream of HTTP/2 holds `of` while it lives.
    virtual std::unique_ptr<net::byte_stream> detach(buffer& received,
                                                     client_shard& of) noexcept = 0;

    // For exchange_wait.

    /// Returns true if there is something already; otherwise `w` completes later.
    virtual bool start_wait(exchange_wait& w) noexcept = 0;
    virtual void cancel_wait(exchange_wait& w) noexcept = 0;
    /// To be called when the receive operation `w` has completed.
    virtual void received_by(exchange_wait&) noexcept {}
    virtual std::expected<void, error> result_of(exchange_wait& w) = 0;

protected:
    client_exchange() noexcept = default;
    ~client_exchange() = default;
};

inline bool exchange_wait::start() noexcept {
    if (!may_begin()) return false;
    far = far_part();
    return exchange_->start_wait(*this);
}

inline void exchange_wait::cancel() noexcept {
    if (!withdrawn_before_start()) exchange_->cancel_wait(*this);
}

inline std::expected<void, error> exchange_wait::result() {
    return exchange_->result_of(*this);
}

inline void exchange_wait::done(io_operation& op) {
    auto& self = static_cast<exchange_wait&>(static_cast<receive_operation&>(op));
    self.exchange_->received_by(self);
    if (op.result == -ECANCELED) self.mark_cancelled();
    self.complete();
}

}  // namespace coracle::http::detail
