#pragma once

#include <cstdint>
#include <vector>

namespace coracle::testing::detail {

/// The locks that open files have on ranges of one file (fcntl(2), "Open file description locks").
class range_locks {
public:
    enum class kind : std::uint8_t { shared, exclusive };

    /// False when another owner's lock is in the way. Replaces what the owner had of the range.
    bool lock(const void* owner, std::uint64_t first, std::uint64_t last, kind k);
    void unlock(const void* owner, std::uint64_t first, std::uint64_t last);
    void forget(const void* owner);

private:
    struct held {
        const void* owner;
        std::uint64_t first;
        std::uint64_t last;  ///< included
        kind of;

        bool meets(std::uint64_t from, std::uint64_t to) const noexcept {
            return first <= to && from <= last;
        }
    };

    std::vector<held> all_;
};

}  // namespace coracle::testing::detail
