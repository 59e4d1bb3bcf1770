#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace coracle::testing {

/// Numbers without a pattern, the same ones each time.
class number_sequence {
public:
    std::uint64_t next() noexcept {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return state_;
    }

private:
    std::uint64_t state_ = 88172645463325252ULL;
};

/// Letters in an order that comes again after 6,526 of them: bytes that are moved by less than that
/// are told apart.
inline std::string pattern(std::size_t size) {
    std::string text;
    for (std::size_t i = 0; i != std::min<std::size_t>(size, 26 * 251); ++i) {
        text += static_cast<char>('a' + (i * 7 + i / 251) % 26);
    }
    text.reserve(size);
    // Whole periods, so that what is appended goes on where the text ends.
    while (text.size() < size) text.append(text, 0, size - text.size());
    return text;
}

/// Text that compresses well, and repeats nothing long.
inline std::string text_of(std::size_t size) {
    std::string text;
    number_sequence numbers;
    while (text.size() < size) {
        text += "{\"id\": ";
        text += std::to_string(numbers.next() % 1000);
        text += "}, ";
    }
    text.resize(size);
    return text;
}

/// Bytes that do not compress.
inline std::string noise_of(std::size_t size) {
    std::string bytes(size, '\0');
    number_sequence numbers;
    for (char& c : bytes) c = static_cast<char>(numbers.next());
    return bytes;
}

}  // namespace coracle::testing
