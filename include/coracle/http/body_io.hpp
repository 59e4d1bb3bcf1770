#pragma once

#include <coracle/http/body.hpp>
#include <coracle/io/sink.hpp>
#include <coracle/io/source.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace coracle::http {

class response;

/// Reads a received body as an `io::source`, so that `io::reader`, `io::copy` and the decoders of
/// `io` work on it. Refers to the message, which must outlive it and stay where it is. `read_some`
/// fails as `received_body::read` and `response::read` do; cancelling it loses the body.
class body_input final : public io::source {
public:
    /// The body of a request, at a server.
    explicit body_input(received_body& body) noexcept : body_(&body) {}
    /// The body of a response, at a client, decoded. A response that was not received has none.
    explicit body_input(response& received) noexcept;

    task<std::expected<std::size_t, error>> read_some(std::span<char> into) override;

private:
    received_body* body_;
    std::string_view rest_;  ///< of the last piece; valid until the next one is read
};

/// Writes a streamed body as an `io::sink`. Refers to the writer, which must outlive it. `flush`
/// sends the head, if it has not been sent; each `write` leaves at once. Fails as
/// `body_writer::write` does; cancelling it ends the connection, or the stream of HTTP/2.
class body_output final : public io::sink {
public:
    explicit body_output(body_writer& writer) noexcept : writer_(&writer) {}

    task<std::expected<void, error>> write(std::span<slice> pieces) override;
    task<std::expected<void, error>> flush() override;

private:
    body_writer* writer_;
};

/// Makes a body that is read from `from` while it is sent, for a request or a response. With `size`
/// the size is announced, and the source must have so many bytes: with fewer the exchange fails.
/// `from` must not be null; it is read once, so a request with it is not sent again.
body body_from(std::unique_ptr<io::source> from, std::optional<std::uint64_t> size = std::nullopt);

}  // namespace coracle::http
