#pragma once

#include <coracle/runtime/clock.hpp>
#include <coracle/runtime/semaphore.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace coracle::http::detail {

/// How many TLS handshakes with one origin are under way at a time. Who finds no permit waits for
/// one only where that is no loss: where handshakes are a matter of computing rather than of
/// travelling.
class handshake_turns {
public:
    /// How long one waits for its turn.
    static constexpr duration patience = std::chrono::milliseconds(50);

    /// 0: as many as there are.
    explicit handshake_turns(std::size_t limit) noexcept
        : permits_(limit != 0 ? limit : ~std::size_t{0}) {}

    /// What the network took to connect. The least of all is nearest to the truth: a loop that is
    /// busy notices late.
    void connected(duration took) noexcept { nearest_ = std::min(nearest_, took); }

    semaphore_permit try_hold() noexcept { return permits_.try_hold(); }
    bool worth_waiting() const noexcept { return nearest_ < near && !stands_still_; }
    semaphore_hold hold() noexcept { return permits_.hold(); }
    /// Nobody's handshake ended meanwhile.
    void waited_in_vain() noexcept { stands_still_ = true; }
    void ended(duration took) noexcept { stands_still_ = took >= patience; }

private:
    static constexpr duration near = std::chrono::milliseconds(2);

    semaphore permits_;
    duration nearest_ = duration::max();
    bool stands_still_ = false;  ///< those that come would wait for a peer that is slow, or silent
};

}  // namespace coracle::http::detail
