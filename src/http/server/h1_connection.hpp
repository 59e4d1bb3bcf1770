#pragma once

#include "http/exchange/pace.hpp"
#include "http/exchange/response_channel.hpp"
#include "http/server/h1_exchange.hpp"
#include "http/server/shard.hpp"

#include <coracle/http/connection_info.hpp>
#include <coracle/http/h1/head_parser.hpp>
#include <coracle/runtime/spawn.hpp>
#include <coracle/runtime/timer.hpp>

#include <algorithm>

namespace coracle::http::detail {

/// One HTTP/1 connection: reads heads, calls the handler, writes responses in order. While it waits
/// for a request, and for responses that are there at once, it is a state machine without a
/// coroutine frame; the responses to one read leave in one write. Exchanges that have to wait run
/// in a task, the exchange task, after which the state machine goes on. A connection that switches
/// to another protocol leaves that task, too: it may be idle for days, and holds no frame of an
/// exchange meanwhile. Destroys itself when it ends.
class h1_connection final : public server_connection,
                            response_channel,
                            deadline,
                            hangup_watch,
                            receive_operation,
                            connection_info {
public:
    h1_connection(shard& owner, std::unique_ptr<net::byte_stream> stream,
                  const tls::session_info* secured = nullptr);
    ~h1_connection();

    /// Starts the connection. `received`: bytes that were received already; `client`: the address
    /// that a trusted proxy has given, or null.
    void start(buffer received, const net::address* client) noexcept;
    void drain() noexcept override;
    void cut() noexcept override;
    std::optional<time_point> idle_since() const noexcept override;
    void make_room() noexcept override;

    // Services for the body of a request.
    shard& owner() noexcept { return *shard_; }
    buffer& input() noexcept { return into; }
    /// Waits for more bytes of a body, at most for the timeout of bodies.
    task<std::expected<void, error>> receive_more_body(h1_request_body& body);
    task<std::expected<void, error>> send_continue();
    /// Notes that later bytes cannot be understood, or are not wanted.
    void body_is_broken() noexcept { end_behind(ending::linger); }

    bool reads_body() const noexcept { return wait_ != nullptr; }
    bool writes() const noexcept override { return write_.of != nullptr; }
    event* continuing() const noexcept override { return continuing_; }

private:
    class connection_task;
    class exchange_task;
    class upgraded_task;

    /// The fate of the connection after the response under way; each is stronger than those before
    /// it.
    enum class ending : std::uint8_t {
        keep,    ///< the next request may follow
        close,   ///< nothing follows, and the client has no more to send
        linger,  ///< the client may still send, and must be able to read the response (RFC
                 ///< 9112 9.6)
        reset,   ///< the response is incomplete, or the client does not read it
    };
    void end_behind(ending how) noexcept { ending_ = std::max(ending_, how); }
    bool keeps() const noexcept { return ending_ == ending::keep; }

    enum class phase : std::uint8_t { idle, head, body, handler, linger };

    /// A write that waits for the client, with a limit of its own: the body of the request may be
    /// read beside it.
    struct waiting_write final : deadline {
        explicit waiting_write(h1_connection& c) noexcept
            : deadline(c.owner().owner()), connection(&c) {}
        void expired() noexcept override { connection->write_is_late(); }

        h1_connection* connection;
        coracle::detail::waiter* of = nullptr;
        const std::int64_t* progress = nullptr;
        send_pace pace;
    };

    enum class step : std::uint8_t { receive, exchange, yield, close, hand_over };

    static void received(io_operation& op) noexcept;
    void go_on(step next) noexcept;
    void go_on_without_waiting(step next);
    bool read() noexcept;
    step after_read();
    task<> serve_waiting(step next);
    void exchange_task_over(std::exception_ptr thrown, bool ended_in_order) noexcept;
    void upgraded_task_over(std::exception_ptr thrown, bool ended_in_order) noexcept;
    void note_failure(const std::exception_ptr& thrown) noexcept;
    void end() noexcept;
    void end_wait() noexcept;
    void back_to(phase before) noexcept;
    void expired() noexcept override;
    void write_is_late() noexcept;
    void end_in_drain() noexcept;

    // Watching the client while the user's code runs.
    [[nodiscard]] bool watch_client() noexcept override;
    void stop_watching() noexcept override;
    bool half_close() noexcept;
    /// Returns true if the client has sent its end while the user's code runs.
    bool half_closed() const noexcept { return ignores_end; }
    static void peer_gone(hangup_watch& w) noexcept;
    const net::address& client_address() const noexcept override { return peer(); }
    bool is_broken() const noexcept override { return ending_ == ending::reset; }
    void abandon() noexcept override { end_behind(ending::reset); }

    // Reading heads.
    void await_head() noexcept;
    void arm_for_head(duration usual) noexcept;
    step process();
    step refuse(h1::parse_error why);
    step refuse_late();
    step refuse_with(status shown, std::string_view why, method asked = method::get);
    step begin_exchange(std::size_t head_size);
    bool prepare(h1_exchange& e, std::size_t head_size);
    bool take_input(buffer& received) noexcept;
    bool may_speak_http2() const noexcept;
    bool begins_http2() const noexcept;
    bool accepts_offer();
    void hand_over();

    // One exchange that needs to wait.
    task<bool> finish_exchange();
    task<bool> carry_out(h1_exchange& e);
    task<bool> discard_body(h1_exchange& e);
    task<std::expected<void, error>> drop_body(h1_exchange& e);
    task<> linger();
    error body_failure(error e);

    // Writing.
    bool fits(const exchange& e) const noexcept;
    void decide_ending(h1_exchange& e);
    buffer& output();
    void write_head(h1_exchange& e, std::optional<std::uint64_t> length, bool chunked);
    char* write_fields(char* out, h1_exchange& e, std::optional<std::uint64_t> length,
                       bool chunked);
    void write_in_memory(h1_exchange& e);
    task<bool> send_bytes(exchange& e) override;
    task<bool> send_file(exchange& e) override;
    task<bool> switch_protocols(exchange& e) override;
    bool goes_on_upgraded() const noexcept override { return switched_; }
    task<bool> refuse_upgrade(h1_exchange& e, const error& why);
    void prepare_upgraded(gauge_entry request, gauge_entry active);
    void begin_body(exchange& e, std::optional<std::uint64_t> size, bool has_body) override;
    task<bool> send_piece(std::string_view piece, std::uint64_t& sent) override;
    task<std::expected<void, error>> send_file_piece(int fd, std::uint64_t offset,
                                                     std::uint64_t size,
                                                     std::uint64_t& sent) override;
    task<std::expected<void, error>> send_whole_file(int fd, std::uint64_t offset,
                                                     std::uint64_t size, std::uint64_t& sent);
    void end_body(const fields* trailers) override;
    bool has_trailers() const noexcept override { return chunked_; }
    task<bool> send_interim_head(const response& interim) override;
    bool flush_now();
    task<bool> flush() override;
    task<bool> send_all(std::span<slice> pieces);
    task<bool> send_counted(std::span<slice> pieces, std::size_t content, std::uint64_t& sent);
    void release(h1_exchange* e) noexcept;

    /// Marks the wait that a deadline ends, as long as this lives: also when an exception ends it.
    class wait_mark {
    public:
        wait_mark(coracle::detail::waiter*& place, coracle::detail::waiter& w,
                  deadline& limit) noexcept
            : place_(&place), limit_(&limit) {
            place = &w;
        }
        wait_mark(const wait_mark&) = delete;
        wait_mark& operator=(const wait_mark&) = delete;
        ~wait_mark() {
            *place_ = nullptr;
            limit_->disarm();
        }

    private:
        coracle::detail::waiter** place_;
        deadline* limit_;
    };

    template <class Op>
    task<std::expected<void, error>> finish_write(Op& op);
    void log(log_level level, std::string_view text) const { shard_->log(level, peer(), text); }

    shard* shard_;
    std::unique_ptr<net::byte_stream> stream_;
    buffer partial_;  ///< progress of a partial head
    buffer output_;
    h1::request_parser parser_;
    h1_exchange* exchange_ = nullptr;
    connection_task* task_ = nullptr;          ///< the one that runs
    std::unique_ptr<upgraded_task> upgraded_;  ///< begins behind the exchange task
    coracle::detail::waiter* wait_ = nullptr;  ///< for bytes of the client, in the exchange task
    waiting_write write_{*this};
    event* continuing_ = nullptr;
    time_point retires_;  ///< the time at which it is closed for its age
    std::uint32_t requests_ = 0;
    phase phase_ = phase::idle;
    bool reading_ = false;  ///< waits for bytes, without an exchange task
    ending ending_ = ending::keep;
    bool chunked_ = false;     ///< the body of the response that is being streamed
    bool by_gateway_ = false;  ///< a trusted proxy gave the client's address
    bool is_counted_ = true;   ///< its peer is, as one of its client's
    bool timed_out_ = false;
    bool makes_room_ = false;   ///< is being closed to make space for others
    bool handed_over_ = false;  ///< continues as HTTP/2
    bool switched_ = false;     ///< to another protocol
};

}  // namespace coracle::http::detail
