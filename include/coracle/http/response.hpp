#pragma once

#include <coracle/http/body.hpp>
#include <coracle/http/cookie.hpp>
#include <coracle/http/fields.hpp>
#include <coracle/http/status.hpp>
#include <coracle/net/byte_stream.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace coracle::http {

/// A connection that left HTTP, with the bytes that were received behind the request.
struct upgraded_connection {
    net::byte_stream& stream;
    buffer received;
};

/// A response: a value. Content-Length, Transfer-Encoding, Connection and Date are the server's
/// business; setting them here is ignored.
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

    /// What takes over the connection behind a 101, or null.
    upgrade_function* upgrade() noexcept { return upgrade_.get(); }
    void set_upgrade(upgrade_function run) {
        upgrade_ = std::make_unique<upgrade_function>(std::move(run));
    }

    /// As new; memory is kept.
    void clear() noexcept {
        status_ = http::status::ok;
        type_ = {};
        body_.clear();
        if (!fields_.empty()) fields_.clear();
        upgrade_.reset();
    }

private:
    http::status status_ = http::status::ok;
    http::body body_;
    std::string_view type_;
    http::fields fields_;
    std::unique_ptr<upgrade_function> upgrade_;
};

/// A response whose body `write(writer)` makes while it is sent: chunked for HTTP/1.1. `write` is
/// owned by the response; when the client goes away it is cancelled.
response stream(body::stream_function write, std::string_view type = "application/octet-stream");

/// 101: when the answer is out, `run(connection)` takes over the connection, which is closed when
/// it ends.
response upgrade(std::string_view protocol, response::upgrade_function run);

/// A redirect, 307 unless told otherwise.
response redirect(std::string_view location, status code = status::temporary_redirect);

/// HTML.
response html(std::string text);

}  // namespace coracle::http
