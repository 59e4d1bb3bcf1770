#include <coracle/base/block_pool.hpp>

namespace coracle {

void block_pool::shrink(std::size_t bin, std::size_t target) noexcept {
    while (counts_[bin] > target) {
        block* b = bins_[bin];
        bins_[bin] = b->next;
        --counts_[bin];
        if (bin >= small_bins) large_bytes_ -= size_of(bin);
        ::operator delete(b);
    }
}

void block_pool::release(std::size_t keep) noexcept {
    for (std::size_t bin = 0; bin != bins; ++bin) shrink(bin, keep);
}

void block_pool::trim() noexcept {
    for (std::size_t bin = 0; bin != bins; ++bin) shrink(bin, counts_[bin] / 2);
}

}  // namespace coracle
