#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

// Comparing with a known lower-case text without case, a word at a time.
namespace coracle::http {

namespace detail {

// Bytes that are letters in `known` may differ in bit 0x20, others not at all. Exact for every
// input as long as `known` has letters, digits and "-" only: of these only the letters have bit
// 0x40.
template <class Word>
bool same_word(const char* given, const char* known) noexcept {
    constexpr auto bit_6 = static_cast<Word>(static_cast<Word>(~Word{0}) / 0xff * 0x40);
    Word expected;
    Word actual;
    std::memcpy(&expected, known, sizeof expected);
    std::memcpy(&actual, given, sizeof actual);
    const auto fold = static_cast<Word>((expected & bit_6) >> 1);
    return static_cast<Word>(actual | fold) == expected;
}

// The last word overlaps the one before it.
template <class Word>
bool same_words(const char* given, const char* known, std::size_t size) noexcept {
    for (std::size_t i = 0; i + sizeof(Word) < size; i += sizeof(Word)) {
        if (!same_word<Word>(given + i, known + i)) {
            return false;
        }
    }
    return same_word<Word>(given + size - sizeof(Word), known + size - sizeof(Word));
}

}  // namespace detail

/// Returns true if `given` is `known` in any case, both of `size` bytes, at least 2. `known` is
/// made of lower-case letters, digits and "-".
[[nodiscard]] inline bool same_folded(const char* given, const char* known,
                                      std::size_t size) noexcept {
    return size >= 8   ? detail::same_words<std::uint64_t>(given, known, size)
           : size >= 4 ? detail::same_words<std::uint32_t>(given, known, size)
                       : detail::same_words<std::uint16_t>(given, known, size);
}

/// Compares with a literal, in any case.
template <std::size_t Size>
[[nodiscard]] bool is_folded(std::string_view given, const char (&known)[Size]) noexcept {
    return given.size() == Size - 1 && same_folded(given.data(), known, Size - 1);
}

}  // namespace coracle::http
