#pragma once

#include "http/h2/error.hpp"
#include "http/h2/head.hpp"
#include "http/h2/limits.hpp"
#include "http/h2/settings.hpp"
#include "http/h2/stream.hpp"

#include <cstdint>
#include <string_view>

namespace coracle::http::h2 {

/// The callbacks of a session to the connection that drives it, from within `session::receive` and
/// `session::written`. A callback may send, reset and consume on the session. Its views are valid
/// until it returns.
class session_events {
public:
    /// The peer opens a stream; for servers. Returns the object for it, or null to refuse the
    /// stream.
    virtual stream* open() = 0;

    /// The head of a request, or of a final or interim response, was received. `end`: there is no
    /// content.
    virtual void head_received(stream& s, const head& message, bool end) = 0;

    /// The head of a request or of a response exceeds a limit (`too_large` or `too_many_fields`),
    /// or is one too many (`too_many_interim`). The response to the request should be 431; its
    /// content is dropped. A response fails: `failed` follows.
    virtual void head_too_large(stream& s, head_fault limit) = 0;

    /// A piece of content was received, never empty. `session::consume` must be called for it
    /// later.
    virtual void data_received(stream& s, std::string_view piece) = 0;

    /// The message of the peer is complete; `trailers` is null if it has none.
    virtual void end_received(stream& s, const head* trailers) = 0;

    /// The session no longer uses the content of `session::send_data` or `send_from`: it has been
    /// written, or was withdrawn, or the stream is over.
    virtual void sent(stream& s) = 0;

    /// Both messages are complete. No event of the stream follows, except `sent` if `s.sending()`.
    virtual void closed(stream& s) = 0;

    /// The stream failed. `by_peer`: because of a RST_STREAM, or of a GOAWAY that excludes it
    /// (`refused_stream` then: it was not processed). No event of the stream follows, except `sent`
    /// if `s.sending()`. Content that was not consumed counts as consumed.
    virtual void failed(stream& s, error_code code, bool by_peer) = 0;

    /// The peer's settings have changed.
    virtual void settings_received(const peer_settings& settings) = 0;

    /// The peer accepts no stream after `last`.
    virtual void goaway_received(std::uint32_t last, error_code code, std::string_view debug) = 0;

    /// The response to `session::ping` was received.
    virtual void pong_received(std::uint64_t payload) = 0;

    /// The peer exceeded a limit and loses a stream or the connection.
    virtual void limit_reached(limit_kind kind) = 0;

protected:
    ~session_events() = default;
};

}  // namespace coracle::http::h2
