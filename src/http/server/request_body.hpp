#pragma once

#include "http/h1/chunked_decoder.hpp"

#include <coracle/http/body.hpp>
#include <coracle/http/fields.hpp>
#include <coracle/runtime/clock.hpp>

namespace coracle::http::detail {

class connection;

/// The body of a request as it comes off an HTTP/1 connection (RFC 9112 sections 6 and 7).
class request_body final : public body_source {
public:
    void begin(connection& c, h1::body_framing framing, std::uint64_t length,
               bool expects_continue);
    void end() noexcept {
        framing_ = h1::body_framing::none;
        continue_due_ = false;
    }

    task<std::expected<std::string_view, error>> read() override;
    std::optional<std::uint64_t> length() const noexcept override;
    const fields* trailers() const noexcept override { return trailers_.get(); }
    void refused(std::error_code why) noexcept override;

    /// Whether all of it has been taken off the connection.
    bool complete() const noexcept { return framing_ == h1::body_framing::none; }
    /// Whether the client still waits for a 100 (RFC 9110 section 10.1.1).
    bool continue_is_due() const noexcept { return continue_due_; }
    /// It will not be sent any more.
    void drop_continue() noexcept { continue_due_ = false; }
    /// Drops what has been received of it and nobody will read.
    void discard_received();
    /// Whether it is known to end within so many more bytes.
    bool ends_within(std::uint64_t bytes) const noexcept {
        return complete() || (framing_ == h1::body_framing::length && left_ <= bytes);
    }
    /// Whether more than so many bytes are known to be left.
    bool exceeds(std::uint64_t bytes) const noexcept {
        return framing_ == h1::body_framing::length && left_ > bytes;
    }
    /// How long one read waits for bytes.
    duration patience() const noexcept { return patience_; }
    void set_patience(duration d) noexcept { patience_ = d; }
    /// Adds to the time spent waiting for the client, which its rate is measured against.
    void waited(duration d) noexcept { waited_ += d; }
    /// Whether the client has sent less than the minimum rate.
    bool too_slow() const noexcept;
    std::uint64_t received() const noexcept { return received_; }

private:
    std::expected<std::string_view, error> next_piece();
    std::expected<std::string_view, error> next_of_length();
    std::expected<std::string_view, error> next_of_chunks();
    void keep_trailers();
    std::unexpected<error> refuse(std::error_code why);
    std::expected<std::string_view, error> counted(std::string_view piece);

    connection* connection_ = nullptr;
    h1::body_framing framing_ = h1::body_framing::none;
    bool continue_due_ = false;
    bool broken_ = false;  ///< what follows cannot be understood, or is not wanted
    std::uint64_t left_ = 0;
    std::uint64_t received_ = 0;
    std::size_t lent_ = 0;  ///< bytes of the connection's buffer that the last piece showed
    duration waited_{};
    duration patience_{};
    h1::chunked_decoder decoder_;
    std::unique_ptr<fields> trailers_;  ///< views into the decoder
};

}  // namespace coracle::http::detail
