#pragma once

#include "http/message/char_table.hpp"

#include <bit>
#include <cstddef>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

// Each kernel answers the same questions: where, from `at` on, is the first byte that does not
// belong to a token, a target, a target's part before "?", a field value, a host name? `end` if
// nowhere. `begin` is how far back the input may be read.
namespace coracle::http::h1 {

struct scalar_kernel {
    static const char* skip(const char* at, const char* end, unsigned classes) noexcept {
        while (at != end && is_char(*at, classes)) {
            ++at;
        }
        return at;
    }
    static const char* skip_token(const char*, const char* at, const char* end) noexcept {
        return skip(at, end, char_token);
    }
    static const char* skip_target(const char*, const char* at, const char* end) noexcept {
        return skip(at, end, char_target);
    }
    static const char* skip_path(const char*, const char* at, const char* end) noexcept {
        return skip(at, end, char_path);
    }
    static const char* skip_value(const char*, const char* at, const char* end) noexcept {
        return skip(at, end, char_value);
    }
    static const char* skip_host(const char*, const char* at, const char* end) noexcept {
        return skip(at, end, char_host);
    }
};

#if defined(__SSE2__)

// SSE2 is part of x86-64, so nothing is chosen at run time.
struct sse2_kernel {
    // Letters and "-" only; what else a token may hold is left to the table.
    static unsigned not_letter(__m128i bytes) noexcept {
        const __m128i dash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('-'));
        return none_of(_mm_or_si128(letters(bytes), dash));
    }
    // Letters, digits, "-" and "."; what else a host may hold is left to the table.
    static unsigned not_host(__m128i bytes) noexcept {
        const __m128i from_dash = _mm_sub_epi8(bytes, _mm_set1_epi8('-'));
        const __m128i dash_to_9 =
            _mm_cmpeq_epi8(_mm_min_epu8(from_dash, _mm_set1_epi8('9' - '-')), from_dash);
        const __m128i slash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('/'));
        return none_of(_mm_or_si128(letters(bytes), _mm_andnot_si128(slash, dash_to_9)));
    }
    static unsigned not_target(__m128i bytes) noexcept {
        // As signed numbers the visible bytes are those above 0x20; DEL is apart.
        const __m128i visible = _mm_cmpgt_epi8(bytes, _mm_set1_epi8(0x20));
        const __m128i del = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7f));
        const __m128i quote_or_hash =
            _mm_cmpeq_epi8(_mm_or_si128(bytes, _mm_set1_epi8(1)), _mm_set1_epi8('#'));
        const __m128i angle =
            _mm_cmpeq_epi8(_mm_or_si128(bytes, _mm_set1_epi8(2)), _mm_set1_epi8('>'));
        const __m128i refused = _mm_or_si128(del, _mm_or_si128(quote_or_hash, angle));
        return none_of(_mm_andnot_si128(refused, visible));
    }
    static unsigned not_path(__m128i bytes) noexcept {
        return not_target(bytes) | any_of(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('?')));
    }
    static unsigned not_value(__m128i bytes) noexcept {
        const __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
        const __m128i tab = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\t'));
        const __m128i del = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7f));
        return any_of(_mm_or_si128(_mm_andnot_si128(tab, low), del));
    }

    template <class Stops>
    static const char* find(const char* begin, const char* at, const char* end, unsigned classes,
                            Stops stops) noexcept {
        if (end - begin < 16) {
            return find_in_few(at, end, classes, stops);
        }
        const char* const last = end - 16;
        for (; at <= last; at += 16) {
            if (const unsigned mask = stops(load(at)); mask != 0) {
                return at + std::countr_zero(mask);
            }
        }
        // The last few bytes: a load that ends at `end`, less what comes before `at`.
        const unsigned mask = stops(load(last)) >> (at - last);
        return mask != 0 ? at + std::countr_zero(mask) : end;
    }

    static const char* skip_token(const char* begin, const char* at, const char* end) noexcept {
        at = find(begin, at, end, char_alpha, not_letter);
        return scalar_kernel::skip(at, end, char_token);
    }
    static const char* skip_target(const char* begin, const char* at, const char* end) noexcept {
        return find(begin, at, end, char_target, not_target);
    }
    static const char* skip_path(const char* begin, const char* at, const char* end) noexcept {
        return find(begin, at, end, char_path, not_path);
    }
    static const char* skip_value(const char* begin, const char* at, const char* end) noexcept {
        return find(begin, at, end, char_value, not_value);
    }
    static const char* skip_host(const char* begin, const char* at, const char* end) noexcept {
        at = find(begin, at, end, char_alpha | char_digit, not_host);
        return scalar_kernel::skip(at, end, char_host);
    }

private:
    static __m128i letters(__m128i bytes) noexcept {
        const __m128i from_a =
            _mm_sub_epi8(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), _mm_set1_epi8('a'));
        return _mm_cmpeq_epi8(_mm_min_epu8(from_a, _mm_set1_epi8(25)), from_a);
    }
    static unsigned any_of(__m128i bytes) noexcept {
        return static_cast<unsigned>(_mm_movemask_epi8(bytes));
    }
    static unsigned none_of(__m128i bytes) noexcept { return any_of(bytes) ^ 0xffffU; }

    // Fewer than 16 bytes with nothing readable around them: of 8 and more the first and the last
    // 8 side by side.
    template <class Stops>
    static const char* find_in_few(const char* at, const char* end, unsigned classes,
                                   Stops stops) noexcept {
        if (end - at < 8) {
            return scalar_kernel::skip(at, end, classes);
        }
        const unsigned mask = stops(_mm_unpacklo_epi64(load_half(at), load_half(end - 8)));
        if (mask == 0) {
            return end;
        }
        const int first = std::countr_zero(mask);
        return first < 8 ? at + first : end - 16 + first;
    }
    static __m128i load_half(const char* from) noexcept {
        return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    }
    static __m128i load(const char* from) noexcept {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    }
};

using vector_kernel = sse2_kernel;

#else

using vector_kernel = scalar_kernel;

#endif

}  // namespace coracle::http::h1
