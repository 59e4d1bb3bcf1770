// Bytes of WebSocket as a server or a client receives them. The first byte of the input says which,
// how messages may be compressed, and how to cut the rest. Checked: any cut gives the same messages
// and the same verdict, and what was received and is sent again is received the same.
#include "require.hpp"
#include "websocket/codec/close_payload.hpp"
#include "websocket/codec/deflate_offer.hpp"
#include "websocket/codec/frame.hpp"
#include "websocket/codec/masking.hpp"
#include "websocket/codec/message_decoder.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

using namespace coracle::websocket;
using namespace coracle::websocket::detail;

namespace {

/// A bomb is no fault of the decoder: who calls it stops at the limit.
constexpr std::size_t most_decoded = 1 << 20;

struct outcome {
    std::string events;  ///< a letter, the size, the bytes
    fault why = fault::none;
    bool cut_off = false;

    friend bool operator==(const outcome&, const outcome&) = default;
};

class receiver {
public:
    receiver(role self, message_decoder::compression c, std::size_t room)
        : decoder_(self, c, 8), room_(room, '\0') {}

    /// False when nothing more is to be fed.
    bool feed(std::string_view piece) {
        pending_.append(piece);
        for (;;) {
            // At a new address, with nothing readable behind it.
            const std::unique_ptr<char[]> exact(new char[pending_.size()]);
            std::memcpy(exact.get(), pending_.data(), pending_.size());
            const decoded d = decoder_.next({exact.get(), pending_.size()}, room_);
            require(d.consumed <= pending_.size());
            // Keeps what was unmasked.
            std::memcpy(pending_.data(), exact.get(), pending_.size());
            pending_.erase(0, d.consumed);
            if (d.what == decoded_event::need_more) return true;
            if (d.what == decoded_event::failed) {
                require(d.why != fault::none);
                // Which of two in one piece is found depends on where the piece ends.
                const bool data = d.why == fault::bad_compression;
                out.why = data ? fault::invalid_utf8 : d.why;
                return false;
            }
            if (d.what == decoded_event::control) control(d);
            if (d.what == decoded_event::piece) piece_came(d);
            if (text_.size() > most_decoded || out.events.size() > most_decoded) {
                out.cut_off = true;
                return false;
            }
        }
    }

    outcome out;

private:
    void control(const decoded& d) {
        require(d.bytes.size() <= max_control_payload);
        note('a' + static_cast<int>(d.code), d.bytes);
        if (d.code != frame_opcode::close) return;
        close_payload said;
        if (read_close(d.bytes, said) == fault::none) require(is_utf8(said.reason));
    }
    void piece_came(const decoded& d) {
        text_ += d.bytes;
        if (!d.last) return;
        if (decoder_.type() == frame_opcode::text) require(is_utf8(text_));
        note('a' + static_cast<int>(decoder_.type()), text_);
        text_.clear();
    }
    void note(int kind, std::string_view bytes) {
        out.events += static_cast<char>(kind);
        out.events.append(std::to_string(bytes.size())).append(":").append(bytes);
    }

    message_decoder decoder_;
    std::string room_;
    std::string pending_;
    std::string text_;
};

outcome decode(std::string_view bytes, role self, message_decoder::compression c, std::size_t step,
               std::size_t room) {
    receiver r(self, c, room);
    for (std::size_t at = 0; at < bytes.size(); at += step) {
        if (!r.feed(bytes.substr(at, step))) break;
    }
    return std::move(r.out);
}

/// Sends the messages and control frames of `events` again, in frames of one message each.
std::string frames_of(std::string_view events, role sender) {
    std::string out;
    while (!events.empty()) {
        frame_header h;
        h.code = static_cast<frame_opcode>(events[0] - 'a');
        const std::size_t colon = events.find(':');
        h.length = std::stoul(std::string(events.substr(1, colon - 1)));
        if (sender == role::client) h.mask = 0x5a01ff80;
        std::string payload(events.substr(colon + 1, h.length));
        events.remove_prefix(colon + 1 + h.length);
        char header[max_header];
        const char* const end = write_header(header, h);
        require(static_cast<std::size_t>(end - header) == header_size(h));
        out.append(header, static_cast<std::size_t>(end - header));
        if (h.mask) mask_in_place(payload.data(), payload.size(), *h.mask, 0);
        out += payload;
    }
    return out;
}

void check_again(const outcome& first, role self) {
    const role sender = self == role::server ? role::client : role::server;
    const std::string bytes = frames_of(first.events, sender);
    const outcome again =
        decode(bytes, self, message_decoder::compression::none, bytes.size() + 1, 4096);
    require(again.events == first.events && again.why == fault::none);
}

/// A server may say anything to an offer.
void check_choice(std::string_view text) {
    compression_options o;
    o.mode = compression_mode::with_context;
    std::optional<deflate_agreement> read;
    if (!read_deflate_choice(text, o, read) || !read) return;
    require(read->server_window_bits >= 8 && read->server_window_bits <= 15);
    require(read->client_window_bits >= 8 && read->client_window_bits <= 15);
}

/// A negotiation is text of the peer's too.
void check_offer(std::string_view text) {
    compression_options o;
    o.mode = compression_mode::with_context;
    const deflate_choice c = choose_deflate(text, o);
    require(c.agreement.has_value() == !c.response.empty());
    if (!c.agreement) return;
    require(c.agreement->server_window_bits >= 9 && c.agreement->server_window_bits <= 15);
    std::optional<deflate_agreement> read;
    require(read_deflate_choice(c.response, o, read));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) {
        return 0;
    }
    const std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
    const unsigned how = data[0];
    const role self = (how & 1) != 0 ? role::client : role::server;
    using compression = message_decoder::compression;
    const auto c = static_cast<compression>((how >> 1 & 3) % 3);
    const outcome whole = decode(bytes, self, c, bytes.size(), 4096);
    if (!whole.cut_off) {
        require(decode(bytes, self, c, 1, 4096) == whole);
        require(decode(bytes, self, c, (how >> 3) + 1U, 7) == whole);
    }
    if (c == compression::none) require(whole.events.size() <= 4 * bytes.size() + 16);
    if (!whole.cut_off) check_again(whole, self);
    check_offer(bytes);
    check_choice(bytes);
    return 0;
}
