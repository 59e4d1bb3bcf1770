#include "http/h2/frame.hpp"

namespace coracle::http::h2 {

namespace {

std::uint32_t byte(const char* at) noexcept {
    return static_cast<unsigned char>(*at);
}

}  // namespace

std::uint16_t read_u16(const char* bytes) noexcept {
    return static_cast<std::uint16_t>(byte(bytes) << 8 | byte(bytes + 1));
}

std::uint32_t read_u32(const char* bytes) noexcept {
    return byte(bytes) << 24 | byte(bytes + 1) << 16 | byte(bytes + 2) << 8 | byte(bytes + 3);
}

char* write_u16(char* out, std::uint16_t value) noexcept {
    *out++ = static_cast<char>(value >> 8);
    *out++ = static_cast<char>(value);
    return out;
}

char* write_u32(char* out, std::uint32_t value) noexcept {
    *out++ = static_cast<char>(value >> 24);
    *out++ = static_cast<char>(value >> 16);
    *out++ = static_cast<char>(value >> 8);
    *out++ = static_cast<char>(value);
    return out;
}

frame_header read_frame_header(const char* bytes) noexcept {
    frame_header header;
    header.length = byte(bytes) << 16 | byte(bytes + 1) << 8 | byte(bytes + 2);
    header.type = static_cast<frame_type>(byte(bytes + 3));
    header.flags = static_cast<std::uint8_t>(byte(bytes + 4));
    header.stream = read_u32(bytes + 5) & max_stream_id;
    return header;
}

char* write_frame_header(char* out, const frame_header& header) noexcept {
    *out++ = static_cast<char>(header.length >> 16);
    *out++ = static_cast<char>(header.length >> 8);
    *out++ = static_cast<char>(header.length);
    *out++ = static_cast<char>(header.type);
    *out++ = static_cast<char>(header.flags);
    return write_u32(out, header.stream);
}

}  // namespace coracle::http::h2
