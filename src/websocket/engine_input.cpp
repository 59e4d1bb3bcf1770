// The input: reading, messages, control frames.

#include "websocket/engine.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace coracle::websocket::detail {
namespace {

constexpr std::uint32_t most_receive_size = 64 * 1024;
constexpr std::size_t small_block = 4096;

}  // namespace

bool engine::has_result() const noexcept {
    return message_ready_ || piece_ready_ || phase_ == phase::ending || phase_ == phase::over;
}

bool engine::want(wanted what, coracle::detail::runnable& who) noexcept {
    assert(receiver_ == nullptr && "one task at a time receives");
    piece_lent_ = false;
    if (!piece_ready_) kept_.release();
    if (!message_ready_ && phase_ == phase::open) {
        wanted_ = what;
        piece_ = {};
        if (what == wanted::piece && !message_.empty()) {
            // Bytes collected by a cancelled `receive`.
            scratch_ = std::move(message_);
            piece_ = scratch_.view();
            piece_last_ = false;
            is_text_ = decoder_.type() == frame_opcode::text;
            piece_ready_ = true;
        } else {
            if (what == wanted::message) scratch_.release();
            pump();
        }
    }
    if (has_result()) return true;
    receiver_ = &who;
    read_.far = &who;
    return false;
}

bool engine::forget(coracle::detail::runnable& who) noexcept {
    if (receiver_ != &who) return false;
    receiver_ = nullptr;
    wanted_ = wanted::nothing;
    return true;
}

std::expected<std::optional<message>, error> engine::take_message() {
    wanted_ = wanted::nothing;
    if (message_ready_) {
        message_ready_ = false;
        const message_type type = is_text_ ? message_type::text : message_type::binary;
        return std::optional<message>(std::in_place, type, std::move(message_));
    }
    if (failure_.code()) return std::unexpected(failure_);
    return std::optional<message>();
}

std::expected<std::optional<piece>, error> engine::take_piece() {
    wanted_ = wanted::nothing;
    const message_type type = is_text_ ? message_type::text : message_type::binary;
    if (message_ready_) {
        // It was read for a `receive` that was cancelled.
        message_ready_ = false;
        piece_lent_ = true;
        scratch_ = std::move(message_);
        piece_ = scratch_.view();
        return piece{type, true, piece_};
    }
    if (piece_ready_) {
        piece_ready_ = false;
        piece_lent_ = true;
        return piece{type, piece_last_, piece_};
    }
    if (failure_.code()) return std::unexpected(failure_);
    return std::optional<piece>();
}

void engine::wake_receiver() noexcept {
    if (receiver_ == nullptr || !has_result()) return;
    home_->hand_over(*std::exchange(receiver_, nullptr));
}

// ---- reading

void engine::bytes_came(io_operation& op) {
    engine& self = *static_cast<read_operation&>(op).owner;
    self.reading_ = false;
    self.home_->runs("websocket");
    if (self.phase_ == phase::over) return self.maybe_over();
    if (self.phase_ == phase::ending) {
        self.take_read();
        if (self.phase_ == phase::ending) self.read_to_end();
        return;
    }
    self.take_read();
    self.pump();
    if (self.receiver_ == nullptr || !self.has_result()) return;
    // Must be the last step here: the task may end the connection.
    std::exchange(self.receiver_, nullptr)->run();
}

/// Parses received bytes, and reads on if more are needed.
void engine::pump() noexcept {
    if (stream_ == nullptr) return;  // it has not begun
    while (phase_ == phase::open || phase_ == phase::closing) {
        try {
            parse();
        } catch (const std::bad_alloc&) {
            return out_of_memory();
        }
        if (phase_ != phase::open && phase_ != phase::closing) break;
        // A message is ready; still waits for input, perhaps a ping or the close frame.
        const bool idle = message_ready_ && input_.empty() && !decoder_.at_payload();
        if (!hungry_ && !idle) break;
        if (hungry_) flush();
        if (reading_ || input_ended_ || phase_ == phase::ending || phase_ == phase::over) break;
        keep_partial();
        if (!start_read()) break;
        take_read();
    }
    if (phase_ != phase::open) wake_receiver();
}

void engine::parse() {
    hungry_ = false;
    while ((phase_ == phase::open && !message_ready_ && !piece_ready_) ||
           phase_ == phase::closing) {
        // No task waits for this message yet.
        if (phase_ == phase::open && wanted_ == wanted::nothing && decoder_.at_payload()) return;
        std::span<char> room;
        if (decoder_.needs_room()) room = room_for_inflating();
        char* const begin = input_ ? input_.spare() - input_.size() : nullptr;
        const decoded d = decoder_.next({begin, input_.size()}, room);
        if (is_most_of_the_block(d)) {
            take_block(d);
            continue;
        }
        input_.consume(d.consumed);
        if (d.what == decoded_event::need_more) {
            // A frame says how long it is: there is no need to wait for the first of its bytes.
            const bool announces = wanted_ == wanted::message && phase_ == phase::open &&
                                   decoder_.in_message() && !decoder_.needs_room();
            if (announces && message_.size() + decoder_.frame_left() > options().limits.message) {
                return fail(fault::message_too_big);
            }
            hungry_ = true;
            return;
        }
        take_decoded(d);
    }
}

std::span<char> engine::room_for_inflating() {
    if (wanted_ != wanted::message) {
        if (!scratch_) scratch_.obtain(buffer::default_capacity);
        scratch_.clear();
        return {scratch_.spare(), scratch_.spare_size()};
    }
    // One more than the limit shows that it is exceeded; without a limit that would be 0.
    const std::uint64_t left = options().limits.message - message_.size();
    const std::uint64_t allowed = std::max(left, left + 1);
    if (message_.spare_size() == 0)
        message_.reserve_spare(std::max<std::size_t>(1024, message_.size()));
    return {message_.spare(),
            static_cast<std::size_t>(std::min<std::uint64_t>(message_.spare_size(), allowed))};
}

void engine::take_decoded(const decoded& d) {
    switch (d.what) {
        case decoded_event::failed: fail(d.why); return;
        case decoded_event::control: take_control(d.code, d.bytes); return;
        case decoded_event::piece: break;
        default: return;
    }
    if (phase_ != phase::open) return;
    is_text_ = decoder_.type() == frame_opcode::text;
    if (wanted_ == wanted::message) {
        add_to_message(d);
    } else if (!d.bytes.empty() || d.last) {
        piece_ = d.bytes;
        piece_last_ = d.last;
        piece_ready_ = true;
    }
}

/// Returns true for a message of one piece that ends the received bytes and fills half of their
/// block: the block becomes the message, without a copy.
bool engine::is_most_of_the_block(const decoded& d) const noexcept {
    if (d.what != decoded_event::piece || !d.last || d.consumed != input_.size()) return false;
    if (wanted_ != wanted::message || phase_ != phase::open || message_) return false;
    return d.bytes.size() * 2 >= input_.capacity() && d.bytes.size() <= options().limits.message;
}

void engine::take_block(const decoded& d) noexcept {
    message_ = std::move(input_);
    message_.consume(message_.size() - d.bytes.size());
    is_text_ = decoder_.type() == frame_opcode::text;
    message_ready_ = true;
}

void engine::add_to_message(const decoded& d) {
    const std::uint64_t most = options().limits.message;
    const std::size_t n = d.bytes.size();
    // Without room there, what stands behind its block is another one's, such as the input's.
    const bool in_place = message_.spare_size() != 0 && d.bytes.data() == message_.spare();
    const std::uint64_t size = message_.size() + n;
    // A frame says how long it is: there is no need to wait for all of it.
    const std::uint64_t expected = in_place ? size : size + decoder_.frame_left();
    if (expected > most) return fail(fault::message_too_big);
    if (in_place) {
        message_.commit(n);
    } else if (n != 0) {
        if (!message_) {
            message_.obtain(n);
        } else if (message_.spare_size() < n) {
            message_.reserve_spare(n);
        }
        message_.append(d.bytes);
    }
    message_ready_ = d.last;
}

/// Does not keep a block for few or no bytes.
void engine::keep_partial() noexcept {
    if (input_.empty()) {
        input_.release();
        return;
    }
    if (input_.capacity() < small_block || input_.size() * 4 >= input_.capacity()) return;
    buffer small;
    if (!small.try_obtain(input_.size()) || !small.try_append(input_.view())) return;
    input_ = std::move(small);
}

/// Leaves the block of a piece alone until the task that holds it receives again: what comes is
/// received into another. Returns false without memory for what follows the piece in its block.
bool engine::keep_piece() noexcept {
    if ((!piece_ready_ && !piece_lent_) || kept_) return true;
    if (scratch_ && piece_.data() == scratch_.data()) {
        kept_ = std::move(scratch_);
        return true;
    }
    buffer rest;
    if (!input_.empty() && (!rest.try_obtain(input_.size()) || !rest.try_append(input_.view()))) {
        return false;
    }
    kept_ = std::exchange(input_, std::move(rest));
    return true;
}

/// Nothing more is parsed.
void engine::drop_input() noexcept {
    input_.clear();
    static_cast<void>(keep_piece());
    input_.release();
}

bool engine::start_read() noexcept {
    read_.capacity = receive_size_;
    reading_ = true;
    if (!stream_->start(read_)) return false;
    if (!home_->may_complete_inline()) {
        home_->complete_behind(read_);
        return false;
    }
    reading_ = false;
    return true;
}

void engine::take_read() noexcept {
    if (read_.result <= 0) {
        read_.into.release();
        return stream_ended(read_.result);
    }
    note_life();
    const std::size_t size = read_.into.size();
    if (phase_ == phase::ending) {
        read_.into.release();
        return;
    }
    adapt_receive_size(size);
    if (input_.empty()) {
        input_ = std::move(read_.into);
        return;
    }
    const bool kept = input_.try_append(read_.into.view());
    read_.into.release();
    if (!kept) out_of_memory();
}

/// The rest of a message, behind a block that it has filled, says nothing about the next one.
void engine::adapt_receive_size(std::size_t received) noexcept {
    constexpr std::uint8_t few = 16;
    if (received >= receive_size_ / 4) small_reads_ = 0;
    if (received >= receive_size_ && receive_size_ < most_receive_size) {
        receive_size_ *= 2;
    } else if (receive_size_ > buffer::default_capacity && received < receive_size_ / 4 &&
               ++small_reads_ == few) {
        receive_size_ /= 2;
        small_reads_ = 0;
    }
}

/// Drops received bytes, until the peer's end.
void engine::read_to_end() noexcept {
    while (phase_ == phase::ending && !reading_ && !input_ended_) {
        if (!start_read()) return;
        take_read();
    }
}

// ---- control frames

void engine::take_control(frame_opcode code, std::string_view payload) noexcept {
    switch (code) {
        case frame_opcode::ping:
            if (phase_ == phase::open || phase_ == phase::closing) pong(payload);
            break;
        case frame_opcode::pong: take_pong(payload); break;
        default: take_close(payload); break;
    }
}

/// RFC 6455 section 5.5.3: a pong to a ping counts for those before it too, and one to none is
/// nothing.
void engine::take_pong(std::string_view payload) noexcept {
    std::uint64_t sequence = 0;
    if (payload.size() != sizeof sequence) return;
    std::memcpy(&sequence, payload.data(), sizeof sequence);
    if (sequence > ping_sequence_) return;
    const time_point now = home_->now();
    if (sequence != 0 && sequence == automatic_ping_) {
        round_trip_ = now - pinged_at_;
        automatic_ping_ = 0;
    }
    while (!pings_.empty()) {
        auto* const first = static_cast<ping_wait*>(pings_.front());
        if (first->sequence_ > sequence) break;
        pings_.pop_front();
        first->waiting_ = false;
        first->took_ = round_trip_ = now - first->sent_;
        home_->hand_over(*first);
    }
}

}  // namespace coracle::websocket::detail
