#pragma once

#include <cstddef>
#include <cstdint>

namespace coracle::io::detail {

/// The positions of the next delimiters in a block, found many at a time: a search for each line
/// alone is a call and a mispredicted branch or two, which is most of what reading a line costs.
/// Call `forget` after filling or moving the block.
class delimiter_marks {
public:
    /// The first `delimiter` from `begin` on, or null when there is none before `end`. `begin`
    /// never goes back between two calls of `forget`.
    const char* find(const char* begin, const char* end, char delimiter) noexcept {
        if (next_ != count_ && delimiter_ == delimiter) {
            const char* const mark = base_ + offsets_[next_];
            if (mark >= begin) return mark;
        }
        return search(begin, end, delimiter);
    }
    /// The one that `find` gave is done with.
    void take() noexcept { ++next_; }
    void forget() noexcept { next_ = count_ = 0; }

private:
    const char* search(const char* begin, const char* end, char delimiter) noexcept;
    const char* mark_from(const char* begin, const char* end) noexcept;

    static constexpr std::uint32_t chunk = 64;
    /// Searching ends once there are so many, so that it does not run far ahead of the lines.
    static constexpr std::uint32_t enough = 64;
    /// The last chunk may add a chunk full, and two are written that may be none.
    static constexpr std::uint32_t most = enough + chunk + 2;

    std::uint32_t next_ = 0;
    std::uint32_t count_ = 0;
    const char* base_ = nullptr;     ///< what the offsets are from
    const char* scanned_ = nullptr;  ///< where the search ended
    char delimiter_ = '\n';
    std::uint32_t offsets_[most];
};

}  // namespace coracle::io::detail
