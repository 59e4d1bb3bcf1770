#pragma once

#include "base/prefetch.hpp"
#include "coding/raw_deflate.hpp"
#include "websocket/codec/deflate_offer.hpp"
#include "websocket/codec/message_decoder.hpp"
#include "websocket/output.hpp"
#include "websocket/tallies.hpp"

#include <coracle/base/detail/block_pool.hpp>
#include <coracle/http/drain_signal.hpp>
#include <coracle/net/byte_stream.hpp>
#include <coracle/runtime/event.hpp>
#include <coracle/runtime/timer.hpp>
#include <coracle/websocket/connection.hpp>
#include <coracle/websocket/slow_reader.hpp>

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::websocket::detail {

/// The options and counters that connections of one route or client share; outlives them.
struct settings {
    websocket::options options;
    tallies counts;
};

/// A connection after its handshake, of either side and over any stream: a state machine between
/// the stream and the tasks that receive and send, without a task of its own. While it is idle it
/// holds no received bytes, nothing to be sent, and no compressor unless one was agreed on.
///
/// It reads ahead up to the next message that no task waits for, so that pings and the close frame
/// are seen; after that it stops, which is the back-pressure.
class engine final : public std::enable_shared_from_this<engine>,
                     coracle::deadline,
                     http::drain_watch,
                     coracle::detail::runnable {
public:
    engine(loop& home, role self, std::shared_ptr<settings> s,
           const std::optional<deflate_agreement>& deflate, std::string subprotocol);
    ~engine();

    /// Takes the stream, which must live until `is_over`, with the bytes received after the
    /// handshake.
    void begin(net::byte_stream& s, buffer received) noexcept;
    /// Closes with 1001 when the server drains.
    void close_at(http::drain_signal& server) noexcept { server.watch(*this); }
    /// The context of the handler, which is cancelled if it runs too long after the end; null: it
    /// has ended.
    coracle::detail::context*& handler() noexcept { return handler_; }
    /// Returns true if it was ended before all was sent, our close frame at the end.
    bool is_cut_off() const noexcept { return is_cut_off_; }
    bool is_over() const noexcept { return phase_ == phase::over && !reading_ && !writing_; }
    /// Runs `who` once, when no operation on the stream is pending any more.
    void when_over(coracle::detail::runnable& who) noexcept { over_ = &who; }
    /// Ends the connection at once, without a close frame.
    void abort(error why) noexcept;
    /// Returns true if no operation is pending on its loop: it may be destroyed on any thread.
    void leave_loop() noexcept;

    loop& home() const noexcept { return *home_; }
    net::byte_stream& stream() const noexcept { return *stream_; }
    const websocket::options& options() const noexcept { return settings_->options; }
    tallies& counts() noexcept { return settings_->counts; }
    std::string_view subprotocol() const noexcept { return subprotocol_; }
    bool is_compressed() const noexcept { return deflate_.has_value(); }
    duration round_trip() const noexcept { return round_trip_; }
    std::size_t unsent() const noexcept { return output_.size(); }
    const close_status& status() const noexcept { return status_; }
    /// The reason of the end; without an error code if it ended in order.
    const error& failure() const noexcept { return failure_; }
    /// From any thread.
    bool is_open() const noexcept { return open_.load(std::memory_order_relaxed); }
    const net::address& peer() const noexcept { return peer_; }

    // Receiving.

    enum class wanted : std::uint8_t { nothing, message, piece };

    /// Returns true when it is there, or the end; else `who` is run when it is.
    bool want(wanted what, coracle::detail::runnable& who) noexcept;
    /// Returns false if `who` is about to run.
    bool forget(coracle::detail::runnable& who) noexcept;
    std::expected<std::optional<message>, error> take_message();
    std::expected<std::optional<piece>, error> take_piece();

    // Sending.

    /// Returns true when it is done, or has failed.
    bool submit(outgoing& what) noexcept;
    /// Withdraws a message, or sends the rest of it at once.
    void withdraw(outgoing& what) noexcept;
    bool try_send(message_type type, std::string_view bytes, compress c) noexcept;
    /// To be called when a message written in pieces will not be finished.
    void abandon_stream() noexcept;
    /// Messages that were written in pieces so far, the one under way among them.
    std::uint32_t streams_begun() const noexcept { return streams_begun_; }

    /// Prefetches what `share` and `note_published` need.
    [[gnu::always_inline]] void prefetch() const noexcept {
        coracle::detail::prefetch<2>(static_cast<const void*>(&home_), 0);
        coracle::detail::prefetch<1>(&waiting_, 0);
    }
    /// Prefetches what `share` needs of the stream, once the engine itself is in the cache.
    [[gnu::always_inline]] void prefetch_stream() const noexcept {
        coracle::detail::prefetch<2>(stream_, 0);
    }
    /// Sends a message whose bytes are shared with other connections, after the pending ones. At
    /// most `bound` of them wait for a slow peer. Returns false if this or another message is
    /// dropped, or the connection is closed.
    bool share(const std::shared_ptr<const shared_frame>& frame, std::size_t bound,
               slow_reader policy) noexcept {
        const std::size_t retained = backlog_ == nullptr ? 0 : backlog_->retained;
        return share_within(frame, bound + retained, policy, false);
    }
    /// As `share`, for one of the messages that a subscription begins with. They all come at once,
    /// whatever the peer reads: while they wait, as many more may, up to `most` of them. A peer can
    /// subscribe again and again.
    bool share_retained(const std::shared_ptr<const shared_frame>& frame, std::size_t bound,
                        std::size_t most, slow_reader policy) noexcept {
        const std::size_t retained = backlog_ == nullptr ? 0 : backlog_->retained;
        if (retained >= most) return share_within(frame, bound + retained, policy, false);
        return share_within(frame, bound + retained + 1, policy, true);
    }

    /// Returns whether a message of these topics is another than the last one it was asked about.
    bool note_published(const void* topics, std::uint64_t sequence) noexcept {
        const bool known = published_of_ == topics && published_ == sequence;
        published_of_ = topics;
        published_ = sequence;
        return !known;
    }

    void ping(ping_wait& who) noexcept;

    // The end.

    void close(close_code c, std::string_view reason) noexcept;
    void fail(fault why) noexcept;
    event_wait finished() noexcept { return finished_.wait(); }

    // From other threads.

    /// Reserves buffer space for bytes of another thread. Returns false if there is none.
    bool reserve_handed_over(std::size_t bytes) noexcept;
    void release_handed_over(std::size_t bytes) noexcept {
        handed_over_.fetch_sub(bytes, std::memory_order_relaxed);
    }

private:
    enum class phase : std::uint8_t {
        open,
        closing,  ///< our close frame was sent, the peer's was not received
        ending,   ///< no more frames; the stream is being closed
        over,
    };

    struct read_operation final : receive_operation {
        explicit read_operation(engine& e) noexcept
            : receive_operation(&engine::bytes_came), owner(&e) {}
        engine* owner;
    };
    /// A write for which the stream has no room.
    struct waiting_write final : send_operation, coracle::detail::pooled {
        explicit waiting_write(engine& e) noexcept
            : send_operation(&engine::bytes_went), owner(&e) {}
        engine* owner;
        slice lent[output_queue::most_slices];
        time_point looked{};
        std::int64_t progress = -1;
    };

    // Input.
    static void bytes_came(io_operation& op);
    void pump() noexcept;
    void parse();
    bool start_read() noexcept;
    void take_read() noexcept;
    void adapt_receive_size(std::size_t received) noexcept;
    void read_to_end() noexcept;
    void keep_partial() noexcept;
    bool keep_piece() noexcept;
    void drop_input() noexcept;
    void take_decoded(const decoded& d);
    bool is_most_of_the_block(const decoded& d) const noexcept;
    void take_block(const decoded& d) noexcept;
    void add_to_message(const decoded& d);
    std::span<char> room_for_inflating();
    void take_control(frame_opcode code, std::string_view payload) noexcept;
    void take_pong(std::string_view payload) noexcept;
    void take_close(std::string_view payload) noexcept;
    bool has_result() const noexcept;
    void wake_receiver() noexcept;

    // Output.
    static void bytes_went(io_operation& op);
    void flush() noexcept;
    void flush_soon() noexcept;
    bool write_some() noexcept;
    bool start_write();
    bool is_corked() const noexcept { return phase_ == phase::open && !input_.empty(); }
    void take_written(std::int64_t sent) noexcept;
    void finish_write() noexcept;
    /// At least one piece may always wait.
    bool has_room() const noexcept {
        return output_.empty() || output_.size() < options().limits.unsent;
    }
    void room_came() noexcept;
    void go_on_sending() noexcept;
    bool may_share() const noexcept;
    void put_shared(const std::shared_ptr<const shared_frame>& frame);
    bool share_within(const std::shared_ptr<const shared_frame>& frame, std::size_t bound,
                      slow_reader policy, bool retained) noexcept;
    bool send_next() noexcept;
    bool share_next() noexcept;
    bool put(outgoing& what, bool all);
    bool put_or_fail(outgoing& what, bool all) noexcept;
    void put_fragment(outgoing& what, std::string_view bytes, bool last);
    void put_compressed(frame_header h, std::string_view bytes, bool flushes);
    void put_frame(frame_header h, std::string_view payload);
    bool put_given(frame_header h, message& from);
    bool send_at_once(const frame_header& h, std::string_view payload);
    bool put_control(frame_opcode code, std::string_view payload) noexcept;
    bool put_close(std::string_view payload) noexcept;
    void pong(std::string_view payload) noexcept;
    bool compresses(const outgoing& what) const noexcept;
    void begin_deflate();
    void end_deflate() noexcept;
    void fail_outgoing() noexcept;
    void run() noexcept override;

    // The end.
    void finish(error why) noexcept;
    void begin_ending() noexcept;
    void lose(error why) noexcept;
    void note_close_sent() noexcept;
    void shut_down() noexcept;
    void stream_ended(std::int64_t result) noexcept;
    void out_of_memory() noexcept;
    void maybe_over() noexcept;
    void count_fault(fault why) noexcept;

    // Time.
    void note_life() noexcept;
    void expired() noexcept override;
    void look_at_clock() noexcept;
    bool gives_up_writing(time_point now, time_point& next) noexcept;
    void check_peer(time_point now, time_point& next) noexcept;
    void check_end(time_point now, time_point& next) noexcept;
    void check_handler(time_point now) noexcept;
    void wake_at(time_point t) noexcept;
    void drain_begins() noexcept override;

    // With thousands of connections none of this is in the cache when bytes come, or a message is
    // shared. Members that every message needs lie close to `read_`, around which the backends
    // prefetch (`prefetch_operation`).
    loop* home_;
    net::byte_stream* stream_ = nullptr;
    std::shared_ptr<settings> settings_;
    role role_;
    phase phase_ = phase::open;
    wanted wanted_ = wanted::nothing;
    bool reading_ = false;
    bool writing_ = false;
    bool hungry_ = false;  ///< nothing can be done without more bytes
    bool message_ready_ = false;
    bool piece_ready_ = false;
    bool piece_lent_ = false;  ///< it is in the hands of who receives
    bool close_sent_ = false;
    bool close_came_ = false;
    bool input_ended_ = false;
    bool output_ended_ = false;
    bool streaming_ = false;  ///< a message is written in pieces
    std::uint32_t streams_begun_ = 0;
    bool is_counted_ = true;       ///< among those that are open
    bool in_message_ = false;      ///< a message has begun; the compressor may hold all of it
    bool mid_message_ = false;     ///< a frame of it is out, and not the last one
    bool is_compressing_ = false;  ///< that message
    bool pinged_ = false;          ///< since the last sign of life
    bool is_cut_off_ = false;
    bool backlog_turn_ = false;  ///< a shared message is the next, before those that wait
    bool deflate_used_ = false;  ///< the compressor's window differs from the peer's
    bool own_context_ = false;   ///< it remembers messages
    std::atomic<bool> open_{true};
    int own_window_bits_ = 0;  ///< of the compressor; 0: nothing is compressed
    output_queue output_;
    message_decoder decoder_;
    buffer input_;    ///< what was not parsed yet
    buffer message_;  ///< the received part of a message
    buffer scratch_;  ///< where pieces are inflated
    buffer kept_;     ///< that of a lent piece, once others are received into
    std::string_view piece_;
    bool piece_last_ = false;
    bool is_text_ = false;
    std::uint8_t small_reads_ = 0;  ///< in a row
    std::uint32_t receive_size_;
    coracle::detail::runnable* receiver_ = nullptr;
    read_operation read_{*this};
    time_point alive_at_;  ///< time of the last sign of life
    unsigned unsent_pongs_ = 0;
    intrusive_list<outgoing> waiting_;
    std::unique_ptr<shared_backlog> backlog_;  ///< null: no shared messages have to wait
    const void* published_of_ = nullptr;
    std::uint64_t published_ = 0;

    std::unique_ptr<waiting_write> write_;  ///< most connections have none
    outgoing* fragment_ = nullptr;          ///< the message that is written in pieces
    net::address peer_;
    std::string subprotocol_;
    std::optional<deflate_agreement> deflate_;
    std::unique_ptr<coding::raw_deflater> deflater_;
    std::unique_ptr<std::string> pong_;
    intrusive_list<coracle::detail::runnable> pings_;
    std::uint64_t ping_sequence_ = 0;
    std::uint64_t automatic_ping_ = 0;  ///< one that no task waits for; 0: none
    duration round_trip_{};

    time_point born_;
    time_point pinged_at_{};
    std::size_t until_close_ = 0;  ///< bytes of the output up to the end of our close frame
    time_point close_due_ = time_point::max();
    time_point handler_due_ = time_point::max();
    coracle::detail::context* handler_ = nullptr;

    close_status status_;
    error failure_;
    event finished_;
    coracle::detail::runnable* over_ = nullptr;
    std::atomic<std::size_t> handed_over_{0};
};

/// Waits until an engine has no pending operation on its stream. Cancelling it ends the engine at
/// once, and still waits for that. Allocates nothing.
class over_wait final : coracle::detail::waiter, coracle::detail::runnable {
public:
    explicit over_wait(engine& e) noexcept : engine_(&e) {}

    bool await_ready() const noexcept { return engine_->is_over(); }
    template <coracle::detail::task_promise P>
    bool await_suspend(std::coroutine_handle<P> h) noexcept {
        handle_ = h;
        context_ = h.promise().context;
        if (context_->cancelled()) cancel();
        if (engine_->is_over()) return false;
        engine_->when_over(*this);
        context_->wait_on(*this, engine_->home().now());
        return true;
    }
    void await_resume() const noexcept {}

private:
    void cancel() noexcept override {
        engine_->abort(error(std::errc::operation_canceled, "websocket"));
    }
    const char* waits_for() const noexcept override { return "websocket end"; }
    void run() noexcept override {
        context_->done_waiting();
        handle_.resume();
    }

    engine* engine_;
    coracle::detail::context* context_ = nullptr;
    std::coroutine_handle<> handle_;
};

}  // namespace coracle::websocket::detail
