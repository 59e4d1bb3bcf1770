#pragma once

#include <cstddef>
#include <span>

namespace coracle::http::h2 {

/// Content that is read into its frames when there is room for them: so it is copied once, and
/// still in the cache of the processor when it is encrypted.
class content_source {
public:
    static constexpr std::size_t frames_at_once = 4;

    /// Fills `places` one after the other, at most `frames_at_once`, the payloads of as many
    /// frames. Returns how much that was; 0: there is nothing now, and the stream rests until
    /// `session::resume`. Calls nothing of the session.
    virtual std::size_t read(std::span<const std::span<char>> places) noexcept = 0;

protected:
    ~content_source() = default;
};

}  // namespace coracle::http::h2
