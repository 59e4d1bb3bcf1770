#pragma once

// Parts of RFC 6455 that the least programs need: the accept value of a handshake,
// and frames.

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace bench {

// RFC 3174, for texts of a few hundred bytes.
inline std::array<unsigned char, 20> sha1(std::string text) {
    const std::uint64_t bits = text.size() * 8;
    text += '\x80';
    while (text.size() % 64 != 56) text += '\0';
    for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>(bits >> shift);
    std::array<std::uint32_t, 5> h{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    for (std::size_t at = 0; at != text.size(); at += 64) {
        std::array<std::uint32_t, 80> w{};
        for (std::size_t i = 0; i != 64; ++i) {
            w[i / 4] = w[i / 4] << 8 | static_cast<unsigned char>(text[at + i]);
        }
        for (std::size_t i = 16; i != 80; ++i) {
            w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
        }
        auto [a, b, c, d, e] = h;
        for (std::size_t i = 0; i != 80; ++i) {
            const std::uint32_t f = i < 20   ? (b & c) | (~b & d)
                                    : i < 40 ? b ^ c ^ d
                                    : i < 60 ? (b & c) | (b & d) | (c & d)
                                             : b ^ c ^ d;
            constexpr std::array<std::uint32_t, 4> k{0x5a827999, 0x6ed9eba1, 0x8f1bbcdc,
                                                     0xca62c1d6};
            const std::uint32_t next = std::rotl(a, 5) + f + e + w[i] + k[i / 20];
            e = d;
            d = c;
            c = std::rotl(b, 30);
            b = a;
            a = next;
        }
        const std::array<std::uint32_t, 5> added{a, b, c, d, e};
        for (std::size_t i = 0; i != 5; ++i) h[i] += added[i];
    }
    std::array<unsigned char, 20> out{};
    for (std::size_t i = 0; i != 20; ++i) {
        out[i] = static_cast<unsigned char>(h[i / 4] >> (24 - 8 * (i % 4)));
    }
    return out;
}

inline std::string accept_of(std::string_view key) {
    const auto hash = sha1(std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (std::size_t i = 0; i < 20; i += 3) {
        std::uint32_t three = 0;
        for (std::size_t n = i; n != i + 3; ++n) three = three << 8 | (n < 20 ? hash[n] : 0U);
        for (int shift = 18; shift >= 0; shift -= 6) out += digits[three >> shift & 63];
    }
    out.back() = '=';  // 20 bytes are two short of a multiple of three, less one
    return out;
}

struct frame_head {
    std::size_t size = 0;  // of the header, with the mask
    std::size_t length = 0;
    bool masked = false;
    unsigned char first = 0;
    bool whole = false;  // all of the header is there
};

inline frame_head read_frame_head(const char* at, std::size_t n) {
    frame_head h;
    if (n < 2) return h;
    const auto byte = [at](std::size_t i) { return static_cast<unsigned char>(at[i]); };
    h.first = byte(0);
    h.masked = (byte(1) & 0x80) != 0;
    h.length = byte(1) & 0x7fU;
    const std::size_t more = h.length == 126 ? 2 : h.length == 127 ? 8 : 0;
    h.size = 2 + more + (h.masked ? 4 : 0);
    if (n < h.size) return h;
    if (more != 0) h.length = 0;
    for (std::size_t i = 0; i != more; ++i) h.length = h.length << 8 | byte(2 + i);
    h.whole = true;
    return h;
}

// Writes the header of a frame that is not masked; gives its size, ten bytes at most.
inline std::size_t write_frame_head(char* to, unsigned char first, std::size_t length) {
    to[0] = static_cast<char>(first);
    if (length < 126) {
        to[1] = static_cast<char>(length);
        return 2;
    }
    const std::size_t bytes = length < 65536 ? 2 : 8;
    to[1] = static_cast<char>(bytes == 2 ? 126 : 127);
    for (std::size_t i = 0; i != bytes; ++i) {
        to[2 + i] = static_cast<char>(length >> (8 * (bytes - 1 - i)));
    }
    return 2 + bytes;
}

// Takes the mask off, eight bytes at a time.
inline void unmask(char* bytes, std::size_t n, const char* mask) {
    std::uint32_t four = 0;
    std::memcpy(&four, mask, 4);
    const std::uint64_t eight = std::uint64_t{four} << 32 | four;
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes + i, 8);
        word ^= eight;
        std::memcpy(bytes + i, &word, 8);
    }
    for (; i != n; ++i) bytes[i] = static_cast<char>(bytes[i] ^ mask[i % 4]);
}

}  // namespace bench
