#include "http/middleware/nonce_table.hpp"

#include <algorithm>

namespace coracle::http::detail {

using guard = coracle::detail::short_lock::guard;

bool nonce_table::note(entry& e, std::uint32_t count) noexcept {
    constexpr std::uint32_t width = 64;
    if (count > e.highest) {
        const std::uint32_t by = count - e.highest;
        e.used = by >= width ? 0 : e.used << by;
        e.used |= 1;
        e.highest = count;
        return true;
    }
    const std::uint32_t back = e.highest - count;
    if (back >= width || (e.used >> back & 1) != 0) return false;
    e.used |= std::uint64_t{1} << back;
    return true;
}

bool nonce_table::use(std::string_view nonce, std::int64_t made, std::uint32_t count) {
    const guard hold(lock_);
    if (entry* const known = entries_.use(nonce)) return note(*known, count);
    if (made <= dropped_until_) return false;
    if (entries_.size() >= most_) {
        dropped_until_ = std::max(dropped_until_, entries_.take_oldest().made);
        if (made <= dropped_until_) return false;
    }
    entries_.put(std::string(nonce), {made, count, 1});
    return true;
}

std::size_t nonce_table::size() const noexcept {
    const guard hold(lock_);
    return entries_.size();
}

}  // namespace coracle::http::detail
