#include "testing/disk/range_locks.hpp"

namespace coracle::testing::detail {

bool range_locks::lock(const void* owner, std::uint64_t first, std::uint64_t last, kind k) {
    for (const held& h : all_) {
        if (h.owner == owner || !h.meets(first, last)) continue;
        if (k == kind::exclusive || h.of == kind::exclusive) return false;
    }
    unlock(owner, first, last);
    all_.push_back({owner, first, last, k});
    return true;
}

void range_locks::unlock(const void* owner, std::uint64_t first, std::uint64_t last) {
    std::vector<held> left;
    for (const held& h : all_) {
        if (h.owner != owner || !h.meets(first, last)) {
            left.push_back(h);
            continue;
        }
        if (h.first < first) left.push_back({owner, h.first, first - 1, h.of});
        if (h.last > last) left.push_back({owner, last + 1, h.last, h.of});
    }
    all_.swap(left);
}

void range_locks::forget(const void* owner) {
    std::erase_if(all_, [owner](const held& h) { return h.owner == owner; });
}

}  // namespace coracle::testing::detail
