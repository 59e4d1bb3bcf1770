#pragma once

#include "http/h1/head_parser.hpp"
#include "http/server/shard.hpp"

#include <coracle/runtime/spawn.hpp>
#include <coracle/runtime/timer.hpp>

namespace coracle::http::detail {

/// What a read of the body or a write of the answer fails with while another is under way.
inline std::unexpected<error> one_at_a_time(const char* operation) noexcept {
    return std::unexpected(error(std::errc::operation_in_progress, operation));
}

/// One HTTP/1 connection: reads heads, calls the handler, writes answers in order. While it waits
/// for a request, and for answers that are there at once, it is a state machine without a coroutine
/// frame; the answers to one read leave in one write. Whatever has to be waited for is done by a
/// task, the episode, after which the state machine goes on. Destroys itself when it ends.
class connection final : public shard_link, deadline, hangup_watch, receive_operation {
public:
    connection(shard& owner, std::unique_ptr<net::byte_stream> stream,
               const tls::stream* secured = nullptr);
    ~connection();
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    void start() noexcept { go_on(step::receive); }
    /// The same, with bytes that were received already, from a client that the peer speaks for.
    void start(buffer received, const net::address* client) noexcept;
    /// Asks it to end: now when it is idle, else when its answer is out.
    void drain() noexcept;
    /// Ends it now.
    void cut() noexcept;

    // What the body of a request needs of its connection.
    shard& owner() noexcept { return *shard_; }
    buffer& input() noexcept { return into; }
    /// Waits for more bytes of a body, at most the time that bodies have.
    task<std::expected<void, error>> receive_more_body(request_body& body);
    task<std::expected<void, error>> send_continue();
    /// Nothing that follows can be understood, or is wanted.
    void body_is_broken() noexcept {
        keep_alive_ = false;
        lingers_ = true;
    }

    /// Whether a read of the body or a write of the answer is under way. They share a deadline and
    /// what is to be sent, so there is one at a time.
    bool waits() const noexcept { return wait_ != nullptr; }

private:
    friend class stream_writer;
    friend class interim_writer;
    class episode;

    enum class phase : std::uint8_t { idle, head, body, handler, write, linger };
    static constexpr std::uint8_t write_checks = 4;

    enum class step : std::uint8_t { receive, exchange, yield, close };

    static void received(io_operation& op) noexcept;
    void go_on(step next) noexcept;
    void go_on_without_waiting(step next);
    bool read() noexcept;
    step after_read();
    task<> serve_waiting(step next);
    void episode_over(std::exception_ptr thrown, bool ended_in_order) noexcept;
    void end() noexcept;
    void end_wait() noexcept;
    void expired() noexcept override;
    bool still_writes() noexcept;
    static void peer_gone(hangup_watch& w) noexcept;

    // Reading heads.
    void await_head() noexcept;
    step process();
    step refuse(h1::parse_error why);
    step refuse_late();
    step refuse_with(status answer, std::string_view why);
    step begin_exchange(std::size_t head_size);
    bool prepare(exchange& e, std::size_t head_size);
    bool call_handler(exchange& e);
    void take_failure(exchange& e, std::exception_ptr thrown);
    void take_input(buffer& received);

    // One exchange that needs to wait.
    task<bool> finish_exchange();
    task<bool> call_and_answer(exchange& e);
    task<bool> discard_body(exchange& e);
    task<std::expected<void, error>> drop_body(exchange& e);
    task<> linger();
    error body_failure(error e);

    // Writing.
    bool fits(const exchange& e) const noexcept;
    void write_head(exchange& e, std::optional<std::uint64_t> length, bool chunked);
    void write_in_memory(exchange& e);
    task<bool> write_answer(exchange& e);
    task<bool> write_bytes(exchange& e);
    task<bool> write_file(exchange& e);
    task<bool> write_stream(exchange& e);
    task<bool> write_upgrade(exchange& e);
    task<bool> refuse_upgrade(exchange& e, const error& why);
    bool flush_now();
    task<bool> flush();
    task<bool> send_all(std::span<slice> pieces);
    void answered(exchange& e);
    void release(exchange* e) noexcept;
    bool may_continue() noexcept;
    void count_gone() noexcept;

    template <class Op>
    task<std::expected<void, error>> finish_write(Op& op);
    void log(log_level level, std::string_view text) const;

    shard* shard_;
    std::unique_ptr<net::byte_stream> stream_;
    connection_info info_;
    buffer partial_;  ///< of a head, while more is waited for
    buffer output_;
    h1::request_parser parser_;
    exchange* exchange_ = nullptr;
    episode* episode_ = nullptr;
    coracle::detail::context* handler_context_ = nullptr;
    coracle::detail::waiter* wait_ = nullptr;  ///< what the deadline ends in an episode
    const std::int64_t* progress_ = nullptr;   ///< of the write under way
    std::int64_t progress_seen_ = 0;
    time_point retires_;  ///< when it is to be closed for its age
    std::uint32_t requests_ = 0;
    std::uint8_t stalls_ = 0;  ///< checks in a row that saw no progress
    phase phase_ = phase::idle;
    bool reading_ = false;  ///< waits for bytes, without an episode
    bool closes_ = false;
    bool keep_alive_ = true;
    bool timed_out_ = false;
    bool client_gone_ = false;
    bool gone_counted_ = false;
    bool reset_ = false;
    bool lingers_ = false;
};

}  // namespace coracle::http::detail
