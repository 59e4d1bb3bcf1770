#pragma once

#include "coding/raw_deflate.hpp"
#include "websocket/codec/frame_parser.hpp"
#include "websocket/codec/utf8.hpp"

#include <memory>
#include <span>
#include <string_view>

namespace coracle::websocket::detail {

/// The kinds of events of `message_decoder::next`.
enum class decoded_event : std::uint8_t {
    need_more,
    frame,    ///< the header of a data frame
    piece,    ///< bytes of the message, perhaps none
    control,  ///< a whole control frame
    failed,
};

struct decoded {
    decoded_event what = decoded_event::need_more;
    frame_opcode code = frame_opcode::continuation;  ///< of a control frame
    fault why = fault::none;
    bool last = false;         ///< the message ends with this piece
    std::size_t consumed = 0;  ///< bytes of the input
    /// Bytes in the input or in `room`; for a control frame, in the input.
    std::string_view bytes;
};

/// Decodes messages from received bytes: unmasks, inflates (RFC 7692) and checks UTF-8 as the bytes
/// arrive. Keeps no bytes but the inflater's window.
class message_decoder {
public:
    /// How the messages of the peer may be compressed.
    enum class compression : std::uint8_t {
        none,
        per_message,   ///< each by itself
        with_context,  ///< referring to those before it
    };

    explicit message_decoder(role self, compression c = compression::none,
                             std::uint32_t most_fragments = 1024) noexcept
        : parser_(self, c != compression::none), most_fragments_(most_fragments), compression_(c) {}
    message_decoder(message_decoder&&) noexcept = default;
    message_decoder& operator=(message_decoder&&) noexcept = default;
    ~message_decoder() { release_inflater(); }

    /// Returns the next event. Changes `in`; bytes that were not consumed must be passed again in
    /// the next call. Compressed bytes are inflated into `room`, which must not be empty if
    /// `needs_room`. Throws std::bad_alloc without memory for an inflater.
    decoded next(std::span<char> in, std::span<char> room);

    /// Passes over the bytes of messages from now on: `next` gives empty pieces. They are not
    /// inflated, which is work that a peer can make at will.
    void skip_messages() noexcept;

    /// Returns whether the message under way is compressed: only then `next` needs room.
    bool needs_room() const noexcept {
        return !skips_ && in_message() && parser_.frame().compressed;
    }
    /// Returns whether a message has begun and has not ended.
    bool in_message() const noexcept { return parser_.in_message() || tail_left_ != 0; }
    /// Returns whether the next piece is of a message whose header has come.
    bool at_payload() const noexcept {
        return parser_.in_payload() || ready_ != 0 || tail_left_ != 0 || holds_back_;
    }
    /// `text` or `binary`, of the message under way or the last one.
    frame_opcode type() const noexcept { return parser_.frame().code; }
    /// The bytes of the current frame that were not received yet, as sent.
    std::uint64_t frame_left() const noexcept { return parser_.payload_left() + ready_; }

private:
    decoded fail(fault why) noexcept;
    decoded begin_frame(std::size_t consumed);
    decoded skip_piece(std::size_t bytes, bool last) noexcept;
    decoded inflate_piece(std::span<char> in, std::span<char> room);
    decoded checked(decoded d) noexcept;
    void end_message() noexcept;
    void release_inflater() noexcept;

    frame_parser parser_;
    utf8_validator utf8_;
    std::unique_ptr<coding::raw_inflater> inflater_;
    std::size_t ready_ = 0;  ///< bytes at the front of the input that are unmasked already
    std::uint32_t fragments_ = 0;
    std::uint32_t most_fragments_;
    fault fault_ = fault::none;
    compression compression_;
    bool skips_ = false;
    bool holds_back_ = false;     ///< the inflater may hold bytes back for lack of output space
    bool ends_ = false;           ///< the bytes that are ready are the last of the message
    std::uint8_t tail_left_ = 0;  ///< bytes of the tail that were not inflated yet, and one more
};

}  // namespace coracle::websocket::detail
