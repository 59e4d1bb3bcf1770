#include <coracle/io/detail/delimiter_marks.hpp>

#include <bit>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace coracle::io::detail {
namespace {

#if defined(__SSE2__)

constexpr std::uint64_t top_bit = std::uint64_t{1} << 63;

std::uint32_t first_bit(std::uint64_t mask) noexcept {
    return static_cast<std::uint32_t>(std::countr_zero(mask));
}

/// Returns a bit mask of the delimiters among 64 bytes.
std::uint64_t mask_of(const char* bytes, __m128i delimiter) noexcept {
    std::uint64_t mask = 0;
    for (unsigned i = 0; i != 4; ++i) {
        const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + i * 16));
        const auto equal =
            static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(some, delimiter)));
        mask |= std::uint64_t{equal} << (i * 16);
    }
    return mask;
}

#endif

}  // namespace

const char* delimiter_marks::search(const char* begin, const char* end, char delimiter) noexcept {
    if (delimiter != delimiter_) {
        delimiter_ = delimiter;
        forget();
    }
    // The marked bytes were consumed by other means.
    while (next_ != count_ && base_ + offsets_[next_] < begin) ++next_;
    if (next_ != count_) return base_ + offsets_[next_];
    return mark_from(count_ != 0 && scanned_ > begin ? scanned_ : begin, end);
}

// Marks delimiters until there are enough, and returns the first.
const char* delimiter_marks::mark_from(const char* begin, const char* end) noexcept {
    base_ = begin;
    std::uint32_t count = 0;
    const char* at = begin;
#if defined(__SSE2__)
    const __m128i wanted = _mm_set1_epi8(delimiter_);
    for (; static_cast<std::size_t>(end - at) >= chunk && count < enough; at += chunk) {
        std::uint64_t mask = mask_of(at, wanted);
        const auto offset = static_cast<std::uint32_t>(at - begin);
        // Writes one mark unconditionally, since a branch would be unpredictable; more than one in
        // a chunk is rare.
        offsets_[count] = offset + first_bit(mask | top_bit);
        count += mask != 0;
        mask &= mask - 1;
        for (; mask != 0; mask &= mask - 1) {
            offsets_[count++] = offset + first_bit(mask);
        }
    }
#endif
    while (count < enough && at != end) {
        const void* const found = std::memchr(at, delimiter_, static_cast<std::size_t>(end - at));
        if (found == nullptr) {
            at = end;
            break;
        }
        at = static_cast<const char*>(found) + 1;
        offsets_[count++] = static_cast<std::uint32_t>(at - 1 - begin);
    }
    scanned_ = at;
    next_ = 0;
    count_ = count;
    return count == 0 ? nullptr : base_ + offsets_[0];
}

}  // namespace coracle::io::detail
