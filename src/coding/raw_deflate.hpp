#pragma once

#include "coding/decoder.hpp"
#include "coding/encoder.hpp"

#include <memory>
#include <span>
#include <string_view>

namespace coracle::coding {

/// Raw deflate (RFC 1951) without an end: each flush makes all that was given decodable, and what
/// follows may refer to it. What RFC 7692 is made of. Not thread-safe; may move between threads.
class raw_deflater {
public:
    static constexpr int least_window_bits = 9;
    static constexpr int most_window_bits = 15;
    static constexpr int usual_level = 6;

    /// Throws std::bad_alloc.
    raw_deflater(int window_bits, int level);
    ~raw_deflater();
    raw_deflater(const raw_deflater&) = delete;
    raw_deflater& operator=(const raw_deflater&) = delete;

    int window_bits() const noexcept { return window_bits_; }
    int level() const noexcept { return level_; }
    /// Forgets all that was given.
    void reset() noexcept;
    /// Encodes as much as possible. A flush ends with 00 00 ff ff (RFC 1951 section 3.2.4);
    /// `finish` is treated as `flush`. `out` must have `encoder::least_room` bytes.
    encode_result encode(std::string_view in, std::span<char> out, encode_action action) noexcept;

private:
    struct state;
    std::unique_ptr<state> state_;
    int window_bits_;
    int level_;
};

/// Decodes what a `raw_deflater` made.
class raw_inflater {
public:
    /// Throws std::bad_alloc.
    explicit raw_inflater(int window_bits = raw_deflater::most_window_bits);
    ~raw_inflater();
    raw_inflater(const raw_inflater&) = delete;
    raw_inflater& operator=(const raw_inflater&) = delete;

    void reset() noexcept;
    /// Decodes what it can of `in` into `out`. A block that says it is the last one does not end
    /// it: another may follow, and refer to what was before. When `out` is full there may be more
    /// to come: call it again, also with no input.
    decode_result decode(std::string_view in, std::span<char> out) noexcept;

private:
    bool go_on_after_end() noexcept;

    struct state;
    std::unique_ptr<state> state_;
};

/// Return one that the thread keeps for reuse, reset, or a new one. Throw std::bad_alloc.
std::unique_ptr<raw_deflater> take_raw_deflater(int window_bits, int level);
std::unique_ptr<raw_inflater> take_raw_inflater();
/// Keeps one for reuse on this thread, up to the limit.
void give_back(std::unique_ptr<raw_deflater> d) noexcept;
void give_back(std::unique_ptr<raw_inflater> i) noexcept;

/// The most of each kind that a thread keeps.
inline constexpr std::size_t most_raw_kept = 2;

}  // namespace coracle::coding
