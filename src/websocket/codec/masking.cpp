#include "websocket/codec/masking.hpp"

#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace coracle::websocket::detail {
namespace {

/// Below this a call through a pointer costs more than it saves.
constexpr std::size_t wide_from = 64;

#if defined(__x86_64__)

__attribute__((target("avx2"))) void mask_avx2(char* to, const char* from, std::size_t size,
                                               masking_key key) noexcept {
    const __m256i keys = _mm256_set1_epi32(static_cast<int>(key));
    std::size_t at = 0;
    for (; at + 64 <= size; at += 64) {
        const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at));
        const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at + 32));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at), _mm256_xor_si256(a, keys));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at + 32), _mm256_xor_si256(b, keys));
    }
    // A multiple of four, so the key stays as it is turned.
    mask_scalar(to + at, from + at, size - at, key);
}

mask_kernel find_wide_kernel() noexcept {
    return __builtin_cpu_supports("avx2") != 0 ? &mask_avx2 : nullptr;
}

#else

mask_kernel find_wide_kernel() noexcept {
    return nullptr;
}

#endif

masking_key turned(masking_key key, std::uint64_t offset) noexcept {
    const int bits = static_cast<int>(offset % sizeof key) * 8;
    return std::endian::native == std::endian::little ? std::rotr(key, bits) : std::rotl(key, bits);
}

}  // namespace

/// Eight bytes at a time, which compilers make vectors of that every processor has.
void mask_scalar(char* to, const char* from, std::size_t size, masking_key key) noexcept {
    const std::uint64_t keys = std::uint64_t{key} << 32 | key;
    std::size_t at = 0;
    for (; at + sizeof keys <= size; at += sizeof keys) {
        std::uint64_t word = 0;
        std::memcpy(&word, from + at, sizeof word);
        word ^= keys;
        std::memcpy(to + at, &word, sizeof word);
    }
    char bytes[sizeof keys];
    std::memcpy(bytes, &keys, sizeof keys);
    for (std::size_t i = 0; at + i < size; ++i) {
        to[at + i] = static_cast<char>(from[at + i] ^ bytes[i]);
    }
}

mask_kernel wide_mask_kernel() noexcept {
    static const mask_kernel found = find_wide_kernel();
    return found;
}

void mask_copy(char* to, const char* from, std::size_t size, masking_key key,
               std::uint64_t offset) noexcept {
    const masking_key first = turned(key, offset);
    if (size >= wide_from) {
        if (const mask_kernel wide = wide_mask_kernel()) return wide(to, from, size, first);
    }
    mask_scalar(to, from, size, first);
}

}  // namespace coracle::websocket::detail
