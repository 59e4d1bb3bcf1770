#include "http/h2/hpack/dynamic_table.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace coracle::http::h2::hpack {

namespace {

constexpr std::uint32_t first_slots = 8;
constexpr std::uint32_t first_bytes = 256;

}  // namespace

void dynamic_table::set_limit(std::uint32_t limit) noexcept {
    limit_ = limit;
    while (size_ > limit_) evict_oldest();
}

void dynamic_table::evict_oldest() noexcept {
    const slot& oldest = slot_at(count_ - 1);
    size_ -= oldest.name_size + oldest.value_size + overhead;
    --count_;
}

void dynamic_table::add(const table_entry& e, std::uint32_t hash) {
    const std::uint64_t bytes = std::uint64_t{e.name.size()} + e.value.size();
    if (bytes + overhead > limit_) return clear();
    const auto size = static_cast<std::uint32_t>(bytes);
    std::uint32_t left = size_;
    std::uint32_t kept = count_;
    while (left + size + overhead > limit_) {
        const slot& oldest = slot_at(--kept);
        left -= oldest.name_size + oldest.value_size + overhead;
    }
    // Evicted entries need not be moved; they stay in the table until all memory is there.
    const std::uint32_t begin = kept == 0 ? end_ : slot_at(kept - 1).begin;
    reserve_slot(kept);
    if (end_ - base_ + size > byte_room_) reserve_bytes(size, begin);
    count_ = kept + 1;
    size_ = left + size + overhead;
    char* const to = bytes_.get() + (end_ - base_);
    if (!e.name.empty()) std::memcpy(to, e.name.data(), e.name.size());
    if (!e.value.empty()) std::memcpy(to + e.name.size(), e.value.data(), e.value.size());
    slots_[++newest_ & (slot_room_ - 1)] = {
        .begin = end_,
        .name_size = static_cast<std::uint32_t>(e.name.size()),
        .value_size = static_cast<std::uint32_t>(e.value.size()),
        .hash = hash,
        .id = e.id,
        .well_formed = e.well_formed};
    end_ += size;
}

/// Makes room for one more slot beside the `kept` newest ones.
void dynamic_table::reserve_slot(std::uint32_t kept) {
    if (kept < slot_room_) return;
    const std::uint32_t room = std::max(first_slots, slot_room_ * 2);
    auto wider = std::make_unique_for_overwrite<slot[]>(room);
    for (std::uint32_t i = 0; i != kept; ++i) {
        wider[(newest_ - i) & (room - 1)] = slot_at(i);
    }
    slots_ = std::move(wider);
    slot_room_ = room;
}

/// Makes room for `size` more bytes behind the last entry: moves the entries from `begin` on to the
/// front, where they are not more than half, and to a larger piece of memory otherwise.
void dynamic_table::reserve_bytes(std::uint32_t size, std::uint32_t begin) {
    const std::uint32_t live = end_ - begin;
    const char* const from = bytes_.get() + (begin - base_);
    const bool fits = live + size <= byte_room_;
    if (fits && (live <= byte_room_ / 2 || byte_room_ >= limit_)) {
        std::memmove(bytes_.get(), from, live);
    } else {
        const std::uint32_t wanted =
            fits ? byte_room_ * 2 : std::max(first_bytes, std::bit_ceil(live + size));
        auto wider = std::make_unique_for_overwrite<char[]>(wanted);
        if (live != 0) std::memcpy(wider.get(), from, live);
        bytes_ = std::move(wider);
        byte_room_ = wanted;
    }
    base_ = begin;
}

table_entry dynamic_table::entry_of(const slot& s) const noexcept {
    const char* const at = bytes_.get() + (s.begin - base_);
    return {{at, s.name_size}, {at + s.name_size, s.value_size}, s.id, s.well_formed};
}

table_entry dynamic_table::at(std::uint32_t index) const noexcept {
    return entry_of(slot_at(index));
}

std::uint32_t dynamic_table::find(std::string_view name, std::string_view value,
                                  std::uint32_t hash) const noexcept {
    for (std::uint32_t i = 0; i != count_; ++i) {
        if (slot_at(i).hash != hash) continue;
        const table_entry e = at(i);
        if (e.name == name && e.value == value) return i;
    }
    return count_;
}

std::uint32_t dynamic_table::find_name(std::string_view name) const noexcept {
    for (std::uint32_t i = 0; i != count_; ++i) {
        if (slot_at(i).name_size == name.size() && at(i).name == name) return i;
    }
    return count_;
}

void dynamic_table::clear() noexcept {
    count_ = 0;
    size_ = 0;
    base_ = end_;
}

void dynamic_table::release() noexcept {
    clear();
    slots_.reset();
    bytes_.reset();
    slot_room_ = 0;
    byte_room_ = 0;
}

}  // namespace coracle::http::h2::hpack
