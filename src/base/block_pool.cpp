#include <coracle/base/detail/block_pool.hpp>

namespace coracle {

/// Returns true if some are left.
bool block_pool::shrink(std::size_t bin, std::size_t target) noexcept {
    while (counts_[bin] > target) {
        block* b = bins_[bin];
        bins_[bin] = b->next;
        --counts_[bin];
        if (bin >= small_bins) large_bytes_ -= size_of(bin);
        ::operator delete(b);
    }
    return counts_[bin] != 0;
}

void block_pool::release(std::size_t keep) noexcept {
    for (std::size_t bin = 0; bin != bins; ++bin) shrink(bin, keep);
}

bool block_pool::trim() noexcept {
    bool some = false;
    for (std::size_t bin = 0; bin != bins; ++bin) some |= shrink(bin, counts_[bin] / 2);
    return some;
}

}  // namespace coracle
