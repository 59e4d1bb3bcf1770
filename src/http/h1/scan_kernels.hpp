#pragma once

#include "http/message/char_table.hpp"

#include <bit>
#include <cstddef>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

// Each kernel has the same functions. Each finds the first byte, from `at` on, that does not belong
// to a token, a target, a target's part before "?", a field value or a host name; `end` if there is
// none. `begin` is how far back the input may be read.
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
    static bool is_usual_host(const char*, std::size_t) noexcept { return false; }
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
        const __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x20)), bytes);
        const __m128i del = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7f));
        const __m128i quote_or_hash =
            _mm_cmpeq_epi8(_mm_or_si128(bytes, _mm_set1_epi8(1)), _mm_set1_epi8('#'));
        const __m128i angle =
            _mm_cmpeq_epi8(_mm_or_si128(bytes, _mm_set1_epi8(2)), _mm_set1_epi8('>'));
        const __m128i other = _mm_or_si128(del, _mm_or_si128(quote_or_hash, angle));
        return any_of(_mm_or_si128(low, other));
    }
    static unsigned not_path(__m128i bytes) noexcept {
        return not_target(bytes) | any_of(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('?')));
    }
    // Tabs too, which are rare: letting them through here costs 3 instructions for each 16 bytes.
    static unsigned not_value_or_tab(__m128i bytes) noexcept {
        const __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
        const __m128i del = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7f));
        return any_of(_mm_or_si128(low, del));
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
        if (at != end && *at == ':') {
            return at;  // nearly always
        }
        return scalar_kernel::skip(at, end, char_token);
    }
    static const char* skip_target(const char* begin, const char* at, const char* end) noexcept {
        return find(begin, at, end, char_target, not_target);
    }
    static const char* skip_path(const char* begin, const char* at, const char* end) noexcept {
        return find(begin, at, end, char_path, not_path);
    }
    static const char* skip_value(const char* begin, const char* at, const char* end) noexcept {
        at = find(begin, at, end, char_value, not_value_or_tab);
        while (at != end && *at == '\t') {
            at = find(begin, at + 1, end, char_value, not_value_or_tab);
        }
        return at;
    }
    static const char* skip_host(const char* begin, const char* at, const char* end) noexcept {
        at = find(begin, at, end, char_alpha | char_digit, not_host);
        return scalar_kernel::skip(at, end, char_host);
    }

    // Returns true if a text of 8 to 16 bytes is a name or an IPv4 address, alone or with a port
    // that is surely below 65536: all of a usual host at once. False decides nothing.
    static bool is_usual_host(const char* text, std::size_t size) noexcept {
        const __m128i ends = _mm_unpacklo_epi64(load_half(text), load_half(text + size - 8));
        const unsigned other = in_place(not_host(ends), size);
        if (other == 0) {
            return true;
        }
        const auto name = static_cast<std::size_t>(std::countr_zero(other));
        const std::size_t digits = size - name - 1;
        const unsigned after = in_place(not_digit(ends), size) >> name;  // bit 0: the ":" itself
        return name != 0 && text[name] == ':' && after == 1 &&
               (digits < 5 || (digits == 5 && text[name + 1] < '6'));
    }

private:
    static unsigned not_digit(__m128i bytes) noexcept {
        const __m128i from_0 = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
        return none_of(_mm_cmpeq_epi8(_mm_min_epu8(from_0, _mm_set1_epi8(9)), from_0));
    }
    // The bits of the first and the last 8 of `size` bytes, each moved to the place of its byte.
    static unsigned in_place(unsigned ends, std::size_t size) noexcept {
        return (ends & 0xffU) | (ends >> 8) << (size - 8);
    }
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
