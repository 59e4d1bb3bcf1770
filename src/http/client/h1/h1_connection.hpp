#pragma once

#include "http/client/client_connection.hpp"
#include "http/client/fast_body.hpp"
#include "http/h1/body_decoder.hpp"

#include <coracle/base/buffer.hpp>
#include <coracle/http/h1/head_parser.hpp>

#include <span>

namespace coracle::http::detail {

/// The unsent part of a request's head. Credentials in it are overwritten before its block is
/// reused.
class outgoing_bytes : public buffer {
public:
    bool has_secrets = false;

    outgoing_bytes() noexcept = default;
    ~outgoing_bytes() { forget(); }
    void forget() noexcept {
        if (has_secrets && *this) {
            const std::size_t filled = capacity() - spare_size();
            wipe(spare() - filled, filled);
        }
        has_secrets = false;
        release();
    }
};

/// A connection of HTTP/1 (RFC 9112). It carries one exchange at a time, so it is that exchange
/// too.
class client_h1_connection final : public client_connection, public client_exchange, hangup_watch {
public:
    client_h1_connection(origin& home, std::unique_ptr<net::byte_stream> stream,
                         const tls::session_info* secured);
    ~client_h1_connection() override;

    /// The largest block to receive a body into, in bytes, whatever the options say.
    static constexpr std::uint32_t largest_block = 256 * 1024;

    // ---- client_connection
    client_exchange& begin_exchange() noexcept override;
    bool begin_waiting(time_point until) noexcept override;
    void end_waiting() noexcept override;
    bool fit() noexcept override { return alive() && !stream_->has_input(); }
    void end(bool reset) noexcept override;
    void abandon() noexcept override;

    // ---- client_exchange
    client_connection& connection() noexcept override { return *this; }
    bool reused() const noexcept override { return uses_ > 1; }
    bool may_be_stale() const noexcept override { return reused(); }
    bool alive() const noexcept override { return client_connection::alive(); }

    void begin(const outgoing_head& head) override;
    std::string request_text() const override { return std::string(out_.view()); }
    bool try_send(std::string_view body) override;
    task<std::expected<void, error>> flush() override;
    task<std::expected<void, error>> send(std::string_view piece, follows next) override;
    task<std::expected<void, error>> send_file(int fd, std::uint64_t offset, std::uint64_t size,
                                               follows next) override;
    task<std::expected<void, error>> finish(const http::fields* trailers) override;
    void cut() noexcept override { cut_ = true; }
    std::uint64_t sent() const noexcept override {
        return sent_ + (progress_ != nullptr ? static_cast<std::uint64_t>(*progress_) : 0);
    }

    head_state read_head(response_start& start, http::fields* of_interim) override;
    error head_error() const override;
    std::string response_text() const override {
        return std::string(input_.view().substr(0, head_size_));
    }
    void take_fields(http::fields& to) override;
    std::optional<std::string_view> take_whole_body(std::uint64_t most) noexcept override;
    std::expected<std::string_view, error> read_body() override;
    bool left_http() const noexcept override { return left_http_; }
    bool body_ended() const noexcept override { return content_.complete(); }
    std::optional<std::uint64_t> body_left() const noexcept override { return content_.left(); }
    std::unique_ptr<http::fields> take_trailers() noexcept override { return std::move(trailers_); }
    std::uint64_t received() const noexcept override { return received_; }
    std::size_t unread() const noexcept override { return input_.size(); }

    bool may_be_followed() const noexcept override { return keeps_alive_ && !cut_; }
    bool unprocessed() const noexcept override { return sent() == 0 && received_ == 0; }
    void release(fate how) noexcept override;
    bool replace() noexcept override;
    std::unique_ptr<net::byte_stream> detach(buffer& received, client_shard& of) noexcept override;

    bool start_wait(exchange_wait& w) noexcept override;
    void cancel_wait(exchange_wait& w) noexcept override;
    void received_by(exchange_wait& w) noexcept override;
    std::expected<void, error> result_of(exchange_wait& w) override;

private:
    static void peer_gone(hangup_watch& w) noexcept;
    bool prepare_receive(exchange_wait& w, std::uint32_t most) noexcept;
    bool comes_fast() const noexcept { return fast_ != nullptr && fast_->is_on(); }
    std::uint32_t largest_for(std::uint64_t most) const noexcept;
    bool repair_head();
    void copy_fields(http::fields& to);
    void keep_trailers();
    task<std::expected<void, error>> send_slices(std::span<slice> pieces, bool more);

    // the request
    outgoing_bytes out_;
    const std::int64_t* progress_ = nullptr;  ///< of the send under way
    std::uint64_t sent_ = 0;
    http::method asked_ = method::other;
    std::uint32_t head_limit_ = 0;
    bool lenient_ = false;
    std::uint32_t field_limit_ = 0;
    bool upgrades_ = false;
    bool chunked_ = false;  ///< the body of the request is chunked
    bool cut_ = false;      ///< no request follows, whatever the response says

    // the response
    buffer input_;  ///< received bytes not parsed yet; no block while the connection is idle
    h1::response_parser parser_;
    std::uint64_t received_ = 0;
    std::size_t head_size_ = 0;
    h1::parse_error head_error_ = h1::parse_error::none;
    bool keeps_alive_ = false;
    bool left_http_ = false;
    h1::body_decoder content_;
    std::unique_ptr<http::fields> trailers_;

    std::unique_ptr<fast_body> fast_;  ///< set once a body was fast
    std::uint32_t uses_ = 0;
    std::uint32_t room_ = buffer::default_capacity;  ///< size of the next block
};

}  // namespace coracle::http::detail
