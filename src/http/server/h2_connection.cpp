#include "http/server/h2_connection.hpp"

#include <algorithm>
#include <cerrno>
#include <new>

namespace coracle::http::detail {

using counters = server_counters;

namespace {

/// Bytes gathered for one write, and the most written in one turn of the loop.
constexpr std::size_t gathered_at_once = 256 * 1024;
constexpr std::size_t sent_in_a_turn = 1024 * 1024;
/// Size of the blocks to receive into, once a connection receives much.
constexpr std::size_t large_block = 64 * 1024;
/// The longest time for a client to acknowledge the PING after our first GOAWAY.
constexpr duration round_trip_limit = std::chrono::seconds(1);
/// Payloads of our PINGs: the one after the first GOAWAY, and the one that measures the round trip.
constexpr std::uint64_t farewell = 1;
constexpr std::uint64_t measure = 2;
/// The response that accepts an upgrade (RFC 7540 section 3.2).
constexpr std::string_view switching_protocols =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n";

loop_counters::member counter_of(h2::limit_kind kind) noexcept {
    switch (kind) {
        case h2::limit_kind::streams: return &counters::h2_streams_refused;
        case h2::limit_kind::head: return &counters::head_too_large;
        case h2::limit_kind::heads: return &counters::h2_streams_refused;
        case h2::limit_kind::continuations: return &counters::h2_continuations;
        case h2::limit_kind::resets: return &counters::h2_resets;
        case h2::limit_kind::pings: return &counters::h2_pings;
        case h2::limit_kind::settings: return &counters::h2_settings;
        case h2::limit_kind::idle_frames: return &counters::h2_idle_frames;
        case h2::limit_kind::empty_data: return &counters::h2_empty_data;
        case h2::limit_kind::small_data: return &counters::h2_small_data;
        case h2::limit_kind::queued_control: return &counters::h2_queued_control;
        case h2::limit_kind::interim_responses: break;  // for clients only
    }
    return &counters::malformed;
}

}  // namespace

h2_connection::h2_connection(shard& owner, std::unique_ptr<net::byte_stream>&& stream,
                             const tls::session_info* secured)
    : connection_info(stream->peer(), secured), receive_operation(&h2_connection::received),
      deadline(owner.owner()), shard_(&owner),
      session_(h2::role::server, *this, owner.options().limits.h2), writer_(*this),
      stream_(std::move(stream)), retires_(owner.end_of_life()) {
    owner.opened(*this);
    owner.count(&counters::h2_connections);
    owner.count(&counters::open_h2);
}

h2_connection::~h2_connection() {
    static_cast<server_connection&>(*this).unlink();
    shard_->counters().subtract(&counters::open_h2);
    shard_->closed(is_counted_ ? &peer() : nullptr);
}

void h2_connection::start(buffer received, const net::address* client,
                          const h2c_offer* offer) noexcept {
    try {
        if (client != nullptr) {
            is_counted_ = false;
            shard_->let_speak_for(*this, *client);
            is_counted_ = true;
        }
        if (offer != nullptr) accept(*offer);
        if (shard_->draining() && !session_.failure()) begin_to_close(true);
        into = std::move(received);
        if (into.empty())
            into.release();  // of an upgrade: nothing came behind its request
        else
            process();
        settle();
    } catch (const std::bad_alloc&) {
        fail_without_memory();
    }
    go_on_receiving();
}

// ---- receiving

void h2_connection::go_on_receiving() noexcept {
    loop& l = shard_->owner();
    while (!reading_ && phase_ != phase::dead) {
        capacity = comes_fast_ ? large_block : buffer::default_capacity;
        reading_ = true;
        if (!stream_->start(*this)) return;
        if (!l.may_complete_inline()) {
            l.complete_behind(*this);
            return;
        }
        reading_ = false;
        if (!take_received()) return;
    }
}

void h2_connection::received(io_operation& op) noexcept {
    auto& self = static_cast<h2_connection&>(static_cast<receive_operation&>(op));
    self.reading_ = false;
    self.shard_->owner().runs("connection");
    if (self.phase_ == phase::dead)
        self.schedule_flush();
    else if (self.take_received())
        self.go_on_receiving();
}

/// Processes received bytes. Returns false when no more should be received.
bool h2_connection::take_received() noexcept {
    if (into.empty()) {
        if (io_operation::result == -ENOMEM)
            fail_without_memory();
        else
            peer_has_left();
        return false;
    }
    comes_fast_ = into.size() >= buffer::default_capacity;
    if (phase_ == phase::linger) {
        into.release();
        linger();
        return true;
    }
    try {
        process();
        settle();
    } catch (const std::bad_alloc&) {
        fail_without_memory();
    }
    return phase_ != phase::dead;
}

void h2_connection::process() {
    {
        const in_session now(*this);
        session_.receive(into.view(), shard_->owner().now().time_since_epoch());
    }
    into.release();
    block_ = {};
}

void h2_connection::accept(const h2c_offer& offer) {
    switches_ = true;
    const in_session now(*this);
    session_.begin_upgraded(offer.settings, offer.request,
                            shard_->owner().now().time_since_epoch());
}

const h2::shared_block& h2_connection::block() {
    if (!block_) block_ = h2::shared_block(std::move(into));
    return block_;
}

/// The client has closed its side. Requests under way are lost: we cannot know if it would still
/// read the responses.
void h2_connection::peer_has_left() noexcept {
    const bool in_order = streams_.empty() && io_operation::result == 0;
    for_each_stream([](h2_stream& s) { s.lose_client(); });
    die(!in_order);
}

// ---- sending

void h2_connection::schedule_flush() noexcept {
    auto& turn = static_cast<coracle::detail::runnable&>(*this);
    if (!turn.linked()) shard_->owner().enqueue(turn);
}

/// Runs at the end of a turn of the loop: sends the bytes of the streams, or ends the connection.
void h2_connection::flush() noexcept {
    if (phase_ != phase::dead) {
        try {
            std::size_t sent = 0;
            while (!writing_ && session_.wants_to_write()) {
                if (sent >= sent_in_a_turn) {
                    shard_->owner().enqueue_for_next_turn(*this);
                    break;
                }
                const std::size_t n = gather_and_send();
                if (n == 0) break;
                sent += n;
            }
        } catch (const std::bad_alloc&) {
            fail_without_memory();
        }
    }
    // The session refers to no bytes any more, even where `gather` failed.
    if (phase_ == phase::dead && !writing_) all_written(0);
    settle();
    if (phase_ != phase::dead || reading_ || writing_ || !streams_.empty()) return;
    stream_->close(reset_);
    delete this;
}

/// Sends gathered bytes and returns how many were sent; 0 if the write is under way.
std::size_t h2_connection::gather_and_send() {
    views_.clear();
    slices_.clear();
    if (std::exchange(switches_, false)) views_.push_back(switching_protocols);
    session_.gather(gathered_at_once, views_);
    std::size_t size = 0;
    for (const std::string_view v : views_) {
        slices_.emplace_back(v);
        size += v.size();
    }
    writer_.slices = slices_;
    writer_.sent = 0;
    writing_ = true;
    writer_.pace.begin(shard_->owner().now());
    if (!stream_->start(writer_)) {
        writer_.arm_in(send_pace::between_looks(shard_->options().timeouts));
        return 0;
    }
    writing_ = false;
    return all_written(writer_.result) ? size : 0;
}

void h2_connection::written(io_operation& op) noexcept {
    h2_connection& self = *static_cast<writer&>(static_cast<send_operation&>(op)).home;
    self.writing_ = false;
    self.writer_.disarm();
    self.shard_->owner().runs("connection");
    self.all_written(op.result);
    self.flush();
}

/// Handles the result of a write. Returns false if it failed.
bool h2_connection::all_written(std::int64_t gone) noexcept {
    try {
        const in_session now(*this);
        session_.written();
    } catch (const std::bad_alloc&) {
        fail_without_memory();
    }
    if (phase_ == phase::dead) return false;
    if (gone >= 0) return true;
    if (gone == -ETIMEDOUT) shard_->count(&counters::write_timeouts);
    peer_has_left();
    return false;
}

void h2_connection::writer::expired() noexcept {
    const server_timeouts& t = home->shard_->options().timeouts;
    if (!pace.still_moves(home->shard_->owner().now(), sent)) {
        home->shard_->count(&counters::write_timeouts);
    } else if (pace.is_too_slow(t)) {
        home->shard_->count(&counters::write_too_slow);
    } else {
        arm_in(send_pace::between_looks(t));
        return;
    }
    home->die(true);
}

// ---- how it ends

void h2_connection::drain() noexcept {
    begin_to_close(true);
    settle();
}

/// `in_order`: sends a GOAWAY first, so that no request on its way is lost.
void h2_connection::begin_to_close(bool in_order) noexcept {
    if (phase_ != phase::open) return;
    phase_ = phase::closing;
    try {
        session_.shut_down(!in_order);
        if (in_order) session_.ping(farewell);
    } catch (const std::bad_alloc&) {
        fail_without_memory();
        return;
    }
    last_is_known_ = !in_order;
    if (in_order) arm_in(round_trip_limit);
}

void h2_connection::last_stream_is_known() noexcept {
    if (phase_ != phase::closing || std::exchange(last_is_known_, true)) return;
    disarm();
    try {
        session_.shut_down(true);
    } catch (const std::bad_alloc&) {
        fail_without_memory();
    }
}

/// Moves on to the next phase where the state requires it.
void h2_connection::settle() noexcept {
    if (in_session_) return;
    if (session_.failure() && phase_ < phase::linger) {
        phase_ = phase::closing;
        last_is_known_ = true;
        for_each_stream([](h2_stream& s) {
            s.lose_client();
            s.cut();
        });
    }
    reap();
    if (phase_ == phase::dead) return;
    if (session_.wants_to_write()) {
        if (!writing_) schedule_flush();
    } else if (phase_ == phase::closing && last_is_known_ && streams_.empty() && !writing_) {
        stream_->shutdown_output();
        phase_ = phase::linger;
        until_ = shard_->owner().now() + shard_->options().timeouts.linger;
        linger();
    }
    if (phase_ == phase::open && streams_.empty() && !armed()) await_request();
}

void h2_connection::await_request() noexcept {
    idle_since_ = shard_->owner().now();
    arm_in(shard_->options().timeouts.idle);
    session_.trim();
}

/// Drops received bytes for a while, so that the peer can read what we sent before the connection
/// is closed (RFC 9112 section 9.6 applies here too).
void h2_connection::linger() noexcept {
    arm(std::min(until_, shard_->owner().now() + shard_->options().timeouts.linger_silence));
}

void h2_connection::expired() noexcept {
    switch (phase_) {
        case phase::open:
            shard_->count(&counters::idle_timeouts);
            begin_to_close(false);
            break;
        case phase::closing: last_stream_is_known(); break;
        default: die(false); break;
    }
    settle();
}

std::optional<time_point> h2_connection::idle_since() const noexcept {
    if (phase_ == phase::open && streams_.empty()) return idle_since_;
    // A peer that has had the time to close and does not would hold its descriptor for long.
    constexpr duration time_to_close = std::chrono::milliseconds(10);
    const time_point began = until_ - shard_->options().timeouts.linger;
    if (phase_ == phase::linger && shard_->owner().now() - began > time_to_close) {
        return idle_since_;
    }
    return std::nullopt;
}

void h2_connection::make_room() noexcept {
    if (phase_ == phase::linger)
        die(false);
    else
        begin_to_close(false);
    settle();
}

void h2_connection::cut() noexcept {
    if (!streams_.empty()) shard_->count(&counters::cut_by_drain);
    die(true);
    for_each_stream([](h2_stream& s) { s.stop(); });
}

/// References to entries of the table make large heads of a few bytes, on each of many streams.
bool h2_connection::hold_head(std::uint32_t cost) noexcept {
    if (heads_ != 0 && heads_ + cost > shard_->options().limits.h2.heads) return false;
    heads_ += cost;
    return true;
}

void h2_connection::head_is_late() noexcept {
    try {
        session_.fail(h2::error_code::enhance_your_calm, "the head of a request took too long");
    } catch (const std::bad_alloc&) {
        fail_without_memory();
    }
    settle();
}

void h2_connection::fail_without_memory() noexcept {
    shard_->count(&counters::out_of_memory);
    die(true);
}

/// Ends receiving and sending. Operations under way complete later.
void h2_connection::die(bool reset) noexcept {
    if (phase_ == phase::dead) return;
    phase_ = phase::dead;
    reset_ = reset;
    disarm();
    writer_.disarm();
    for_each_stream([](h2_stream& s) { s.cut(); });
    if (reading_) stream_->cancel(*this);
    if (writing_) stream_->cancel(writer_);
    schedule_flush();
}

/// Destroys the streams that nothing refers to any more.
void h2_connection::reap() noexcept {
    const bool all = (phase_ == phase::dead || session_.failure()) && !writing_;
    h2_stream_link* next = nullptr;
    for (h2_stream_link* s = streams_.front(); s != nullptr; s = next) {
        next = streams_.next(*s);
        auto* const stream = static_cast<h2_stream*>(s);
        if (!stream->is_done() && (!all || stream->has_task())) continue;
        if (all) session_.release(*stream);
        delete stream;
    }
}

// ---- what the session reports

h2::stream* h2_connection::open() {
    // A reset ends the stream at once, but its handler only when it notices (CVE-2023-44487).
    const h2_limits& limits = shard_->options().limits.h2;
    if (handlers_ >= std::uint64_t{limits.streams} + limits.reset_handlers) {
        limit_reached(h2::limit_kind::streams);
        return nullptr;
    }
    // While closing, the deadline is that for the acknowledgement of our GOAWAY.
    if (phase_ == phase::open) disarm();
    ++requests_;
    auto* const s = new h2_stream(*this);
    streams_.push_back(*s);
    const bool retired =
        requests_ >= shard_->options().limits.requests || shard_->owner().now() >= retires_;
    if (retired && phase_ == phase::open) {
        shard_->count(&counters::retired);
        begin_to_close(true);
    }
    return s;
}

void h2_connection::head_received(h2::stream& s, const h2::head& message, bool end) {
    static_cast<h2_stream&>(s).head_received(message, end);
}

void h2_connection::head_too_large(h2::stream& s, h2::head_fault) {
    static_cast<h2_stream&>(s).head_too_large();
}

void h2_connection::data_received(h2::stream& s, std::string_view piece) {
    // Windows grow with the round trip, which matters for uploads only, so it is measured then.
    if (!std::exchange(measures_, true)) {
        measured_since_ = shard_->owner().now();
        session_.ping(measure);
    }
    static_cast<h2_stream&>(s).data_received(piece, block());
}

void h2_connection::end_received(h2::stream& s, const h2::head* trailers) {
    static_cast<h2_stream&>(s).end_received(trailers);
}

void h2_connection::sent(h2::stream& s) {
    static_cast<h2_stream&>(s).sent();
}

void h2_connection::closed(h2::stream& s) {
    static_cast<h2_stream&>(s).over(false);
}

void h2_connection::failed(h2::stream& s, h2::error_code why, bool by_peer) {
    if (!by_peer && why == h2::error_code::protocol_error) shard_->count(&counters::malformed);
    static_cast<h2_stream&>(s).lose_client();
    static_cast<h2_stream&>(s).over(true);
}

/// The client opens no more streams, and closes once it has its responses.
void h2_connection::goaway_received(std::uint32_t, h2::error_code, std::string_view) {}

void h2_connection::pong_received(std::uint64_t payload) {
    if (payload == farewell) last_stream_is_known();
    if (payload == measure) session_.set_round_trip(shard_->owner().now() - measured_since_);
}

void h2_connection::limit_reached(h2::limit_kind kind) {
    shard_->count(counter_of(kind));
}

}  // namespace coracle::http::detail
