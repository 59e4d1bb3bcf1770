#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/timer.hpp>

#include <algorithm>
#include <bit>
#include <new>

namespace coracle {
namespace detail {
namespace {

/// Each that is woken has a share of its own.
void begin_turn_of_next() noexcept {
    if (loop* const here = loop::current()) here->refill_inline_budget();
}

}  // namespace

void timer_heap::place(std::size_t at, const entry& e) noexcept {
    entries_[at] = e;
    e.owner->at = static_cast<std::uint32_t>(at);
}

void timer_heap::sift_up(std::size_t at, const entry& e) noexcept {
    while (at != 0) {
        const std::size_t parent = (at - 1) / 4;
        if (!e.before(entries_[parent])) break;
        place(at, entries_[parent]);
        at = parent;
    }
    place(at, e);
}

void timer_heap::sift_down(std::size_t at, const entry& e) noexcept {
    const std::size_t size = entries_.size();
    for (;;) {
        const std::size_t first = 4 * at + 1;
        if (first >= size) break;
        std::size_t least = first;
        for (std::size_t c = first + 1; c < size && c < first + 4; ++c) {
            if (entries_[c].before(entries_[least])) least = c;
        }
        if (!entries_[least].before(e)) break;
        place(at, entries_[least]);
        at = least;
    }
    place(at, e);
}

/// Returns true if the heap has memory for one more timer.
bool timer_heap::make_place() noexcept {
    if (entries_.size() != entries_.capacity()) return true;
    constexpr std::size_t least = 16;
    try {
        entries_.reserve(std::max(least, entries_.capacity() * 2));
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

void timer_heap::list(const entry& e) noexcept {
    timer** place = &listed_;
    while (*place != nullptr && entry_of(**place).before(e)) place = &(*place)->next_listed;
    e.owner->due_listed = e.due;
    e.owner->sequence_listed = e.sequence;
    e.owner->next_listed = *place;
    e.owner->at = timer_position::listed;
    *place = e.owner;
}

void timer_heap::unlist(timer& t) noexcept {
    timer** place = &listed_;
    while (*place != &t) place = &(*place)->next_listed;
    *place = t.next_listed;
    t.at = timer_position::unarmed;
}

timer_heap::entry timer_heap::first() const noexcept {
    if (listed_ == nullptr) return entries_.front();
    const entry waiting = entry_of(*listed_);
    return entries_.empty() || waiting.before(entries_.front()) ? waiting : entries_.front();
}

void timer_heap::arm(timer& t, time_point due) noexcept {
    disarm(t);
    const entry e{due, sequence_++, &t};
    ++size_;
    if (!make_place()) {
        list(e);
        return;
    }
    entries_.push_back(e);
    sift_up(entries_.size() - 1, e);
}

void timer_heap::disarm(timer& t) noexcept {
    if (t.at == timer_position::unarmed) return;
    --size_;
    if (t.at == timer_position::listed)
        unlist(t);
    else
        remove(t.at);
}

void timer_heap::remove(std::size_t at) noexcept {
    entries_[at].owner->at = timer_position::unarmed;
    const entry last = entries_.back();
    entries_.pop_back();
    if (at == entries_.size()) return;
    if (at != 0 && last.before(entries_[(at - 1) / 4])) {
        sift_up(at, last);
    } else {
        sift_down(at, last);
    }
}

void timer_heap::fire(time_point now) noexcept {
    const std::uint64_t armed_before = sequence_;
    while (!empty()) {
        const entry e = first();
        if (e.due > now || e.sequence >= armed_before) return;
        disarm(*e.owner);
        begin_turn_of_next();
        e.owner->expired();
    }
}

void deadline_wheel::insert(wheel_entry& d) noexcept {
    std::int64_t due = d.due == time_point::max() ? ticks_ + 1 : ticks_up(d.due);
    if (due <= ticks_) due = ticks_ + 1;
    constexpr std::int64_t horizon = (std::int64_t{1} << (levels * slot_bits)) - 1;
    if (due - ticks_ > horizon) due = ticks_ + horizon;
    unsigned level = 0;
    while ((due - ticks_) >> ((level + 1) * slot_bits) != 0) ++level;
    const std::int64_t visit_tick = (due >> (level * slot_bits)) << (level * slot_bits);
    const auto slot = static_cast<unsigned>((due >> (level * slot_bits)) & (slots - 1));
    d.visited = time_point(duration(visit_tick * tick));
    occupied_[level] |= std::uint64_t{1} << slot;
    wheel_[level][slot].push_back(d);
    if (d.visited < next_) next_ = d.visited;
}

time_point deadline_wheel::find_next() const noexcept {
    std::int64_t first = -1;
    for (unsigned level = 0; level != levels; ++level) {
        if (occupied_[level] == 0) continue;
        const std::int64_t at = ticks_ >> (level * slot_bits);
        const auto behind = static_cast<int>((at + 1) & (slots - 1));
        const int steps = std::countr_zero(std::rotr(occupied_[level], behind)) + 1;
        const std::int64_t when = (at + steps) << (level * slot_bits);
        if (first < 0 || when < first) first = when;
    }
    return first < 0 ? time_point::max() : time_point(duration(first * tick));
}

void deadline_wheel::advance(time_point now) noexcept {
    const std::int64_t target = ticks_of(now);
    for (;;) {
        const time_point upcoming = find_next();
        if (upcoming > now || upcoming == time_point::max()) break;
        ticks_ = ticks_of(upcoming);
        for (unsigned level = levels; level-- != 0;) {
            const std::int64_t below = (std::int64_t{1} << (level * slot_bits)) - 1;
            if ((ticks_ & below) != 0) continue;
            const auto slot = static_cast<unsigned>((ticks_ >> (level * slot_bits)) & (slots - 1));
            if ((occupied_[level] >> slot & 1) == 0) continue;
            occupied_[level] &= ~(std::uint64_t{1} << slot);
            visit(wheel_[level][slot], now);
        }
    }
    if (ticks_ < target) ticks_ = target;
    next_ = find_next();
}

void deadline_wheel::visit(intrusive_list<wheel_entry>& slot, time_point now) noexcept {
    intrusive_list<wheel_entry> visited;
    visited.splice(slot);
    while (wheel_entry* d = visited.pop_front()) {
        d->visited = time_point::max();
        if (d->due == time_point::max()) continue;
        if (d->due <= now) {
            d->due = time_point::max();
            begin_turn_of_next();
            static_cast<deadline*>(d)->expired();
        } else {
            insert(*d);
        }
    }
}

}  // namespace detail

void deadline::enter_wheel() noexcept {
    owner_->deadlines().insert(*this);
}

}  // namespace coracle
