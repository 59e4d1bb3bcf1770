#pragma once

#include "websocket/codec/frame.hpp"
#include "websocket/codec/masking.hpp"
#include "websocket/codec/message_decoder.hpp"

#include <coracle/websocket/close_code.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// Frames as bytes, and what a decoder makes of bytes however they are cut.
namespace websocket_bytes {

using namespace coracle::websocket;
using namespace coracle::websocket::detail;

inline constexpr masking_key usual_key = 0x3d21fa37;

/// A frame; of a client with the usual key.
inline std::string frame(frame_opcode code, std::string_view payload, role sender = role::client,
                         bool fin = true, bool compressed = false) {
    frame_header h;
    h.code = code;
    h.fin = fin;
    h.compressed = compressed;
    h.length = payload.size();
    if (sender == role::client) h.mask = usual_key;
    std::string bytes(max_header + payload.size(), '\0');
    char* const end = write_header(bytes.data(), h);
    mask_copy(end, payload.data(), payload.size(), h.mask.value_or(0), 0);
    bytes.resize(static_cast<std::size_t>(end - bytes.data()) + payload.size());
    return bytes;
}

inline std::string close_frame(close_code code, std::string_view reason = {},
                               role sender = role::client) {
    const auto n = static_cast<unsigned>(code);
    std::string payload{static_cast<char>(n >> 8), static_cast<char>(n & 0xff)};
    return frame(frame_opcode::close, payload.append(reason), sender);
}

/// Received events: messages and control frames as text, one after the other, then how it ended.
struct heard {
    std::vector<std::string> events;
    fault why = fault::none;
    /// How many bytes were there when the fault was found.
    std::size_t at = 0;
};

/// Feeds a decoder as a connection does, in two pieces, cut at `cut`, or byte by byte.
inline heard decode(std::string_view bytes, std::size_t cut, role self = role::server,
                    message_decoder::compression c = message_decoder::compression::none,
                    std::size_t room_size = 64) {
    message_decoder decoder(self, c, 16);
    heard all;
    std::string pending;
    std::string text;
    std::string room(room_size, '\0');
    const bool single = cut == std::string_view::npos;
    for (std::size_t at = 0; at != bytes.size() || bytes.empty();) {
        const std::size_t n = single ? 1 : at == 0 && cut != 0 ? cut : bytes.size() - at;
        pending.append(bytes.substr(at, n));
        at += n;
        for (;;) {
            const decoded d = decoder.next({pending.data(), pending.size()}, room);
            std::string piece(d.bytes);
            pending.erase(0, d.consumed);
            if (d.what == decoded_event::need_more) break;
            if (d.what == decoded_event::failed) {
                all.why = d.why;
                all.at = at;
                return all;
            }
            if (d.what == decoded_event::control) {
                const std::string name = d.code == frame_opcode::ping   ? "ping "
                                         : d.code == frame_opcode::pong ? "pong "
                                                                        : "close ";
                all.events.push_back(name + piece);
            }
            if (d.what != decoded_event::piece) continue;
            text += piece;
            if (!d.last) continue;
            all.events.push_back((decoder.type() == frame_opcode::text ? "text " : "binary ") +
                                 text);
            text.clear();
        }
        if (bytes.empty()) break;
    }
    return all;
}

}  // namespace websocket_bytes
