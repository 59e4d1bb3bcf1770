// The beginning and the end of a connection, and its timeouts.

#include "websocket/engine.hpp"

#include "websocket/codec/close_payload.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace coracle::websocket::detail {
namespace {

constexpr std::uint32_t first_receive_size = buffer::default_capacity;

message_decoder::compression of_peer(role self, const std::optional<deflate_agreement>& a) {
    using compression = message_decoder::compression;
    if (!a) return compression::none;
    const bool alone = self == role::server ? a->client_no_context : a->server_no_context;
    return alone ? compression::per_message : compression::with_context;
}

}  // namespace

engine::engine(loop& home, role self, std::shared_ptr<settings> s,
               const std::optional<deflate_agreement>& deflate, std::string subprotocol)
    : deadline(home), home_(&home), settings_(std::move(s)), role_(self),
      decoder_(self, of_peer(self, deflate), settings_->options.limits.fragments),
      receive_size_(first_receive_size), alive_at_(home.now()),
      subprotocol_(std::move(subprotocol)), deflate_(deflate), born_(home.now()) {
    if (deflate_) {
        const bool server = self == role::server;
        own_window_bits_ = server ? deflate_->server_window_bits : deflate_->client_window_bits;
        own_context_ = server ? !deflate_->server_no_context : !deflate_->client_no_context;
        if (own_window_bits_ < coding::raw_deflater::least_window_bits) own_window_bits_ = 0;
    }
    settings_->counts.add(&counters::connections);
    settings_->counts.add(&counters::open);
}

engine::~engine() {
    if (is_counted_) settings_->counts.subtract(&counters::open);
}

void engine::begin(net::byte_stream& s, buffer received) noexcept {
    stream_ = &s;
    peer_ = s.peer();
    input_ = std::move(received);
    look_at_clock();
    flush();
    pump();
}

void engine::leave_loop() noexcept {
    assert(phase_ == phase::over);
    disarm();
    static_cast<coracle::detail::wheel_entry&>(*this).unlink();
    static_cast<coracle::detail::runnable&>(*this).unlink();
    static_cast<http::drain_watch&>(*this).unlink();
    stream_ = nullptr;
}

// ---- the end

void engine::close(close_code c, std::string_view reason) noexcept {
    if (phase_ != phase::open) return;
    // A message that was sent in part is sent to its end.
    if (in_message_ && !streaming_ && !waiting_.empty()) {
        outgoing* const first = waiting_.front();
        if (!put_or_fail(*first, true)) return;
        waiting_.pop_front();
        first->done();
    }
    fail_outgoing();
    char payload[max_control_payload];
    const char* const end = write_close(payload, c, reason);
    status_.code = c;
    try {
        // As it was written: no longer than may be, and cut between characters.
        status_.reason.assign(std::min<const char*>(payload + sizeof(std::uint16_t), end), end);
    } catch (const std::bad_alloc&) {
        status_.reason.clear();
    }
    phase_ = phase::closing;
    open_.store(false, std::memory_order_relaxed);
    // No task receives what comes now.
    decoder_.skip_messages();
    if (!put_close({payload, static_cast<std::size_t>(end - payload)})) return;
    flush();
    if (phase_ != phase::closing) return;
    if (!keep_piece()) return out_of_memory();
    // Messages that no task has received precede the peer's close frame.
    pump();
}

void engine::take_close(std::string_view payload) noexcept {
    close_payload said;
    if (const fault f = read_close(payload, said); f != fault::none) return fail(f);
    status_.by_peer = phase_ == phase::open;
    status_.clean = true;
    status_.code = said.code;
    try {
        status_.reason.assign(said.reason);
    } catch (const std::bad_alloc&) {
        status_.reason.clear();
    }
    if (!close_sent_) {
        fail_outgoing();
        char echo[max_control_payload];
        const char* const end = write_close(echo, said.code, {});
        if (!put_close({echo, static_cast<std::size_t>(end - echo)})) return;
    }
    begin_ending();
}

void engine::count_fault(fault why) noexcept {
    switch (why) {
        case fault::message_too_big: counts().add(&counters::message_too_big); break;
        case fault::too_many_fragments: counts().add(&counters::too_many_fragments); break;
        case fault::invalid_utf8:
        case fault::bad_compression: counts().add(&counters::invalid_data); break;
        case fault::slow_reader: break;
        default: counts().add(&counters::protocol_errors); break;
    }
}

void engine::fail(fault why) noexcept {
    if (phase_ != phase::open && phase_ != phase::closing) return;
    count_fault(why);
    failure_ = error(make_error_code(why), "websocket", coracle::phase::receive);
    fail_outgoing();
    status_ = {};
    status_.code = close_code_of(why);
    if (!close_sent_) {
        char payload[max_control_payload];
        const char* const end = write_close(payload, status_.code, {});
        if (!put_close({payload, static_cast<std::size_t>(end - payload)})) return;
    }
    begin_ending();
}

/// Completes all waits, because no more messages will be received.
void engine::finish(error why) noexcept {
    open_.store(false, std::memory_order_relaxed);
    // Those who keep a sender keep this object.
    if (std::exchange(is_counted_, false)) settings_->counts.subtract(&counters::open);
    if (!failure_.code()) failure_ = std::move(why);
    fail_outgoing();
    backlog_.reset();
    while (coracle::detail::runnable* const r = pings_.pop_front()) {
        auto* const waiting = static_cast<ping_wait*>(r);
        waiting->waiting_ = false;
        waiting->failed_ = true;
        home_->hand_over(*r);
    }
    end_deflate();
    deflater_.reset();
    decoder_.skip_messages();
    if (!message_ready_) message_.release();
    scratch_.release();
    if (handler_due_ == time_point::max()) {
        handler_due_ = coracle::detail::later(home_->now(), options().timeouts.handler);
        wake_at(handler_due_);
    }
    finished_.set();
    wake_receiver();
}

/// Both close frames were sent, or ours is the last one: only the end of the stream remains.
void engine::begin_ending() noexcept {
    phase_ = phase::ending;
    drop_input();
    finish({});
    flush();
    if (phase_ == phase::ending) read_to_end();
}

/// Gives the peer its time once it has been sent the close frame: before that `timeouts::write`
/// counts. Behind it there are pongs at most, of which the peer could have one after the other.
void engine::note_close_sent() noexcept {
    const bool is_closing = phase_ == phase::closing || phase_ == phase::ending;
    if (!is_closing || until_close_ != 0 || close_due_ != time_point::max()) return;
    close_due_ = coracle::detail::later(home_->now(), options().timeouts.close);
    wake_at(close_due_);
}

/// RFC 6455 section 7.1.1: the server ends the stream first, and what the client still sends is
/// dropped, so that a reset does not take the close frame away from it.
void engine::shut_down() noexcept {
    if (output_ended_ || writing_ || !output_.empty()) return;
    if (role_ == role::client && !input_ended_) return;
    output_ended_ = true;
    stream_->shutdown_output();
    if (!input_ended_) return;
    phase_ = phase::over;
    maybe_over();
}

void engine::stream_ended(std::int64_t result) noexcept {
    input_ended_ = true;
    if (phase_ == phase::ending) {
        if (result != 0) return abort({});
        if (output_ended_) {
            phase_ = phase::over;
            maybe_over();
        } else {
            shut_down();
        }
        return;
    }
    if (phase_ == phase::over) return;
    lose(result == 0 ? error(errc::end_of_stream, "websocket", coracle::phase::receive)
                     : error(stream_->code_of(result), "websocket", coracle::phase::receive));
}

void engine::lose(error why) noexcept {
    counts().add(&counters::lost);
    status_ = {};
    abort(std::move(why));
}

void engine::out_of_memory() noexcept {
    abort(error(std::errc::not_enough_memory, "websocket"));
}

void engine::abort(error why) noexcept {
    if (phase_ == phase::over) return;
    const bool was_ending = phase_ == phase::ending;
    phase_ = phase::over;
    is_cut_off_ = !close_sent_ || until_close_ != 0;
    drop_input();
    if (!was_ending) finish(std::move(why));
    if (!writing_) output_.clear();
    if (reading_) stream_->cancel(read_);
    if (writing_) stream_->cancel(*write_);
    maybe_over();
}

void engine::maybe_over() noexcept {
    if (is_over() && over_ != nullptr) home_->enqueue(*std::exchange(over_, nullptr));
}

void engine::drain_begins() noexcept {
    if (phase_ != phase::open) return;
    counts().add(&counters::drained);
    close(close_code::going_away, {});
}

// ---- the clock

/// The peer has sent bytes, or taken some that had to wait: a ping may be behind more of them.
void engine::note_life() noexcept {
    alive_at_ = home_->now();
    pinged_ = false;
}

void engine::wake_at(time_point t) noexcept {
    if (t < due()) arm(t);
}

/// Returns true when the connection was given up.
bool engine::gives_up_writing(time_point now, time_point& next) noexcept {
    if (!writing_) return false;
    if (write_->sent != write_->progress) {
        write_->progress = write_->sent;
        write_->looked = now;
        note_life();
    }
    const time_point until = coracle::detail::later(write_->looked, options().timeouts.write);
    if (now >= until) {
        counts().add(&counters::write_timeouts);
        abort(error(std::errc::timed_out, "websocket", coracle::phase::send));
        return true;
    }
    next = std::min(next, until);
    return false;
}

/// Ends the connection to a silent peer. While no task takes its messages nothing can be received,
/// but the peer is pinged all the same: sending to one that is gone fails.
void engine::check_peer(time_point now, time_point& next) noexcept {
    const websocket::timeouts& t = options().timeouts;
    if (t.lifetime > duration::zero()) {
        const time_point end = coracle::detail::later(born_, t.lifetime);
        if (now >= end) {
            counts().add(&counters::lifetimes);
            return close(close_code::going_away, {});
        }
        next = std::min(next, end);
    }
    if (!reading_) note_life();
    const time_point given_up = coracle::detail::later(alive_at_, t.idle);
    if (now >= given_up) {
        counts().add(&counters::idle_timeouts);
        return abort(error(std::errc::timed_out, "websocket", coracle::phase::receive));
    }
    next = std::min(next, given_up);
    if (t.ping <= duration::zero() || pinged_) return;
    const time_point since = reading_ ? alive_at_ : std::max(pinged_at_, born_);
    const time_point ask = coracle::detail::later(since, t.ping);
    if (now < ask) {
        next = std::min(next, ask);
        return;
    }
    pinged_ = true;
    pinged_at_ = now;
    if (!reading_) next = std::min(next, coracle::detail::later(now, t.ping));
    automatic_ping_ = ++ping_sequence_;
    char payload[sizeof automatic_ping_];
    std::memcpy(payload, &automatic_ping_, sizeof payload);
    if (put_control(frame_opcode::ping, {payload, sizeof payload})) flush();
}

/// Aborts a connection that does not close in time.
void engine::check_end(time_point now, time_point& next) noexcept {
    if (now < close_due_) {
        next = std::min(next, close_due_);
        return;
    }
    if (phase_ == phase::closing) counts().add(&counters::close_timeouts);
    abort(error(std::errc::timed_out, "websocket", coracle::phase::close));
}

void engine::check_handler(time_point now) noexcept {
    if (now < handler_due_) return;
    handler_due_ = time_point::max() - duration(1);  // once
    if (handler_ == nullptr) return;
    counts().add(&counters::handler_timeouts);
    handler_->cancel();
}

void engine::look_at_clock() noexcept {
    const time_point now = home_->now();
    time_point next = time_point::max();
    check_handler(now);
    if (phase_ != phase::over && !gives_up_writing(now, next)) {
        if (phase_ == phase::open) check_peer(now, next);
        if (phase_ == phase::closing || phase_ == phase::ending) check_end(now, next);
    }
    if (handler_ != nullptr) next = std::min(next, handler_due_);
    if (next != time_point::max()) wake_at(next);
}

void engine::expired() noexcept {
    home_->runs("websocket");
    look_at_clock();
}

bool engine::reserve_handed_over(std::size_t bytes) noexcept {
    std::size_t held = handed_over_.load(std::memory_order_relaxed);
    do {
        if (held != 0 && held + bytes > options().limits.handed_over) return false;
    } while (!handed_over_.compare_exchange_weak(held, held + bytes, std::memory_order_relaxed));
    return true;
}

}  // namespace coracle::websocket::detail
