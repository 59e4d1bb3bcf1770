#pragma once

#include "http/exchange/pace.hpp"
#include "http/h1/body_decoder.hpp"

#include <coracle/http/body.hpp>
#include <coracle/http/fields.hpp>
#include <coracle/runtime/clock.hpp>

namespace coracle::http::detail {

class h1_connection;

/// The body of a request on an HTTP/1 connection (RFC 9112 sections 6 and 7).
class h1_request_body final : public body_source {
public:
    void begin(h1_connection& c, h1::body_framing framing, std::uint64_t length,
               bool expects_continue);
    void end() noexcept {
        content_.end();
        continue_due_ = false;
    }

    task<std::expected<std::string_view, error>> read() override;
    std::optional<std::uint64_t> length() const noexcept override;
    const fields* trailers() const noexcept override { return trailers_.get(); }
    error refused(error why) override;

    /// Returns true if all of it has been taken off the connection.
    bool complete() const noexcept { return content_.complete(); }
    /// Returns true if the client still waits for a 100 (RFC 9110 section 10.1.1).
    bool continue_is_due() const noexcept { return continue_due_; }
    /// Drops the 100: it will not be sent any more.
    void drop_continue() noexcept { continue_due_ = false; }
    /// Drops received bytes that will not be read.
    void discard_received();
    /// Returns true if it is known to end within that many more bytes.
    bool ends_within(std::uint64_t bytes) const noexcept {
        const auto left = content_.left();
        return left && *left <= bytes;
    }
    /// Returns true if more than that many bytes are known to be left.
    bool exceeds(std::uint64_t bytes) const noexcept {
        const auto left = content_.left();
        return left && *left > bytes;
    }
    /// Returns the longest wait of one read for bytes.
    duration patience() const noexcept { return patience_; }
    void set_patience(duration d) noexcept { patience_ = d; }
    /// Adds to the time spent waiting for the client, which its rate is measured against.
    void waited(duration d) noexcept { pace_.waited(d); }
    /// Returns true if the client has sent less than the minimum rate.
    bool too_slow() const noexcept;
    std::uint64_t received() const noexcept { return received_; }

private:
    std::expected<std::string_view, error> next_piece();
    void keep_trailers();
    task<std::expected<void, error>> send_continue();
    std::unexpected<error> refuse(std::error_code why);

    h1_connection* connection_ = nullptr;
    bool continue_due_ = false;
    bool sends_continue_ = false;  ///< a read of it does so now
    bool broken_ = false;          ///< the following bytes cannot be parsed, or are not wanted
    std::uint64_t received_ = 0;
    receive_pace pace_;
    duration patience_{};
    h1::body_decoder content_;
    std::unique_ptr<fields> trailers_;  ///< views into `content_`
};

}  // namespace coracle::http::detail
