#pragma once

#include <coracle/http/body.hpp>
#include <coracle/http/cookie.hpp>
#include <coracle/http/event.hpp>
#include <coracle/http/fields.hpp>
#include <coracle/http/line_splitter.hpp>
#include <coracle/http/status.hpp>
#include <coracle/net/byte_stream.hpp>
#include <coracle/runtime/async_generator.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http {

class drain_signal;
struct response_info;
struct json_limits;

/// A connection that left HTTP, or a stream of HTTP/2 that did, with the bytes that were received
/// after the request.
struct upgraded_connection {
    net::byte_stream& stream;
    buffer received;
    /// Says when its server drains (coracle/http/drain_signal.hpp); null where there is none.
    drain_signal* drain = nullptr;
};

/// An upgraded connection that its holder owns.
struct detached_connection {
    std::unique_ptr<net::byte_stream> stream;
    buffer received;
};

namespace detail {

/// The parts that only some responses have: the function that takes over the connection, or the
/// rest of a response that a client received.
class response_extension {
public:
    virtual ~response_extension() = default;
    virtual unique_function<task<>(upgraded_connection&)>* upgrade() noexcept { return nullptr; }
    virtual std::optional<detached_connection> detach() noexcept { return std::nullopt; }
    virtual received_body* received() noexcept { return nullptr; }
    /// The rest of the body in memory, where it is there already; else null.
    virtual const std::string_view* rest() noexcept { return nullptr; }
    /// Called when the rest has been taken.
    virtual void take_rest() noexcept {}
    virtual response_info* info() noexcept { return nullptr; }
    virtual std::size_t body_limit() const noexcept { return received_body::default_limit; }
    /// The size that a response to HEAD announces for GET, if it does. Null for other responses.
    virtual const std::optional<std::uint64_t>* head_length() const noexcept { return nullptr; }
};

}  // namespace detail

/// A response: a value. In one that is sent, the server sets Content-Length, Transfer-Encoding,
/// Connection and Date; setting them here is ignored, but for "Connection: close", which ends an
/// HTTP/1 connection behind it. One that a client received has a body that is
/// read once, by `read`, `text` and their like; a handler may return it as its own response, and it
/// is passed on as it comes, with the Date that it has (RFC 9110 section 6.6.1). Destroying it
/// before the body was read closes its connection, or over HTTP/2 resets its stream.
class response {
public:
    using upgrade_function = unique_function<task<>(upgraded_connection&)>;

    response() = default;
    response(http::status code) noexcept : status_(code) {}
    /// text/plain, UTF-8.
    response(std::string text) noexcept : body_(std::move(text)), type_(plain) {}
    response(std::string_view text) : response(std::string(text)) {}
    response(const char* text) : response(std::string(text)) {}
    response(http::status code, std::string text) noexcept : response(std::move(text)) {
        status_ = code;
    }
    response(response&&) noexcept = default;
    response& operator=(response&&) noexcept = default;

    static constexpr std::string_view plain = "text/plain; charset=utf-8";

    http::status status() const noexcept { return status_; }
    response& set_status(http::status code) noexcept {
        status_ = code;
        return *this;
    }

    http::fields& fields() noexcept { return fields_; }
    const http::fields& fields() const noexcept { return fields_; }
    /// The value of the first field of this name; empty without one.
    std::string_view header(std::string_view name) const noexcept { return fields_.get(name); }
    /// Replaces a field; throws as `fields::set`.
    response& set(std::string_view name, std::string_view value) & {
        fields_.set(name, value);
        return *this;
    }
    response&& set(std::string_view name, std::string_view value) && {
        fields_.set(name, value);
        return std::move(*this);
    }

    /// Adds a Set-Cookie field, besides those that are there; throws as `set_cookie::text`.
    response& add_cookie(const set_cookie& cookie) & {
        fields_.add("Set-Cookie", cookie.text());
        return *this;
    }
    response&& add_cookie(const set_cookie& cookie) && {
        fields_.add("Set-Cookie", cookie.text());
        return std::move(*this);
    }

    http::body& body() noexcept { return body_; }
    const http::body& body() const noexcept { return body_; }
    /// `type` is a literal: the media type, unless a Content-Type field is set.
    response& set_body(http::body b, std::string_view type = {}) noexcept {
        body_ = std::move(b);
        type_ = type;
        return *this;
    }
    /// A text/plain body, copied.
    response& set_text(std::string_view text) {
        body_.assign(text);
        type_ = plain;
        return *this;
    }
    /// The media type that goes out when no Content-Type field is set; may be empty.
    std::string_view default_type() const noexcept { return type_; }

    /// The function that takes over the connection after a 101, or the stream of HTTP/2, or null.
    upgrade_function* upgrade() noexcept {
        return extension_ == nullptr ? nullptr : extension_->upgrade();
    }
    void set_upgrade(upgrade_function run);

    /// Returns true if the status is one of success (2xx).
    bool ok() const noexcept {
        return static_cast<unsigned>(status_) >= 200 && static_cast<unsigned>(status_) < 300;
    }

    // For a response that a client received; others have nothing to read.

    /// The next piece of the body, decoded, as it comes; empty at the end. Valid until the next
    /// call. Resumes from the loop when it has to wait. Fails with `errc::too_slow` or
    /// `std::errc::timed_out` when the server stalls, with an error of category http/1 or http/2
    /// when it breaks the framing, with `errc::end_of_stream` when it goes away, with
    /// `errc::shutting_down` when the loop that the response came on has ended, with
    /// `std::errc::operation_in_progress` for a second read at a time, and with
    /// `std::errc::operation_canceled` when `on_progress` gave false. Cancelling it loses the body.
    operation<std::string_view> read();
    /// Reads the rest of the body, at most `client_options::body_limit` bytes, or `limit`: beyond
    /// it fails with `errc::limit_exceeded`. Empty behind the end of the body. Fails as `read`
    /// does.
    operation<std::string> text();
    operation<std::string> text(std::size_t limit);
    operation<std::vector<std::byte>> bytes();
    /// The body as JSON, by `json_codec<T>`; defined in coracle/http/json.hpp. Fails as `text`
    /// does, and with `std::errc::bad_message` when it is no JSON or not of this shape.
    template <class T>
    operation<T> json();
    template <class T>
    operation<T> json(const json_limits& limits);
    /// The lines of what is left of the body, without their ends (LF or CRLF), each as soon as it
    /// has come and valid until the next step. A step fails as `read` does, and with
    /// `errc::limit_exceeded` at a longer line. The response must live and stay where it is.
    async_generator<std::string_view> lines(std::size_t limit = line_splitter::default_limit);
    /// Returns the server-sent events in the rest of the body (HTML standard, section 9.2), each as
    /// soon as it has come. A step fails as `read` does, and with `errc::limit_exceeded`, naming
    /// the limit. Text after the last empty line is no event. As for `lines`.
    async_generator<received_event> events(const event_limits& limits = {});
    /// Writes what is left of the body to a file that is replaced at once when all of it is there:
    /// a reader sees the old content or the new one. A symbolic link stays, and what it leads to is
    /// replaced. Returns its size. Fails as `read` does, as files do, and with
    /// `operation_not_supported` at a device, a FIFO or a socket; what was there then stays. What
    /// blocks is done on the threads for files (`runtime_options::file_threads`). What can be gone
    /// on with when it breaks off is `download` (coracle/http/download.hpp).
    operation<std::uint64_t> save_to(std::string path);
    /// Takes the connection after a 101, or after a 2xx to CONNECT, which left HTTP: it is the
    /// caller's from now on. Returns nothing if there is none, or it has been taken. Not taken, it
    /// is closed with the response.
    std::optional<detached_connection> detach() noexcept {
        return extension_ == nullptr ? std::nullopt : extension_->detach();
    }
    /// The size that the server announced, as far as it has not been read; nothing when it did not,
    /// or the body is decoded while it is read.
    std::optional<std::uint64_t> length() const noexcept;
    /// The trailer fields, once the body has been read to its end.
    const http::fields& trailers() const noexcept;
    /// The origin of a received response, and the time that each part took. Null for others.
    const response_info* info() const noexcept {
        return extension_ == nullptr ? nullptr : extension_->info();
    }
    /// Sets the extension: for the client, and for tests of received responses.
    void set_extension(std::unique_ptr<detail::response_extension> e) noexcept {
        extension_ = std::move(e);
    }
    detail::response_extension* extension() noexcept { return extension_.get(); }

    /// Resets it to a new response; memory is kept.
    void clear() noexcept {
        status_ = http::status::ok;
        type_ = {};
        body_.clear();
        if (!fields_.empty()) fields_.clear();
        extension_.reset();
    }

private:
    http::status status_ = http::status::ok;
    http::body body_;
    std::string_view type_;
    http::fields fields_;
    std::unique_ptr<detail::response_extension> extension_;
};

namespace detail {
/// Returns the subject of an error: the origin of the response, and what was wrong with it.
std::string about(const response& r, std::string_view what);
}  // namespace detail

/// A response whose body `write(writer)` makes while it is sent: chunked for HTTP/1.1. `write` is
/// owned by the response; when the client goes away it is cancelled. `type` is copied, into a
/// Content-Type field unless it is the default; throws as `fields::set`.
response stream(body::stream_function write, std::string_view type = "application/octet-stream");

/// Makes a 101: when it is sent, `run(connection)` takes over the connection, which is closed when
/// it ends. Over HTTP/2, where the client offers `protocol` by an extended CONNECT (RFC 8441), it
/// is 200, and the connection is the stream: its end is END_STREAM, a reset RST_STREAM. What is
/// left of the body of the request is read and dropped before; where that exceeds
/// `limits.discard` or takes longer than `timeouts.linger`, the response is 413 or 408 instead. A
/// request that did not offer `protocol` (RFC 9110 section 7.8: Upgrade and "Connection: upgrade",
/// not of HTTP/1.0, not HEAD) gets 426 with the Upgrade field; one over HTTP/2 501.
response upgrade(std::string_view protocol, response::upgrade_function run);

/// Makes a redirect, 307 by default.
response redirect(std::string_view location, status code = status::temporary_redirect);

/// HTML. Views and literals are copied.
response html(std::string text);
response html(std::string_view text);
response html(const char* text);

}  // namespace coracle::http
