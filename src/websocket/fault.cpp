#include <coracle/websocket/fault.hpp>

#include <string>

namespace coracle::websocket {
namespace {

const char* text_of(fault f) noexcept {
    switch (f) {
        case fault::none: return "no fault";
        case fault::reserved_bits: return "a frame has reserved bits";
        case fault::reserved_opcode: return "a frame has a reserved opcode";
        case fault::not_masked: return "a frame of the client is not masked";
        case fault::masked: return "a frame of the server is masked";
        case fault::control_too_long: return "a control frame has more than 125 bytes";
        case fault::control_fragmented: return "a control frame is fragmented";
        case fault::length_not_minimal: return "a payload length takes more bytes than it needs";
        case fault::length_too_large: return "a payload length is beyond 63 bits";
        case fault::unexpected_continuation: return "a continuation frame continues no message";
        case fault::missing_continuation: return "a message begins inside of another";
        case fault::bad_close: return "a close frame is malformed";
        case fault::invalid_utf8: return "a text is not UTF-8";
        case fault::bad_compression: return "a compressed message cannot be decompressed";
        case fault::message_too_big: return "a message is too big";
        case fault::too_many_fragments: return "a message has too many fragments";
        case fault::bad_handshake: return "the response to the handshake is not one of WebSocket";
        case fault::refused: return "the server refused the handshake";
        case fault::slow_reader: return "the peer reads too slowly";
    }
    return "unknown fault";
}

class category final : public std::error_category {
public:
    const char* name() const noexcept override { return "websocket"; }
    std::string message(int value) const override { return text_of(static_cast<fault>(value)); }
};

}  // namespace

const std::error_category& fault_category() noexcept {
    static const category one;
    return one;
}

close_code close_code_of(fault f) noexcept {
    switch (f) {
        case fault::invalid_utf8:
        case fault::bad_compression: return close_code::invalid_data;
        case fault::message_too_big: return close_code::message_too_big;
        case fault::too_many_fragments: return close_code::policy_violation;
        case fault::slow_reader: return close_code::try_again_later;
        default: return close_code::protocol_error;
    }
}

}  // namespace coracle::websocket
