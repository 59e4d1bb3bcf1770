#include "websocket/codec/frame_parser.hpp"

#include "websocket/codec/masking.hpp"

#include <algorithm>
#include <cstring>

namespace coracle::websocket::detail {
namespace {

unsigned byte_at(std::span<const char> in, std::size_t at) noexcept {
    return static_cast<unsigned char>(in[at]);
}

bool is_known(unsigned code) noexcept {
    return code <= 2 || (code >= 8 && code <= 10);
}

std::uint64_t read_big_endian(std::span<const char> in) noexcept {
    std::uint64_t value = 0;
    for (const char c : in) value = value << 8 | static_cast<unsigned char>(c);
    return value;
}

}  // namespace

frame_step frame_parser::fail(fault why) noexcept {
    fault_ = why;
    frame_step s;
    s.what = frame_event::failed;
    s.why = why;
    return s;
}

/// Finds a fault at the first byte that shows it, even if more bytes are missing.
frame_step frame_parser::next(std::span<char> in) noexcept {
    if (fault_ != fault::none) return fail(fault_);
    if (in_payload_) return take_payload(in);
    if (in.empty()) return {};
    const unsigned first = byte_at(in, 0);
    const unsigned code = first & 0x0f;
    if ((first & 0x30) != 0) return fail(fault::reserved_bits);
    if (!is_known(code)) return fail(fault::reserved_opcode);
    frame_header h;
    h.code = static_cast<frame_opcode>(code);
    h.fin = (first & 0x80) != 0;
    h.compressed = (first & 0x40) != 0;
    const bool control = is_control(h.code);
    // RFC 7692 section 6.1: RSV1 stands in the first frame of a message alone.
    if (h.compressed && (!compression_ || control || h.code == frame_opcode::continuation)) {
        return fail(fault::reserved_bits);
    }
    if (control && !h.fin) return fail(fault::control_fragmented);
    if (!control) {
        const bool continues = h.code == frame_opcode::continuation;
        if (continues && !in_message_) return fail(fault::unexpected_continuation);
        if (!continues && in_message_) return fail(fault::missing_continuation);
    }
    if (in.size() < 2) return {};
    const unsigned second = byte_at(in, 1);
    const bool masked = (second & 0x80) != 0;
    if (masked != (self_ == role::server)) {
        return fail(masked ? fault::masked : fault::not_masked);
    }
    const unsigned length = second & 0x7f;
    if (control && length > max_control_payload) return fail(fault::control_too_long);
    const std::size_t length_size = length < 126 ? 0 : length == 126 ? 2 : 8;
    std::size_t size = 2 + length_size;
    if (in.size() < size) return {};
    h.length = length_size == 0 ? length : read_big_endian(in.subspan(2, length_size));
    if (length_size == 8 && h.length >> 63 != 0) return fail(fault::length_too_large);
    if ((length_size == 2 && h.length < 126) || (length_size == 8 && h.length <= 0xffff)) {
        return fail(fault::length_not_minimal);
    }
    if (masked) {
        if (in.size() < size + sizeof(masking_key)) return {};
        h.mask.emplace();
        std::memcpy(&*h.mask, in.data() + size, sizeof(masking_key));
        size += sizeof(masking_key);
    }
    return control ? take_control(h, size, in) : begin_data(h, h.code, size);
}

frame_step frame_parser::begin_data(const frame_header& h, frame_opcode code,
                                    std::size_t size) noexcept {
    is_continuation_ = code == frame_opcode::continuation;
    const frame_header message = frame_;
    frame_ = h;
    if (is_continuation_) {
        frame_.code = message.code;
        frame_.compressed = message.compressed;
    }
    left_ = h.length;
    offset_ = 0;
    in_payload_ = true;
    in_message_ = true;
    frame_step s;
    s.what = frame_event::header;
    s.consumed = size;
    return s;
}

frame_step frame_parser::take_control(const frame_header& h, std::size_t size,
                                      std::span<char> in) noexcept {
    const auto length = static_cast<std::size_t>(h.length);
    if (in.size() < size + length) return {};
    frame_step s;
    s.what = frame_event::control;
    s.code = h.code;
    s.ends_frame = true;
    s.consumed = size + length;
    s.payload = in.subspan(size, length);
    if (h.mask) mask_in_place(s.payload.data(), length, *h.mask, 0);
    return s;
}

frame_step frame_parser::take_payload(std::span<char> in) noexcept {
    if (in.empty() && left_ != 0) return {};
    frame_step s;
    s.what = frame_event::payload;
    s.consumed = static_cast<std::size_t>(std::min<std::uint64_t>(in.size(), left_));
    s.payload = in.first(s.consumed);
    if (frame_.mask) mask_in_place(s.payload.data(), s.consumed, *frame_.mask, offset_);
    offset_ += s.consumed;
    left_ -= s.consumed;
    s.ends_frame = left_ == 0;
    if (s.ends_frame) {
        in_payload_ = false;
        if (frame_.fin) in_message_ = false;
    }
    return s;
}

}  // namespace coracle::websocket::detail
