#include "websocket/codec/utf8.hpp"

#include <bit>
#include <cstddef>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace coracle::websocket::detail {
namespace {

/// Returns the first byte from `at` on that is not ASCII, or `end`.
const char* skip_ascii(const char* at, const char* end) noexcept {
#if defined(__SSE2__)
    for (; end - at >= 32; at += 32) {
        const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 16));
        const auto high = static_cast<unsigned>(_mm_movemask_epi8(a)) |
                          static_cast<unsigned>(_mm_movemask_epi8(b)) << 16;
        if (high != 0) return at + std::countr_zero(high);
    }
#endif
    for (; end - at >= 8; at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, at, sizeof word);
        if ((word & 0x8080808080808080U) != 0) break;
    }
    while (at != end && static_cast<unsigned char>(*at) < 0x80) ++at;
    return at;
}

}  // namespace

/// RFC 3629 section 4: overlong forms, surrogates and what is beyond U+10FFFF show in the second
/// byte at the latest.
bool utf8_validator::begin(unsigned char first) noexcept {
    low_ = 0x80;
    high_ = 0xbf;
    if (first < 0xc2 || first > 0xf4) return false;
    if (first < 0xe0) {
        left_ = 1;
        return true;
    }
    if (first < 0xf0) {
        left_ = 2;
        if (first == 0xe0) low_ = 0xa0;
        if (first == 0xed) high_ = 0x9f;
        return true;
    }
    left_ = 3;
    if (first == 0xf0) low_ = 0x90;
    if (first == 0xf4) high_ = 0x8f;
    return true;
}

bool utf8_validator::take(std::string_view piece) noexcept {
    const char* at = piece.data();
    const char* const end = at + piece.size();
    while (at != end) {
        const auto byte = static_cast<unsigned char>(*at);
        if (left_ == 0) {
            if (byte < 0x80) {
                at = skip_ascii(at, end);
                continue;
            }
            if (!begin(byte)) return false;
        } else {
            if (byte < low_ || byte > high_) return false;
            low_ = 0x80;
            high_ = 0xbf;
            --left_;
        }
        ++at;
    }
    return true;
}

bool is_utf8(std::string_view text) noexcept {
    utf8_validator v;
    return v.take(text) && v.complete();
}

}  // namespace coracle::websocket::detail
