#pragma once

#include "http/h2/received_content.hpp"
#include "http/h2/session.hpp"
#include "http/server/h2_stream.hpp"
#include "http/server/h2c_offer.hpp"
#include "http/server/server_connection.hpp"
#include "http/server/shard.hpp"

#include <coracle/http/connection_info.hpp>
#include <coracle/runtime/timer.hpp>

#include <memory>
#include <vector>

namespace coracle::http::detail {

/// One HTTP/2 connection of a server (RFC 9113): moves bytes between the transport and the session,
/// and owns the streams. A state machine without a coroutine frame. Bytes of all streams of one
/// turn of the loop are sent together. Destroys itself when it and the last task of its streams
/// have ended.
class h2_connection final : public server_connection,
                            h2::session_events,
                            connection_info,
                            coracle::detail::runnable,
                            receive_operation,
                            deadline {
public:
    /// Takes `stream`, unless it throws std::bad_alloc.
    h2_connection(shard& owner, std::unique_ptr<net::byte_stream>&& stream,
                  const tls::session_info* secured = nullptr);
    ~h2_connection();

    /// Starts the connection. `received`: bytes that were received already; `client`: the address
    /// that a trusted proxy has given, or null; `offer`: the request of HTTP/1.1 that offered the
    /// upgrade, which is accepted now, or null.
    void start(buffer received, const net::address* client,
               const h2c_offer* offer = nullptr) noexcept;
    void drain() noexcept override;
    void cut() noexcept override;
    std::optional<time_point> idle_since() const noexcept override;
    void make_room() noexcept override;

    // The interface for its streams.
    shard& owner() const noexcept { return *shard_; }
    h2::session& session() noexcept { return session_; }
    connection_info& info() noexcept { return *this; }
    /// At the end of this turn of the loop, sends pending bytes and destroys finished streams.
    void schedule_flush() noexcept;
    /// Holds a head for a stream, until it is given back. Returns false beyond the limit of all
    /// heads.
    bool hold_head(std::uint32_t cost) noexcept;
    void give_back_head(std::uint32_t cost) noexcept { heads_ -= cost; }
    /// To be called when the handler of a stream begins to run as a task, and when it has ended.
    void handler_begins() noexcept {
        if (handlers_++ == 0) shard_->counters().add(&server_counters::active);
    }
    void handler_ends() noexcept {
        if (--handlers_ == 0) shard_->counters().subtract(&server_counters::active);
    }
    /// To be called when a head was not complete in time.
    void head_is_late() noexcept;
    void fail_without_memory() noexcept;

private:
    /// The side that sends.
    struct writer final : send_operation, deadline {
        explicit writer(h2_connection& c) noexcept
            : send_operation(&h2_connection::written), deadline(c.shard_->owner()), home(&c) {}
        void expired() noexcept override;
        h2_connection* home;
        send_pace pace;
    };
    /// Marks that the session is running and may call us, so that no stream is destroyed meanwhile.
    struct in_session {
        explicit in_session(h2_connection& c) noexcept : of(&c) { of->in_session_ = true; }
        in_session(const in_session&) = delete;
        in_session& operator=(const in_session&) = delete;
        ~in_session() { of->in_session_ = false; }
        h2_connection* of;
    };
    /// The phases of a connection, in their order.
    enum class phase : std::uint8_t {
        open,
        closing,  ///< no new streams; ends when all is sent and no stream is open
        linger,   ///< all is sent; received bytes are dropped, so that the peer can read to the end
        dead,     ///< waits for operations under way to end
    };

    static void received(io_operation& op) noexcept;
    static void written(io_operation& op) noexcept;
    void run() noexcept override { flush(); }
    void expired() noexcept override;

    // Receiving.
    void go_on_receiving() noexcept;
    bool take_received() noexcept;
    void process();
    void accept(const h2c_offer& offer);
    const h2::shared_block& block();
    void peer_has_left() noexcept;

    // Sending.
    void flush() noexcept;
    std::size_t gather_and_send();
    bool all_written(std::int64_t gone) noexcept;

    /// Calls `f` for each stream.
    template <class F>
    void for_each_stream(F f) noexcept {
        for (h2_stream_link* s = streams_.front(); s != nullptr; s = streams_.next(*s)) {
            f(static_cast<h2_stream&>(*s));
        }
    }

    // Closing.
    void begin_to_close(bool in_order) noexcept;
    void last_stream_is_known() noexcept;
    void settle() noexcept;
    void reap() noexcept;
    void linger() noexcept;
    void die(bool reset) noexcept;
    void await_request() noexcept;

    // Events of the session.
    h2::stream* open() override;
    void head_received(h2::stream& s, const h2::head& message, bool end) override;
    void head_too_large(h2::stream& s, h2::head_fault limit) override;
    void data_received(h2::stream& s, std::string_view piece) override;
    void end_received(h2::stream& s, const h2::head* trailers) override;
    void sent(h2::stream& s) override;
    void closed(h2::stream& s) override;
    void failed(h2::stream& s, h2::error_code why, bool by_peer) override;
    void settings_received(const h2::peer_settings&) override {}
    void goaway_received(std::uint32_t last, h2::error_code code, std::string_view debug) override;
    void pong_received(std::uint64_t payload) override;
    void limit_reached(h2::limit_kind kind) override;

    shard* shard_;
    h2::session session_;
    writer writer_;
    std::unique_ptr<net::byte_stream> stream_;
    intrusive_list<h2_stream_link> streams_;
    h2::shared_block block_;  ///< the block being processed, once a stream refers to it
    std::vector<std::string_view> views_;
    std::vector<slice> slices_;
    time_point retires_;
    time_point idle_since_;
    time_point until_;  ///< when lingering ends
    time_point measured_since_;
    std::uint32_t requests_ = 0;
    std::uint32_t handlers_ = 0;  ///< that run as tasks
    std::uint32_t heads_ = 0;     ///< bytes that streams hold
    phase phase_ = phase::open;
    bool reading_ = false;
    bool writing_ = false;
    bool in_session_ = false;
    bool comes_fast_ = false;  ///< the last receive gave a block or more
    bool is_counted_ = true;   ///< its peer is, as one of its client's
    bool switches_ = false;    ///< the 101 that accepts an upgrade is still to be sent
    bool reset_ = false;
    bool measures_ = false;       ///< measures the round trip, or has measured it
    bool last_is_known_ = false;  ///< the last GOAWAY was queued
};

}  // namespace coracle::http::detail
