#pragma once

#include <coracle/runtime/detail/sender.hpp>
#include <coracle/runtime/slow_reader.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace coracle {

namespace detail {

/// The position of a reader. The lock of the broadcast guards it.
struct reader_position : list_hook {
    std::uint64_t next = 0;  ///< number of the value that it receives next
    std::uint64_t lost = 0;
};

/// A reader that waits.
class broadcast_waiter : public remote_waiter {
public:
    enum state : std::uint8_t { idle, waiting, ready, ended, too_slow, withdrawn };
    state at = idle;

protected:
    broadcast_waiter() noexcept = default;
    broadcast_waiter(broadcast_waiter&&) noexcept = default;
    ~broadcast_waiter() = default;
};

/// The values that some reader has not received yet, numbered from the first that was ever sent, in
/// a ring of `capacity`. Each knows how many readers still want it, and goes when none does.
template <class T>
class broadcast_state {
public:
    static constexpr const char* send_name = "broadcast send";
    static constexpr const char* receive_name = "broadcast receive";

    broadcast_state(std::size_t capacity, slow_reader policy) : policy_(policy) {
        if (capacity == 0) throw_exception(error(std::errc::invalid_argument, "broadcast"));
        ring_ = std::vector<slot>(capacity);
    }
    ~broadcast_state() { assert(senders_.empty() && waiting_.empty() && readers_.empty()); }

    typename sender<T>::state send(sender<T>& s, bool waits) noexcept {
        woken_list woken;
        std::optional<T> dropped;
        typename sender<T>::state now;
        {
            const short_lock::guard hold(lock_);
            if (closed_) {
                s.at = sender<T>::refused;
            } else if (policy_ != slow_reader::wait || has_room()) {
                if (!has_room() && reader_count_ != 0) take_first(dropped);
                append(*s.item, woken);
                s.at = sender<T>::sent;
            } else if (waits) {
                s.at = sender<T>::waiting;
                senders_.push_back(s);
            }
            now = s.at;
        }
        wake_all(woken);
        return now;
    }
    bool withdraw(sender<T>& s) noexcept {
        const short_lock::guard hold(lock_);
        if (s.at != sender<T>::waiting) return false;
        s.at = sender<T>::withdrawn;
        s.unlink();
        return true;
    }

    void subscribe(reader_position& r) noexcept {
        const short_lock::guard hold(lock_);
        r.next = next_;
        readers_.push_back(r);
        ++reader_count_;
    }
    void unsubscribe(reader_position& r) noexcept {
        {
            const short_lock::guard hold(lock_);
            r.unlink();
            --reader_count_;
            std::uint64_t n = r.next < first_ ? first_ : r.next;
            for (; n != next_; ++n) --at(n).wanted;
        }
        settle();
    }

    /// Looks for a value for `r`; if there is none, queues `w` when `waits` is set.
    broadcast_waiter::state look(reader_position& r, broadcast_waiter& w, bool waits) noexcept {
        const short_lock::guard hold(lock_);
        w.at = standing(r);
        if (w.at == broadcast_waiter::waiting && waits) waiting_.push_back(w);
        return w.at;
    }
    /// Returns how `w` stood. One that was `waiting` will not be woken any more.
    broadcast_waiter::state withdraw(broadcast_waiter& w) noexcept {
        const short_lock::guard hold(lock_);
        const auto before = w.at;
        if (before == broadcast_waiter::waiting) w.unlink();
        w.at = broadcast_waiter::withdrawn;
        return before;
    }
    /// Removes `w` from the waiting readers. Returns false if it was not waiting.
    bool withdraw_waiting(broadcast_waiter& w) noexcept {
        const short_lock::guard hold(lock_);
        if (w.at != broadcast_waiter::waiting) return false;
        w.unlink();
        return true;
    }

    /// The next value of `r`, nothing at the end.
    std::expected<std::optional<T>, error> take(reader_position& r) {
        std::optional<T> value;
        {
            const short_lock::guard hold(lock_);
            const auto now = standing(r);
            if (now == broadcast_waiter::too_slow) {
                return std::unexpected(error(errc::too_slow, receive_name));
            }
            if (now != broadcast_waiter::ready) return value;
            if (r.next < first_) {
                r.lost += first_ - r.next;
                r.next = first_;
            }
            slot& s = at(r.next);
            if (s.wanted == 1)
                value.emplace(*std::move(s.value));
            else
                value.emplace(*s.value);
            --s.wanted;
            ++r.next;
        }
        settle();
        return value;
    }

    void close() noexcept {
        woken_list woken;
        {
            const short_lock::guard hold(lock_);
            closed_ = true;
            while (sender<T>* s = senders_.pop_front()) {
                s->at = sender<T>::refused;
                woken.push_back(*s);
            }
            wake_readers(broadcast_waiter::ended, woken);
        }
        wake_all(woken);
    }

    bool closed() const noexcept {
        const short_lock::guard hold(lock_);
        return closed_;
    }
    std::size_t readers() const noexcept {
        const short_lock::guard hold(lock_);
        return reader_count_;
    }
    std::size_t capacity() const noexcept { return ring_.size(); }
    std::uint64_t lost(const reader_position& r) const noexcept {
        const short_lock::guard hold(lock_);
        return r.lost + (r.next < first_ ? first_ - r.next : 0);
    }

private:
    struct slot {
        std::optional<T> value;
        std::size_t wanted = 0;
    };

    slot& at(std::uint64_t number) noexcept { return ring_[number % ring_.size()]; }
    bool has_room() const noexcept { return next_ - first_ != ring_.size(); }

    broadcast_waiter::state standing(const reader_position& r) const noexcept {
        if (r.next < first_ && policy_ == slow_reader::disconnect) {
            return broadcast_waiter::too_slow;
        }
        if (r.next != next_) return broadcast_waiter::ready;
        return closed_ ? broadcast_waiter::ended : broadcast_waiter::waiting;
    }

    void take_first(std::optional<T>& into) noexcept {
        std::optional<T>& first = at(first_++).value;
        into.emplace(*std::move(first));
        first.reset();  // NOLINT(bugprone-use-after-move): it holds a value until here
    }

    void append(T& value, woken_list& woken) noexcept {
        if (reader_count_ == 0) return;  // no reader will ever receive it
        slot& s = at(next_);
        s.value.emplace(std::move(value));
        s.wanted = reader_count_;
        ++next_;
        wake_readers(broadcast_waiter::ready, woken);
    }

    void wake_readers(broadcast_waiter::state as, woken_list& woken) noexcept {
        while (broadcast_waiter* w = waiting_.pop_front()) {
            w->at = as;
            woken.push_back(*w);
        }
    }

    bool has_unwanted() noexcept { return first_ != next_ && at(first_).wanted == 0; }

    /// Drops values that no reader needs any more, and resumes senders. One value at a time: its
    /// destructor may use this broadcast, and so must not run under the lock.
    void settle() noexcept {
        for (bool more = true; more;) {
            woken_list woken;
            std::optional<T> dropped;
            {
                const short_lock::guard hold(lock_);
                if (has_unwanted()) take_first(dropped);
                admit_senders(woken);
                more = has_unwanted();
            }
            wake_all(woken);
        }
    }

    void admit_senders(woken_list& woken) noexcept {
        while (has_room()) {
            sender<T>* s = senders_.pop_front();
            if (s == nullptr) return;
            append(*s->item, woken);
            s->at = sender<T>::sent;
            woken.push_back(*s);
        }
    }

    mutable short_lock lock_;
    bool closed_ = false;
    const slow_reader policy_;
    std::vector<slot> ring_;
    std::uint64_t first_ = 0;
    std::uint64_t next_ = 0;
    std::size_t reader_count_ = 0;
    intrusive_list<reader_position> readers_;
    intrusive_list<broadcast_waiter> waiting_;
    intrusive_list<sender<T>> senders_;
};

}  // namespace detail
}  // namespace coracle
