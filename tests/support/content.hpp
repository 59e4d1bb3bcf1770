#pragma once

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
