#pragma once

#include "http/h2/events.hpp"
#include "http/h2/frame.hpp"
#include "http/h2/head_reader.hpp"
#include "http/h2/head_writer.hpp"
#include "http/h2/limits.hpp"
#include "http/h2/send_queue.hpp"
#include "http/h2/settings.hpp"
#include "http/h2/stream.hpp"
#include "http/h2/token_bucket.hpp"

#include <coracle/base/buffer.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace coracle::http::h2 {

/// The side of a connection that a session is. All code that differs between the sides checks it.
enum class role : std::uint8_t { client, server };

/// The protocol of one HTTP/2 connection (RFC 9113) without input and output: received bytes become
/// events, and messages become bytes to send. It has no socket and no clock.
///
/// Pass received bytes to `receive`, which calls the events. `gather` makes the bytes to send; call
/// `written` when they have been sent. Content is not copied in either direction, except small
/// pieces. A connection error queues a GOAWAY: then `failure` returns the reason, gathered bytes
/// must still be sent, and received bytes are ignored.
///
/// Not thread-safe.
class session {
public:
    /// `tunnels`: for servers: announces and accepts the extended CONNECT of RFC 8441.
    session(role side, session_events& events, const h2_limits& limits, bool tunnels = true);
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session();

    // Receiving.

    /// Processes all received bytes. `now` never goes back.
    void receive(std::string_view bytes, instant now);

    /// Begins with stream 1, whose request came over HTTP/1.1 and has no content (RFC 7540 section
    /// 3.2); for servers, before `receive`. `settings`: the payload of the client's SETTINGS. Calls
    /// the events of the request; where the settings are bad, the connection fails instead.
    void begin_upgraded(std::string_view settings, const head& request, instant now);

    /// Counts `n` bytes of content as consumed, so that the peer may send as many. Also for a
    /// closed stream, whose bytes still count for the connection's window.
    void consume(stream& s, std::uint64_t n, instant now);

    /// Returns the reason for which the connection has failed; nothing while it has not.
    [[nodiscard]] std::optional<error_code> failure() const noexcept { return failure_; }

    // Sending.

    /// Opens a stream and sends the head of a request; for clients. Returns false, and does
    /// nothing, if the peer accepts no more streams, either ever (`usable` is false) or now.
    [[nodiscard]] bool open(stream& s, std::span<const field> control,
                            std::span<const field> fields, bool end);

    /// Sends the head of a final or interim response, or trailers (without `control`, `end` set).
    void send_head(stream& s, std::span<const field> control, std::span<const field> fields,
                   bool end);

    /// Sends content. `pieces` and their bytes must live until `session_events::sent`; do not call
    /// this again before that. `end`: they end the message; then there may be none. Returns false,
    /// and keeps no reference to the pieces, if the stream is over or there is nothing to send.
    [[nodiscard]] bool send_data(stream& s, std::span<const std::string_view> pieces, bool end);

    /// Sends `size` bytes that `from` gives, which must live until `session_events::sent` or
    /// `withdraw`. As `send_data` otherwise.
    [[nodiscard]] bool send_from(stream& s, content_source& from, std::uint64_t size, bool end);
    /// To be called when the source of a stream, which had nothing, has more.
    void resume(stream& s) noexcept { enqueue(s); }
    /// Forgets the source of a stream, and what it has not given. `sent` follows if `s.sending()`
    /// is still true.
    void withdraw(stream& s) noexcept;

    /// Resets a stream: no event follows except `sent`, if `s.sending()` is still true. The stream
    /// is over even if this throws std::bad_alloc. Content that was not consumed counts as
    /// consumed.
    void reset(stream& s, error_code code);

    /// Refuses a request that was not processed (REFUSED_STREAM), for a limit; a server's.
    /// `session_events::failed` follows. Counts like a reset of the peer's.
    void refuse(stream& s, limit_kind kind);

    /// Removes a stream of a connection that has ended, without sending anything: no event follows,
    /// and the session keeps no reference to it. Not between `gather` and `written`.
    void release(stream& s) noexcept;

    /// Sets the priority of a stream; the peer may change it later.
    void prioritize(stream& s, priority value) noexcept { queue_.change(s, value); }

    void ping(std::uint64_t payload);

    /// Sends a GOAWAY. The first one names no last stream, so that no request under way is lost; a
    /// round trip later (`last`) the second one names the last stream that is served.
    void shut_down(bool last);

    /// Ends the connection with an error of our side. The next `gather` has the last bytes.
    void fail(error_code code, std::string_view why);

    [[nodiscard]] bool wants_to_write() noexcept;

    /// Makes up to about `limit` bytes to send and appends views of them to `out`, which are valid
    /// until `written`. Do not call this again before `written`.
    void gather(std::size_t limit, std::vector<std::string_view>& out);

    /// To be called when the gathered bytes have been sent.
    void written();

    // State.

    /// Returns the number of open streams of both sides.
    [[nodiscard]] std::size_t streams() const noexcept { return streams_.size(); }
    /// Returns true if the peer accepts another stream now; for clients. `usable`: if it ever will.
    [[nodiscard]] bool has_place() const noexcept;
    [[nodiscard]] bool usable() const noexcept {
        return !failure_ && !going_away_ && next_id_ <= max_stream_id;
    }
    [[nodiscard]] const peer_settings& peer() const noexcept { return peer_; }
    /// Returns the bytes that the connection's window lets us send now, and the peer.
    [[nodiscard]] std::int64_t send_window() const noexcept { return send_window_; }
    /// Returns the bytes that the peer takes on a stream now.
    [[nodiscard]] std::uint64_t peer_takes(const stream& s) const noexcept {
        return static_cast<std::uint64_t>(
            std::max<std::int64_t>(0, std::min(send_window_, s.send_window_)));
    }
    [[nodiscard]] std::int64_t receive_window_left() const noexcept { return window_.left(); }
    /// Returns true if each byte that was received and not given back to the peer is one that a
    /// stream still holds; also after the connection has failed. For tests and assertions.
    [[nodiscard]] bool windows_add_up() const noexcept;
    /// Sets the measured round trip, by which windows grow; call it from `pong_received`.
    void set_round_trip(instant value) noexcept { round_trip_ = value; }
    /// Frees memory that an idle connection does not need.
    void trim() noexcept;

private:
    enum class expects : std::uint8_t { preface, settings, frames };

    /// A part of the gathered bytes that is in a piece of content, or in a block of `blocks_`,
    /// instead of `batch_`.
    struct cut {
        std::uint32_t at;  ///< in `batch_`
        std::string_view bytes;
    };

    // receiving: session_receive.cpp
    bool receive_preface(std::string_view& bytes);
    bool receive_header(std::string_view& bytes);
    void begin_frame();
    void begin_data();
    void receive_data(std::string_view& bytes);
    void receive_content(std::string_view piece);
    void drop_content(stream* s, std::size_t n);
    void charge_small_frame(stream& s, std::uint32_t content);
    void end_data();
    void receive_payload(std::string_view& bytes);
    bool strip_padding(std::string_view& payload);
    void dispatch(std::string_view payload);

    // frames other than DATA: session_frames.cpp
    void on_headers(std::string_view payload);
    void on_continuation(std::string_view payload);
    void on_priority(std::string_view payload);
    void bad_priority(error_code code);
    void on_rst_stream(std::string_view payload);
    void on_settings(std::string_view payload);
    bool apply_settings(std::string_view payload);
    void settings_are_known();
    bool apply_setting(setting id, std::uint32_t value);
    bool change_initial_window(std::uint32_t value);
    void on_ping(std::string_view payload);
    [[nodiscard]] bool may_ping() noexcept;
    void on_goaway(std::string_view payload);
    void on_window_update(std::string_view payload);
    void on_priority_update(std::string_view payload);

    // heads: session_heads.cpp
    void begin_head();
    bool begin_new_stream(std::uint32_t id);
    bool begin_on_stream(stream& s);
    void read_fragment(std::string_view fragment);
    void end_head(std::string_view whole_block);
    void deliver(stream& s, const head& message);
    void deliver_excess(stream& s, head_fault limit);
    void deliver_head(stream& s, const head& message, bool has_no_content, bool end);
    void deliver_response(stream& s, const head& message, bool end);
    void finish_remote(stream& s, const head* trailers);

    // streams: session_streams.cpp
    [[nodiscard]] stream* find(std::uint32_t id) noexcept;
    [[nodiscard]] std::size_t place_of(std::uint32_t id) noexcept;
    [[nodiscard]] bool is_idle(std::uint32_t id) const noexcept;
    [[nodiscard]] bool is_ours(std::uint32_t id) const noexcept {
        return (id & 1) == (side_ == role::client ? 1U : 0U);
    }
    [[nodiscard]] bool was_reset_by_us(std::uint32_t id) const noexcept;
    void add(stream& s, std::uint32_t id);
    void forget(stream& s) noexcept;
    void close_if_done(stream& s);
    void stream_error(std::uint32_t id, stream* s, error_code code);
    void fail_stream(stream& s, error_code code, bool by_peer);
    void abandon(stream& s);
    void give_up_unread(stream& s);
    void take_late_data();
    void glitch();
    void cut_peer(limit_kind kind);
    void settle_charge(stream& s, std::uint64_t n) noexcept;
    [[nodiscard]] std::uint64_t undelivered() const noexcept;

    // sending: session_send.cpp
    void reserve_pending(std::size_t n);
    void reserve_for_block(std::size_t size);
    void release_batch() noexcept;
    void control_frame(frame_type type, std::uint8_t flags, std::uint32_t id,
                       std::string_view payload);
    void send_settings();
    void send_rst(std::uint32_t id, const stream* s, error_code code);
    void send_window_update(std::uint32_t id, std::uint32_t increment);
    void send_goaway(std::uint32_t last, error_code code, std::string_view why);
    void send_block(std::uint32_t id, std::span<const field> control, std::span<const field> fields,
                    bool end);
    void enqueue(stream& s) noexcept;
    void gather_data(std::size_t limit);
    void gather_pieces(stream& s, std::uint64_t most);
    void gather_from_source(stream& s, std::uint64_t most);
    void add_cut(std::string_view bytes);
    void write_data_header(stream& s, std::size_t size, char* to);
    void move_on(stream& s);
    void take_pieces(stream& s, std::size_t size);
    void note_in_batch(stream& s);
    void offer(stream& s, std::uint64_t size, bool end) noexcept;
    void abandon_content(stream& s) noexcept;
    void report_sent(stream& s);

    role side_;
    bool tunnels_;
    expects expects_;
    bool going_away_ = false;  ///< the peer has sent GOAWAY
    bool shut_down_ = false;
    bool end_stream_ = false;  ///< the head being received ends its message
    bool block_open_ = false;  ///< CONTINUATION must follow
    bool in_payload_ = false;
    bool settings_acknowledged_ = false;
    std::uint8_t header_size_ = 0;  ///< received bytes of the frame's header
    std::optional<error_code> failure_;
    session_events& events_;
    const h2_limits& limits_;

    // the frame that is being received
    std::array<char, frame_header::size> header_bytes_{};
    frame_header frame_;
    std::uint32_t payload_left_ = 0;
    std::uint32_t padding_left_ = 0;  ///< of a DATA frame
    bool padding_known_ = false;
    stream* data_stream_ = nullptr;  ///< null: the content is dropped
    buffer payload_;                 ///< payload of a frame that arrives in parts
    instant now_{0};

    // the head that is being received
    head_reader head_reader_;
    head head_;
    std::uint32_t block_stream_ = 0;
    stream* block_target_ = nullptr;  ///< null: the head is dropped
    std::uint32_t block_size_ = 0;
    std::uint32_t continuations_ = 0;
    head_kind block_kind_ = head_kind::request;

    // streams
    std::vector<stream*> streams_;  ///< sorted by number
    std::size_t last_place_ = 0;    ///< where a stream was found last
    std::uint32_t last_peer_id_ = 0;
    std::uint32_t last_served_ = max_stream_id;  ///< in the last GOAWAY that we sent
    std::uint32_t next_id_;                      ///< of streams that we open
    std::uint32_t peer_streams_ = 0;
    std::uint32_t our_streams_ = 0;
    std::array<std::uint32_t, 32> resets_{};  ///< the last streams that we reset
    std::uint32_t reset_count_ = 0;
    peer_settings peer_;
    instant round_trip_{0};

    // what the peer may still do
    receive_window window_;
    token_bucket reset_bucket_;
    token_bucket ping_bucket_;
    token_bucket settings_bucket_;
    token_bucket idle_bucket_;
    std::uint64_t unread_of_closed_ = 0;  ///< bytes that streams hold whose messages are complete
    std::uint32_t empty_data_ = 0;
    std::uint32_t small_data_ = 0;
    std::uint32_t pings_out_ = 0;  ///< of ours that were not acknowledged
    std::uint64_t window_updates_ = 0;
    std::int64_t late_data_ = 0;     ///< bytes that may still come on streams that we reset
    std::uint64_t late_resets_ = 0;  ///< by the peer, of streams that are over
    std::uint64_t data_frames_sent_ = 0;
    std::uint64_t moved_at_ping_ = 0;  ///< DATA sent and streams opened, at the last PING
    std::uint64_t streams_opened_ = 0;

    // sending
    head_writer head_writer_;
    send_queue queue_;
    std::int64_t send_window_ = default_window;
    buffer pending_;              ///< frames to be gathered
    buffer batch_;                ///< gathered bytes, without the cuts
    std::vector<buffer> blocks_;  ///< what sources have given to the batch, with its headers
    bool pending_has_secrets_ = false;
    bool batch_has_secrets_ = false;
    std::vector<cut> cuts_;
    std::vector<stream*> batched_;  ///< streams that have content in the batch
    std::size_t gathered_ = 0;
    std::uint32_t control_bytes_ = 0;  ///< bytes of control frames in `pending_`
    std::uint32_t ends_in_queue_ = 0;  ///< streams that are over and whose end is in `pending_`
    std::uint32_t gathers_ = 1;        ///< how often `pending_` was emptied, and one
};

}  // namespace coracle::http::h2
