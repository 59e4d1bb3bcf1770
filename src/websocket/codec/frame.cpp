#include "websocket/codec/frame.hpp"

#include <cstring>

namespace coracle::websocket::detail {
namespace {

constexpr std::uint64_t most_in_7_bits = 125;
constexpr std::uint64_t most_in_16_bits = 0xffff;

char* write_big_endian(char* out, std::uint64_t value, unsigned bytes) noexcept {
    for (unsigned i = bytes; i-- != 0;) *out++ = static_cast<char>(value >> (8 * i) & 0xff);
    return out;
}

}  // namespace

std::size_t header_size(const frame_header& h) noexcept {
    const std::size_t length = h.length <= most_in_7_bits ? 0 : h.length <= most_in_16_bits ? 2 : 8;
    return 2 + length + (h.mask ? sizeof(masking_key) : 0);
}

char* write_header(char* out, const frame_header& h) noexcept {
    const unsigned first =
        (h.fin ? 0x80U : 0U) | (h.compressed ? 0x40U : 0U) | static_cast<unsigned>(h.code);
    const unsigned masked = h.mask ? 0x80U : 0U;
    *out++ = static_cast<char>(first);
    if (h.length <= most_in_7_bits) {
        *out++ = static_cast<char>(masked | static_cast<unsigned>(h.length));
    } else if (h.length <= most_in_16_bits) {
        *out++ = static_cast<char>(masked | 126U);
        out = write_big_endian(out, h.length, 2);
    } else {
        *out++ = static_cast<char>(masked | 127U);
        out = write_big_endian(out, h.length, 8);
    }
    if (h.mask) {
        std::memcpy(out, &*h.mask, sizeof(masking_key));
        out += sizeof(masking_key);
    }
    return out;
}

}  // namespace coracle::websocket::detail
