#pragma once

#include "http/client/client_exchange.hpp"
#include "http/client/h2/h2_connection.hpp"
#include "http/client/h2/h2_tunnel.hpp"
#include "http/h2/stream.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace coracle::http::detail {

class client_h2_exchange;

/// Appends a field in the form of HTTP/1, for logs.
void append_line(std::string& to, std::string_view name, std::string_view value);

/// Waits until a piece of content was sent or has failed.
class [[nodiscard]] h2_sending_wait final : public coracle::detail::leaf<h2_sending_wait, void> {
public:
    static constexpr const char* name = "send";
    explicit h2_sending_wait(client_h2_exchange& e) noexcept : exchange_(&e) {}
    bool start() noexcept;
    void cancel() noexcept override;
    std::expected<void, error> result();
    void over() noexcept { owner().enqueue(*this); }

private:
    client_h2_exchange* exchange_;
};

/// One request and its response on a stream of an HTTP/2 connection (RFC 9113 section 8). After its
/// release it lives until the session no longer refers to it.
class client_h2_exchange final : public client_exchange,
                                 public h2_exchange_link,
                                 public h2::stream,
                                 public coracle::detail::pooled {
public:
    client_h2_exchange(client_h2_connection& on, bool reused);
    ~client_h2_exchange() = default;

    // ---- client_exchange
    client_connection& connection() noexcept override { return *connection_; }
    bool reused() const noexcept override { return reused_; }
    bool alive() const noexcept override { return connection_->alive(); }
    bool fit() noexcept override { return connection_->usable(); }
    std::uint32_t stream_id() const noexcept override { return number_; }

    upgrade_offer offers_upgrade() const noexcept override;
    void begin(const outgoing_head& head) override;
    std::string request_text() const override { return request_text_; }
    bool try_send(std::string_view body) override;
    task<std::expected<void, error>> flush() override;
    task<std::expected<void, error>> send(std::string_view piece, follows next) override;
    task<std::expected<void, error>> send_file(int fd, std::uint64_t offset, std::uint64_t size,
                                               follows next) override;
    task<std::expected<void, error>> finish(const http::fields* trailers) override;
    void cut() noexcept override { upload_over_ = true; }
    std::uint64_t sent() const noexcept override { return sent_ - h2::stream::unsent(); }

    head_state read_head(response_start& start, http::fields* of_interim) override;
    error head_error() const override;
    std::string response_text() const override { return response_text_; }
    void take_fields(http::fields& to) override;
    std::optional<std::string_view> take_whole_body(std::uint64_t most) noexcept override;
    std::expected<std::string_view, error> read_body() override;
    bool left_http() const noexcept override { return tunnel_ != nullptr; }
    bool body_ended() const noexcept override { return received_end_ && content_.empty(); }
    std::optional<std::uint64_t> body_left() const noexcept override;
    std::unique_ptr<http::fields> take_trailers() noexcept override { return std::move(trailers_); }
    std::uint64_t received() const noexcept override { return received_; }
    std::size_t unread() const noexcept override { return content_.size(); }

    bool unprocessed() const noexcept override { return number_ == 0 || refused_; }
    bool turned_away() const noexcept override { return unprocessed() && failure_.has_value(); }
    bool needs_http_1() const noexcept override;
    void release(fate how) noexcept override;
    bool replace() noexcept override;
    std::unique_ptr<net::byte_stream> detach(buffer& received, client_shard& of) noexcept override;

    bool may_begin() const noexcept override;
    bool start_wait(exchange_wait& w) noexcept override;
    void cancel_wait(exchange_wait& w) noexcept override;
    std::expected<void, error> result_of(exchange_wait& w) override;

    // ---- of its connection
    void head_came(const h2::head& message, bool end);
    void head_too_large(h2::head_fault limit);
    void data_came(std::string_view piece);
    void end_came(const h2::head* trailers);
    void content_sent() noexcept;
    void failed(error why, bool refused) noexcept;
    /// To be called when the session has removed the stream.
    void stream_closed() noexcept;
    /// To be called when the server's SETTINGS were received, or it may take one more stream.
    /// Returns true if the exchange still waits until it may begin.
    bool offer_place() noexcept {
        if (!begun_request_) wake_reader();
        return !begun_request_ && reader_ != nullptr;
    }

    // ---- of its tunnel
    bool is_released() const noexcept { return released_; }
    /// Returns true if its connection is lost.
    bool is_lost() const noexcept { return !alive() || connection_->lost(); }
    bool carry(std::span<const std::string_view> pieces, bool end) noexcept;
    std::uint64_t peer_takes() const noexcept;
    void consumed(std::size_t bytes) noexcept;
    void cut_stream() noexcept;

private:
    friend class h2_sending_wait;

    bool has_news() const noexcept;
    void give_back(std::size_t bytes);
    void wake_reader() noexcept;
    void wake_sender() noexcept;
    bool offer(bool end);
    task<std::expected<void, error>> send_taken(bool end);
    void send_trailers(const http::fields& trailers);
    bool forget_stream() noexcept;
    void destroy_if_free() noexcept;

    client_h2_connection* connection_;
    time_point begun_;
    std::uint32_t number_ = 0;
    bool reused_;
    bool released_ = false;
    bool refused_ = false;
    std::optional<error> failure_;

    // the request
    std::string request_text_;  ///< for logs
    bool logs_ = false;
    bool begun_request_ = false;
    bool asks_for_tunnel_ = false;
    bool is_head_ = false;
    bool ended_ = false;        ///< the session has the whole request
    bool upload_over_ = false;  ///< no more of the request may be sent
    std::uint64_t sent_ = 0;    ///< bytes passed to the session
    buffer out_;                ///< content being sent
    std::string_view out_piece_;
    h2_sending_wait* sender_ = nullptr;

    // the response
    std::uint32_t head_limit_ = 0;
    std::uint32_t field_limit_ = 0;
    struct interim {
        std::uint16_t code;
        http::fields fields;
    };
    std::vector<interim> interim_;  ///< responses that were not read yet
    std::string response_text_;
    response_start start_;
    http::fields fields_;
    bool head_there_ = false;
    bool head_taken_ = false;
    bool received_end_ = false;
    bool watches_upload_ = false;  ///< the reader waits behind the end
    h2::received_content content_;
    buffer collected_;  ///< a small body that arrived in pieces
    std::unique_ptr<http::fields> trailers_;
    std::uint64_t received_ = 0;
    std::uint64_t body_read_ = 0;
    exchange_wait* reader_ = nullptr;
    std::unique_ptr<client_h2_tunnel> tunnel_;  ///< after a switch to another protocol
};

}  // namespace coracle::http::detail
