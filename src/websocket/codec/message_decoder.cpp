#include "websocket/codec/message_decoder.hpp"

#include <algorithm>
#include <utility>

namespace coracle::websocket::detail {
namespace {

/// RFC 7692 section 7.2.2: what the sender has left out at the end of a message.
constexpr std::string_view tail("\x00\x00\xff\xff", 4);
/// The last of them also flushes the inflater.
constexpr auto whole_tail = static_cast<std::uint8_t>(tail.size() + 1);

}  // namespace

decoded message_decoder::fail(fault why) noexcept {
    fault_ = why;
    decoded d;
    d.what = decoded_event::failed;
    d.why = why;
    return d;
}

decoded message_decoder::next(std::span<char> in, std::span<char> room) {
    if (fault_ != fault::none) return fail(fault_);
    if (skips_ && ready_ != 0) return skip_piece(std::exchange(ready_, 0), false);
    if (ready_ != 0 || tail_left_ != 0 || holds_back_) return inflate_piece(in, room);
    const frame_step s = parser_.next(in);
    decoded d;
    switch (s.what) {
        case frame_event::need_more: return d;
        case frame_event::failed: return fail(s.why);
        case frame_event::header: return begin_frame(s.consumed);
        case frame_event::control:
            d.what = decoded_event::control;
            d.code = s.code;
            d.consumed = s.consumed;
            d.bytes = {s.payload.data(), s.payload.size()};
            return d;
        case frame_event::payload: break;
    }
    const bool last = s.ends_frame && parser_.frame().fin;
    if (skips_) return skip_piece(s.consumed, last);
    if (parser_.frame().compressed) {
        ready_ = s.payload.size();
        ends_ = last;
        if (last) tail_left_ = whole_tail;
        if (ready_ != 0 || last) return inflate_piece(in, room);
    }
    d.what = decoded_event::piece;
    d.consumed = s.consumed;
    d.bytes = {s.payload.data(), s.payload.size()};
    d.last = last;
    return checked(d);
}

decoded message_decoder::begin_frame(std::size_t consumed) {
    if (!parser_.is_continuation()) {
        fragments_ = 0;
        utf8_.reset();
        if (parser_.frame().compressed && inflater_ == nullptr && !skips_) {
            inflater_ = coding::take_raw_inflater();
        }
    }
    if (++fragments_ > most_fragments_) return fail(fault::too_many_fragments);
    decoded d;
    d.what = decoded_event::frame;
    d.consumed = consumed;
    return d;
}

void message_decoder::skip_messages() noexcept {
    skips_ = true;
    tail_left_ = 0;
    ends_ = holds_back_ = false;
    release_inflater();
}

decoded message_decoder::skip_piece(std::size_t bytes, bool last) noexcept {
    decoded d;
    d.what = decoded_event::piece;
    d.consumed = bytes;
    d.last = last;
    return d;
}

/// The ready bytes, then the tail, as far as they fit.
decoded message_decoder::inflate_piece(std::span<char> in, std::span<char> room) {
    decoded d;
    d.what = decoded_event::piece;
    coding::decode_result r = inflater_->decode({in.data(), ready_}, room);
    d.consumed = r.consumed;
    ready_ -= r.consumed;
    std::size_t produced = r.produced;
    while (r.error == coding::coding_error::none && ready_ == 0 && tail_left_ != 0 &&
           produced != room.size()) {
        const std::string_view rest =
            tail.substr(whole_tail - std::max<std::size_t>(tail_left_, 1));
        r = inflater_->decode(rest.substr(0, tail_left_ - 1U), room.subspan(produced));
        produced += r.produced;
        tail_left_ = static_cast<std::uint8_t>(tail_left_ - r.consumed);
        // Output space is left, so the inflater holds nothing back.
        if (tail_left_ == 1 && produced != room.size()) tail_left_ = 0;
        if (r.consumed == 0 && r.produced == 0) break;
    }
    if (r.error != coding::coding_error::none) return fail(fault::bad_compression);
    if (tail_left_ > 1 && ready_ == 0 && produced != room.size()) {
        return fail(fault::bad_compression);
    }
    d.bytes = {room.data(), produced};
    d.last = ends_ && ready_ == 0 && tail_left_ == 0;
    holds_back_ = !d.last && produced == room.size();
    return checked(d);
}

decoded message_decoder::checked(decoded d) noexcept {
    if (parser_.frame().code == frame_opcode::text) {
        if (!utf8_.take(d.bytes)) return fail(fault::invalid_utf8);
        if (d.last && !utf8_.complete()) return fail(fault::invalid_utf8);
    }
    if (d.last) end_message();
    return d;
}

void message_decoder::end_message() noexcept {
    ends_ = false;
    if (compression_ != compression::with_context) release_inflater();
}

void message_decoder::release_inflater() noexcept {
    if (inflater_ != nullptr) coding::give_back(std::move(inflater_));
}

}  // namespace coracle::websocket::detail
