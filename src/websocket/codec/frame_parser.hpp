#pragma once

#include "websocket/codec/frame.hpp"

#include <coracle/websocket/fault.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace coracle::websocket::detail {

/// The kinds of events.
enum class frame_event : std::uint8_t {
    need_more,  ///< the input ends within a frame
    header,     ///< a data frame begins: `frame_parser::frame`
    payload,    ///< a part of the payload of the data frame, unmasked; perhaps empty
    control,    ///< a whole control frame, unmasked
    failed,
};

struct frame_step {
    frame_event what = frame_event::need_more;
    frame_opcode code = frame_opcode::continuation;  ///< of a control frame
    fault why = fault::none;
    bool ends_frame = false;
    std::size_t consumed = 0;  ///< bytes of the input, of which `payload` is a part
    std::span<char> payload;   ///< in the input
};

/// Splits the received bytes of one side into frames (RFC 6455 section 5) and unmasks them in
/// place. Keeps no bytes: those that `next` has not consumed must be passed again, followed by
/// more. Checks the order of fragments, but not the content of messages.
class frame_parser {
public:
    /// `self`: the side that receives. `compression`: RSV1 has a meaning.
    explicit frame_parser(role self, bool compression = false) noexcept
        : self_(self), compression_(compression) {}

    /// Returns the next event, one for each call. After a fault always returns that fault.
    frame_step next(std::span<char> in) noexcept;

    /// The last data frame. `code` is that of the message, never `continuation`.
    const frame_header& frame() const noexcept { return frame_; }
    /// Returns whether its header continued a message.
    bool is_continuation() const noexcept { return is_continuation_; }
    /// The bytes of its payload that were not received yet.
    std::uint64_t payload_left() const noexcept { return left_; }
    bool in_payload() const noexcept { return in_payload_; }
    /// Returns whether a message has begun and has not ended.
    bool in_message() const noexcept { return in_message_; }

private:
    frame_step fail(fault why) noexcept;
    frame_step begin_data(const frame_header& h, frame_opcode code, std::size_t size) noexcept;
    frame_step take_control(const frame_header& h, std::size_t size, std::span<char> in) noexcept;
    frame_step take_payload(std::span<char> in) noexcept;

    frame_header frame_;
    std::uint64_t left_ = 0;
    std::uint64_t offset_ = 0;  ///< in the payload
    role self_;
    fault fault_ = fault::none;
    bool compression_;
    bool in_payload_ = false;
    bool in_message_ = false;
    bool is_continuation_ = false;
};

}  // namespace coracle::websocket::detail
