#include "websocket/shared_frame.hpp"

#include "coding/raw_deflate.hpp"
#include "websocket/codec/frame.hpp"

namespace coracle::websocket::detail {
namespace {

frame_header header_of(message_type type, std::size_t length) {
    frame_header h;
    h.code = type == message_type::text ? frame_opcode::text : frame_opcode::binary;
    h.length = length;
    return h;
}

std::string framed(frame_header h, std::string_view payload) {
    char header[max_header];
    const char* const end = write_header(header, h);
    std::string all(header, static_cast<std::size_t>(end - header));
    return all.append(payload);
}

/// The payload as a message by itself (RFC 7692 section 7.2.1).
std::string deflated(std::string_view payload, int level) {
    auto deflater = coding::take_raw_deflater(coding::raw_deflater::most_window_bits, level);
    std::string out(payload.size() / 2 + coding::encoder::least_room, '\0');
    std::size_t size = 0;
    for (coding::encode_result r; !r.done;) {
        if (out.size() - size < coding::encoder::least_room) out.resize(out.size() * 2);
        r = deflater->encode(payload, {out.data() + size, out.size() - size},
                             coding::encode_action::flush);
        size += r.produced;
        payload.remove_prefix(r.consumed);
    }
    coding::give_back(std::move(deflater));
    constexpr std::size_t tail = 4;
    out.resize(size - tail);
    return out;
}

}  // namespace

std::shared_ptr<const shared_frame> make_shared_frame(message_type type, std::string_view payload,
                                                      const compression_options& o) {
    auto made = std::make_shared<shared_frame>();
    const frame_header h = header_of(type, payload.size());
    made->type = type;
    made->header = header_size(h);
    made->bytes = framed(h, payload);
    if (o.mode == compression_mode::off || payload.size() < o.least) return made;
    const std::string packed = deflated(payload, o.level);
    if (packed.size() >= payload.size()) return made;
    frame_header c = header_of(type, packed.size());
    c.compressed = true;
    made->compressed = framed(c, packed);
    return made;
}

}  // namespace coracle::websocket::detail
