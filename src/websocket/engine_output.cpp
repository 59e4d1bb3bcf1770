// The output: messages in their order, control frames between them.

#include "websocket/codec/masking.hpp"
#include "websocket/codec/utf8.hpp"
#include "websocket/engine.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

namespace coracle::websocket::detail {
namespace {

/// Frames up to this size are sent from the stack when nothing is before them.
constexpr std::size_t sent_at_once = 2048;
/// The most output that is held back until all received bytes have been processed.
constexpr std::size_t most_corked = 16 * 1024;
/// A large message is sent in about this many frames, so that pings can be sent between them.
constexpr std::size_t fragments_of_large = 64;
constexpr std::size_t least_fragment = 64 * 1024;
/// The most pongs that wait to be sent; beyond that only the last one is kept.
constexpr unsigned most_unsent_pongs = 32;

/// The end of each flush, which is left out (RFC 7692 section 7.2.1).
constexpr std::string_view deflate_tail("\x00\x00\xff\xff", 4);
/// The payload of a compressed message without content (RFC 7692 section 7.2.3.6).
constexpr std::string_view empty_block("\x00", 1);

}  // namespace

// ---- messages

bool engine::submit(outgoing& what) noexcept {
    if (phase_ != phase::open) {
        what.failed = true;
        return true;
    }
    const bool own_stream =
        what.what == outgoing::kind::fragment || what.what == outgoing::kind::ending;
    const bool must_wait = own_stream ? false : streaming_ || !waiting_.empty();
    while (!must_wait && has_room()) {
        const bool done = put_or_fail(what, false);
        flush_soon();
        if (done || phase_ != phase::open) {
            if (!done) what.failed = true;
            // Other messages have waited for the end of this one.
            if (what.what == outgoing::kind::ending) go_on_sending();
            return true;
        }
    }
    if (own_stream) {
        assert(fragment_ == nullptr && "one piece of a message is written at a time");
        fragment_ = &what;
    } else {
        waiting_.push_back(what);
    }
    return false;
}

void engine::withdraw(outgoing& what) noexcept {
    if (fragment_ == &what) {
        // Without one of its pieces it would be another message.
        fragment_ = nullptr;
        abandon_stream();
        return;
    }
    // First, as failing would complete those that wait.
    static_cast<list_hook&>(what).unlink();
    if (what.begun) put_or_fail(what, true);
    go_on_sending();
}

void engine::go_on_sending() noexcept {
    room_came();
    flush();
}

bool engine::try_send(message_type type, std::string_view bytes, compress c) noexcept {
    assert(type != message_type::text || is_utf8(bytes));
    if (phase_ != phase::open || streaming_ || !waiting_.empty()) return false;
    if (!has_room()) return false;
    struct whole final : outgoing {
        using outgoing::outgoing;
        void done() noexcept override {}
    };
    whole one(outgoing::kind::message, type, c, bytes);
    if (!put_or_fail(one, true)) return false;
    flush_soon();
    return true;
}

void engine::abandon_stream() noexcept {
    if (!streaming_) return;
    streaming_ = false;
    in_message_ = mid_message_ = false;
    end_deflate();
    close(close_code::internal_error, "a message was not finished");
}

bool engine::put_or_fail(outgoing& what, bool all) noexcept {
    try {
        return put(what, all);
    } catch (const std::bad_alloc&) {
        out_of_memory();
        return false;
    }
}

/// Moves as much of it as fits into the output. Returns true if that was all.
bool engine::put(outgoing& what, bool all) {
    if (what.what == outgoing::kind::opening) {
        streaming_ = true;
        ++streams_begun_;
        return true;
    }
    const std::size_t most = std::max(least_fragment, what.payload.size() / fragments_of_large);
    for (;;) {
        const std::string_view bytes = what.payload.substr(0, most);
        const bool whole = bytes.size() == what.payload.size();
        put_fragment(what, bytes, whole && what.what != outgoing::kind::fragment);
        what.begun = true;
        what.payload.remove_prefix(bytes.size());
        if (whole) return true;
        if (!all && !has_room()) return false;
    }
}

void engine::put_fragment(outgoing& what, std::string_view bytes, bool last) {
    if (!in_message_) {
        is_compressing_ = compresses(what);
        if (is_compressing_) begin_deflate();
        in_message_ = true;
    }
    frame_header h;
    h.fin = last;
    if (mid_message_) {
        h.code = frame_opcode::continuation;
    } else {
        h.code = what.type == message_type::text ? frame_opcode::text : frame_opcode::binary;
        h.compressed = is_compressing_;
    }
    const bool written = what.what == outgoing::kind::fragment;
    if (is_compressing_)
        put_compressed(h, bytes, last || written);
    else if (what.given == nullptr || !last || mid_message_ || !put_given(h, *what.given))
        put_frame(h, bytes);
    // The compressor may have given nothing yet: then the next frame is the first one.
    if (last)
        mid_message_ = false;
    else if (!is_compressing_)
        mid_message_ = true;
    if (!last) return;
    in_message_ = false;
    end_deflate();
    streaming_ = streaming_ && what.what != outgoing::kind::ending;
    unsent_pongs_ = writing_ ? unsent_pongs_ : 0;
}

bool engine::compresses(const outgoing& what) const noexcept {
    if (own_window_bits_ == 0 || what.compression == compress::never) return false;
    return what.what != outgoing::kind::message ||
           what.payload.size() >= options().compression.least;
}

void engine::begin_deflate() {
    if (deflater_ == nullptr) {
        deflater_ = coding::take_raw_deflater(own_window_bits_, options().compression.level);
    } else if (deflate_used_) {
        deflater_->reset();
    }
    deflate_used_ = false;
}

void engine::end_deflate() noexcept {
    is_compressing_ = false;
    if (deflater_ != nullptr && !own_context_) coding::give_back(std::move(deflater_));
}

/// No frame is sent while the compressor returns no bytes: it may hold more than a fragment.
void engine::put_compressed(frame_header h, std::string_view bytes, bool flushes) {
    using coding::encode_action;
    buffer out(std::max<std::size_t>(256, bytes.size() / 2));
    const encode_action action = flushes ? encode_action::flush : encode_action::process;
    for (coding::encode_result r; !r.done;) {
        out.reserve_spare(coding::encoder::least_room);
        r = deflater_->encode(bytes, {out.spare(), out.spare_size()}, action);
        out.commit(r.produced);
        bytes.remove_prefix(r.consumed);
    }
    std::string_view all = out.view();
    if (h.fin && all.ends_with(deflate_tail)) all.remove_suffix(deflate_tail.size());
    if (h.fin && all.empty()) all = empty_block;
    if (all.empty()) return;
    put_frame(h, all);
    mid_message_ = true;
}

void engine::put_frame(frame_header h, std::string_view payload) {
    h.length = payload.size();
    if (role_ == role::client) h.mask = static_cast<masking_key>(home_->random());
    if (output_.empty() && !writing_ && stream_ != nullptr && !is_corked() &&
        payload.size() <= sent_at_once && send_at_once(h, payload)) {
        return;
    }
    output_.append(h, payload);
}

/// Moves the bytes of a message into the output. Returns false where they should be copied: a few,
/// those that a client masks, and where much memory would be held for few bytes.
bool engine::put_given(frame_header h, message& from) {
    if (role_ == role::client || from.size() <= sent_at_once) return false;
    buffer bytes = from.take();
    h.length = bytes.size();
    const bool header_fits_before = bytes.front_size() >= header_size(h);
    const bool is_large = header_fits_before || bytes.size() >= buffer::default_capacity;
    if (!is_large || bytes.size() * 2 < bytes.capacity()) {
        from = message(from.type(), std::move(bytes));
        return false;
    }
    output_.append(h, std::move(bytes));
    return true;
}

/// Returns false where nothing was sent, and the frame is to be queued.
bool engine::send_at_once(const frame_header& h, std::string_view payload) {
    char frame[max_header + sent_at_once];
    char* const begin = write_header(frame, h);
    if (h.mask)
        mask_copy(begin, payload.data(), payload.size(), *h.mask, 0);
    else if (!payload.empty())
        std::memcpy(begin, payload.data(), payload.size());
    const std::string_view all(frame, static_cast<std::size_t>(begin - frame) + payload.size());
    const std::int64_t n = stream_->try_send(all);
    if (n <= 0) return false;  // the operation reports the error
    if (static_cast<std::size_t>(n) != all.size()) {
        output_.append(all.substr(static_cast<std::size_t>(n)));
    }
    return true;
}

// ---- what is shared

bool engine::may_share() const noexcept {
    return phase_ == phase::open && !streaming_ && !mid_message_ && waiting_.empty() && has_room();
}

void engine::put_shared(const std::shared_ptr<const shared_frame>& frame) {
    if (role_ == role::client) {
        frame_header h;
        h.code = frame->type == message_type::text ? frame_opcode::text : frame_opcode::binary;
        return put_frame(h, frame->payload());
    }
    const bool deflated =
        !frame->compressed.empty() && own_window_bits_ == coding::raw_deflater::most_window_bits;
    const std::string_view bytes = deflated ? frame->compressed : frame->bytes;
    if (deflated) deflate_used_ = true;
    std::size_t sent = 0;
    if (output_.empty() && !writing_ && stream_ != nullptr) {
        const std::int64_t n = stream_->try_send(bytes);
        if (n > 0) sent = static_cast<std::size_t>(n);
    }
    if (sent != bytes.size()) output_.append(frame, bytes.substr(sent));
}

bool engine::share_within(const std::shared_ptr<const shared_frame>& frame, std::size_t bound,
                          slow_reader policy, bool retained) noexcept {
    if (phase_ != phase::open) return false;
    try {
        if (backlog_ == nullptr && may_share()) {
            put_shared(frame);
            flush();
            return true;
        }
        const std::size_t waiting = backlog_ == nullptr ? 0 : backlog_->frames.size();
        const bool full = waiting >= bound;
        if (full) counts().add(&counters::slow_readers);
        if (full && policy == slow_reader::disconnect) {
            fail(fault::slow_reader);
            return false;
        }
        if (full && (policy == slow_reader::drop_newest || waiting == 0)) return false;
        if (backlog_ == nullptr) backlog_ = std::make_unique<shared_backlog>();
        if (full) backlog_->drop_first();
        backlog_->frames.push_back(frame);
        if (retained) ++backlog_->retained;
        return !full;
    } catch (const std::bad_alloc&) {
        out_of_memory();
        return false;
    }
}

/// Fails all messages that wait to be sent.
void engine::fail_outgoing() noexcept {
    in_message_ = mid_message_ = false;
    if (fragment_ != nullptr) {
        fragment_->failed = true;
        std::exchange(fragment_, nullptr)->done();
    }
    streaming_ = false;
    while (outgoing* const o = waiting_.pop_front()) {
        o->failed = true;
        o->done();
    }
}

// ---- control frames

/// Returns false if that has ended the connection.
bool engine::put_control(frame_opcode code, std::string_view payload) noexcept {
    frame_header h;
    h.code = code;
    try {
        put_frame(h, payload);
    } catch (const std::bad_alloc&) {
        out_of_memory();
        return false;
    }
    return true;
}

/// Returns false if that has ended the connection.
bool engine::put_close(std::string_view payload) noexcept {
    close_sent_ = true;
    if (!put_control(frame_opcode::close, payload)) return false;
    until_close_ = output_.size();
    return true;
}

void engine::pong(std::string_view payload) noexcept {
    if (!writing_) {
        unsent_pongs_ = 0;
    } else if (++unsent_pongs_ > most_unsent_pongs) {
        counts().add(&counters::pongs_merged);
        try {
            if (pong_ == nullptr) pong_ = std::make_unique<std::string>();
            pong_->assign(payload);
        } catch (const std::bad_alloc&) {
            out_of_memory();
        }
        return;
    }
    if (put_control(frame_opcode::pong, payload)) flush_soon();
}

void engine::ping(ping_wait& who) noexcept {
    who.sequence_ = ++ping_sequence_;
    who.sent_ = home_->now();
    who.waiting_ = true;
    pings_.push_back(who);
    char payload[sizeof who.sequence_];
    std::memcpy(payload, &who.sequence_, sizeof payload);
    if (put_control(frame_opcode::ping, {payload, sizeof payload})) flush_soon();
}

// ---- writing

/// Small frames in reply to what was received together leave together: when all of it has been
/// looked at, or in this turn of the loop at the latest.
void engine::flush_soon() noexcept {
    if (output_.empty() || writing_) return;
    if (!is_corked() || output_.size() >= most_corked) return flush();
    coracle::detail::runnable& self = *this;
    if (!self.linked()) home_->enqueue(self);
}

void engine::run() noexcept {
    home_->runs("websocket");
    if (phase_ != phase::over) flush();
}

void engine::flush() noexcept {
    if (stream_ == nullptr) return;
    while (!writing_ && !output_.empty() && phase_ != phase::over) {
        if (!write_some()) return;
    }
    if (!writing_) write_.reset();
    note_close_sent();
    if (phase_ == phase::ending) shut_down();
}

/// Returns false if the rest has to wait, or the connection has ended.
bool engine::write_some() noexcept {
    slice first[2];
    const std::span<slice> lent = output_.lend(first);
    if (lent.size() == 1) {
        const std::int64_t n = stream_->try_send({lent[0].data, lent[0].size});
        if (n > 0) {
            take_written(n);
            return true;
        }
    }
    try {
        if (!start_write()) return false;
    } catch (const std::bad_alloc&) {
        out_of_memory();
        return false;
    }
    finish_write();
    return true;
}

/// Returns true if it has completed.
bool engine::start_write() {
    if (write_ == nullptr) write_ = std::make_unique<waiting_write>(*this);
    write_->sent = 0;
    write_->slices = output_.lend(write_->lent);
    writing_ = true;
    if (stream_->start(*write_)) {
        if (home_->may_complete_inline()) {
            writing_ = false;
            return true;
        }
        home_->complete_behind(*write_);
        return false;
    }
    write_->looked = home_->now();
    write_->progress = write_->sent;
    wake_at(coracle::detail::later(write_->looked, options().timeouts.write));
    return false;
}

void engine::bytes_went(io_operation& op) {
    engine& self = *static_cast<waiting_write&>(op).owner;
    self.writing_ = false;
    self.home_->runs("websocket");
    if (self.phase_ == phase::over) {
        self.output_.clear();
        return self.maybe_over();
    }
    if (self.write_->result >= 0) self.note_life();
    self.finish_write();
    self.flush();
}

void engine::finish_write() noexcept {
    if (write_->result >= 0) return take_written(write_->sent);
    output_.consume(static_cast<std::size_t>(write_->sent));
    if (phase_ == phase::ending) return abort({});
    lose(error(stream_->code_of(write_->result), "websocket", coracle::phase::send));
}

void engine::take_written(std::int64_t sent) noexcept {
    const auto bytes = static_cast<std::size_t>(sent);
    output_.consume(bytes);
    until_close_ -= std::min(until_close_, bytes);
    room_came();
}

void engine::room_came() noexcept {
    unsent_pongs_ = 0;
    if (pong_ != nullptr && (phase_ == phase::open || phase_ == phase::closing)) {
        const std::unique_ptr<std::string> last = std::move(pong_);
        if (!put_control(frame_opcode::pong, *last)) return;
    }
    // One in turn of those that tasks send and those that are shared.
    for (bool more = true; more && phase_ == phase::open && has_room();) {
        const bool shares = backlog_ != nullptr && !streaming_ && !mid_message_ &&
                            (backlog_turn_ || waiting_.empty());
        more = shares ? share_next() : send_next();
    }
}

/// Returns false if no task has anything to send, or the rest of it has to wait.
bool engine::send_next() noexcept {
    const bool of_stream = streaming_;
    outgoing* const next = of_stream ? fragment_ : waiting_.front();
    if (next == nullptr || !put_or_fail(*next, false)) return false;
    if (of_stream)
        fragment_ = nullptr;
    else
        waiting_.pop_front();
    backlog_turn_ = true;
    next->done();
    return true;
}

/// Sends the first message of the backlog. Returns false if the connection has ended.
bool engine::share_next() noexcept {
    backlog_turn_ = false;
    try {
        put_shared(backlog_->frames.front());
    } catch (const std::bad_alloc&) {
        out_of_memory();
        return false;
    }
    backlog_->drop_first();
    if (backlog_->frames.empty()) backlog_.reset();
    return true;
}

}  // namespace coracle::websocket::detail
