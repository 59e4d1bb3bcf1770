#pragma once

#include "http/exchange/h2_tunnel.hpp"
#include "http/exchange/pace.hpp"
#include "http/exchange/response_channel.hpp"
#include "http/h2/received_content.hpp"
#include "http/h2/session.hpp"
#include "http/server/shard.hpp"

#include <coracle/runtime/event.hpp>
#include <coracle/runtime/spawn.hpp>
#include <coracle/runtime/timer.hpp>

#include <array>
#include <memory>
#include <string_view>
#include <vector>

namespace coracle::http::detail {

class h2_connection;

/// The link of a stream in the list of its connection.
struct h2_stream_link : list_hook {};

/// An exchange on a stream of HTTP/2 (RFC 9113 section 8). If the handler returns a response in
/// memory at once, there is no coroutine frame; otherwise a task runs the exchange. The connection
/// destroys it once the stream is over and the task has ended.
class h2_stream final : public h2::stream,
                        public h2_stream_link,
                        public response_channel,
                        public coracle::detail::pooled,
                        body_source,
                        tunnel_carrier,
                        deadline {
public:
    explicit h2_stream(h2_connection& home);
    ~h2_stream();

    // Called by its connection.
    void head_received(const h2::head& message, bool end);
    void head_too_large();
    void data_received(std::string_view piece, const h2::shared_block& block);
    void end_received(const h2::head* trailers);
    void sent() noexcept;
    /// The session has removed the stream. `lost`: it was reset.
    void over(bool lost) noexcept;
    /// The client has reset the stream. Cancels a handler; an upgraded protocol sees the end of its
    /// stream, as on a connection of its own.
    void lose_client() noexcept;
    /// Cancels the handler, because the connection ends; an upgraded protocol may still clean up.
    void cut() noexcept;
    /// Stops an upgraded protocol too.
    void stop() noexcept;
    /// Returns true when nothing refers to the stream any more.
    bool is_done() const noexcept { return stream::over() && !sending() && !has_task(); }
    bool has_task() const noexcept { return runner_ != nullptr; }

private:
    class runner;
    class sent_wait;
    /// The limit of a wait for more of the body, beside which the response may be written.
    class body_limit final : public deadline {
    public:
        explicit body_limit(h2_stream& s);
        void expired() noexcept override { stream_->body_is_late(); }

    private:
        h2_stream* stream_;
    };
    class file_content;

    // The request: h2_stream.cpp
    bool prepare(const h2::head& message, bool end);
    void note_offer(std::string_view protocol, fields& to);
    void respond_with(status shown, std::string_view why);
    task<> work();
    void task_over(const std::exception_ptr& thrown, bool in_order) noexcept;
    void expired() noexcept override;
    void reset(h2::error_code code) noexcept;

    // The body of the request: h2_body.cpp
    task<std::expected<std::string_view, error>> read() override;
    task<std::expected<void, error>> wait_for_body();
    std::optional<std::uint64_t> length() const noexcept override;
    const fields* trailers() const noexcept override { return trailers_.get(); }
    error refused(error why) override;
    void body_is_late() noexcept;
    void give_back(std::size_t bytes) noexcept;
    std::unexpected<error> refuse_body(std::error_code why) noexcept;

    // The switch to another protocol: h2_upgrade.cpp
    void check_response(exchange& e) override;
    task<bool> switch_protocols(exchange& e) override;
    task<bool> run_tunnel(exchange& e);
    bool carry(std::span<const std::string_view> pieces, bool end) noexcept override;
    std::uint64_t peer_takes() const noexcept override;
    void consumed(std::size_t bytes) noexcept override { give_back(bytes); }
    void cut_tunnel() noexcept override;

    // The response: h2_response.cpp
    bool fits() const noexcept;
    void send_response_head(std::optional<std::uint64_t> length, bool end);
    void respond_at_once();
    void offer_bytes();
    bool was_sent() noexcept;
    bool offer(std::string_view bytes, bool end);
    bool offer(file_content& from, std::uint64_t size);
    void begin_write(std::uint64_t size) noexcept;
    task<> wait_until_sent();
    bool may_go_on() const noexcept { return starved_ || !sending(); }
    void end_request() noexcept;
    void wake_writer() noexcept;
    const net::address& client_address() const noexcept override;
    bool watch_client() noexcept override { return !lost_; }
    void stop_watching() noexcept override {}
    bool is_broken() const noexcept override { return lost_; }
    void abandon() noexcept override;
    bool writes() const noexcept override { return writes_; }
    task<bool> send_bytes(exchange& e) override;
    task<bool> send_file(exchange& e) override;
    void begin_body(exchange& e, std::optional<std::uint64_t> size, bool has_body) override;
    task<bool> send_piece(std::string_view piece, std::uint64_t& sent) override;
    task<std::expected<void, error>> send_file_piece(int fd, std::uint64_t offset,
                                                     std::uint64_t size,
                                                     std::uint64_t& sent) override;
    void end_body(const fields* trailers) override;
    bool has_trailers() const noexcept override { return true; }
    task<bool> flush() override;
    task<bool> send_interim_head(const response& interim) override;

    shard& owner() const noexcept;
    const server_timeouts& timeouts() const noexcept { return owner().options().timeouts; }

    h2_connection* home_;
    exchange* exchange_;
    runner* runner_ = nullptr;
    sent_wait* writer_ = nullptr;  ///< the task that waits until its content has been sent

    h2::received_content content_;
    std::unique_ptr<h2_tunnel> tunnel_;  ///< carries the protocol that the stream was switched to
    std::uint32_t head_cost_ = 0;        ///< bytes held of those for the heads of the connection
    std::uint64_t received_ = 0;
    std::uint64_t dropped_ = 0;    ///< bytes of the body dropped after the response
    std::int64_t announced_ = -1;  ///< by Content-Length
    std::unique_ptr<fields> trailers_;
    event readable_;
    body_limit body_limit_{*this};
    receive_pace receive_pace_;

    std::array<std::string_view, 1> pieces_;
    std::uint64_t offered_ = 0;  ///< bytes of the content that is being sent
    send_pace send_pace_;

    bool head_there_ = false;  ///< the head of the request was received
    bool reads_ = false;       ///< a read of the body is under way
    bool writes_ = false;      ///< a write of the response is under way
    bool writing_ = false;     ///< the session refers to our content
    bool starved_ = false;     ///< the file that is being sent has to be read by a thread
    bool lost_ = false;
    bool ended_ = false;  ///< the request is complete
    bool refused_ = false;
    bool timed_out_ = false;
    bool continue_due_ = false;
    bool asks_for_tunnel_ = false;  ///< the request is an extended CONNECT
};

}  // namespace coracle::http::detail
