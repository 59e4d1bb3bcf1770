#pragma once

#include <coracle/runtime/detail/sender.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace coracle::detail {

/// A waiting receiver.
class channel_receiver : public remote_waiter {
public:
    enum state : std::uint8_t { idle, waiting, claims, took, ended, withdrawn };
    state at = idle;

protected:
    channel_receiver() noexcept = default;
    channel_receiver(channel_receiver&&) noexcept = default;
    ~channel_receiver() = default;
};

/// A receiver that never waits.
struct queued_receiver final : channel_receiver {
    void wake() noexcept override {}
};

/// A queue of at most `capacity` values in a ring. A receiver that is woken owns no value yet: it
/// *claims* one, which stays in the queue until the receiver takes the first that is there. So a
/// receiver that is cancelled before it could has only its claim to pass on, values keep their
/// order, and none needs room elsewhere.
///
/// When nothing is under way: a sender waits only while the queue is full, and a receiver only
/// while all values in it are claimed.
template <class T>
class channel_state {
public:
    static constexpr const char* send_name = "channel send";
    static constexpr const char* receive_name = "channel receive";

    explicit channel_state(std::size_t capacity) : capacity_(capacity) {
        if (capacity == 0) throw_exception(error(std::errc::invalid_argument, "channel"));
        ring_ = std::allocator<T>().allocate(capacity);
    }
    channel_state(const channel_state&) = delete;
    channel_state& operator=(const channel_state&) = delete;
    ~channel_state() {
        assert(senders_.empty() && receivers_.empty());
        while (size_ != 0) drop_first();
        std::allocator<T>().deallocate(ring_, capacity_);
    }

    /// Returns how `s` then stands. If it waits, only the lock's holder may look at that from now
    /// on.
    sender<T>::state send(sender<T>& s, bool waits) noexcept {
        woken_list woken;
        typename sender<T>::state now;
        {
            const short_lock::guard hold(lock_);
            if (closed_) {
                s.at = sender<T>::refused;
            } else if (size_ != capacity_) {
                append(*s.item);
                s.at = sender<T>::sent;
                settle(woken);
            } else if (waits) {
                s.at = sender<T>::waiting;
                senders_.push_back(s);
            }
            now = s.at;
        }
        wake_all(woken);
        return now;
    }

    /// Receives a value: with a place for it the value is taken at once, without one it is claimed.
    channel_receiver::state receive(channel_receiver& r, std::optional<T>* into,
                                    bool waits) noexcept {
        woken_list woken;
        channel_receiver::state now;
        {
            const short_lock::guard hold(lock_);
            if (size_ > claimed_) {
                if (into != nullptr) {
                    take_first(*into);
                    settle(woken);
                    r.at = channel_receiver::took;
                } else {
                    ++claimed_;
                    r.at = channel_receiver::claims;
                }
            } else if (closed_ && size_ == 0) {
                r.at = channel_receiver::ended;
            } else if (waits) {
                r.at = channel_receiver::waiting;
                receivers_.push_back(r);
            }
            now = r.at;
        }
        wake_all(woken);
        return now;
    }

    std::optional<T> take_claimed(channel_receiver& r) noexcept {
        woken_list woken;
        std::optional<T> value;
        {
            const short_lock::guard hold(lock_);
            --claimed_;
            r.at = channel_receiver::took;
            take_first(value);
            settle(woken);
        }
        wake_all(woken);
        return value;
    }

    /// Removes `s` from the waiting senders. Returns false if it was not waiting.
    bool withdraw(sender<T>& s) noexcept {
        const short_lock::guard hold(lock_);
        if (s.at != sender<T>::waiting) return false;
        s.at = sender<T>::withdrawn;
        s.unlink();
        return true;
    }

    /// Returns how `r` stood. One that was `waiting` will not be woken any more.
    channel_receiver::state withdraw(channel_receiver& r) noexcept {
        woken_list woken;
        channel_receiver::state before;
        {
            const short_lock::guard hold(lock_);
            before = std::exchange(r.at, channel_receiver::withdrawn);
            if (before == channel_receiver::waiting) r.unlink();
            if (before == channel_receiver::claims) {
                --claimed_;
                settle(woken);
            }
        }
        wake_all(woken);
        return before;
    }

    /// Removes `r` from the waiting receivers. Returns false if it was not waiting.
    bool withdraw_waiting(channel_receiver& r) noexcept {
        const short_lock::guard hold(lock_);
        if (r.at != channel_receiver::waiting) return false;
        r.at = channel_receiver::withdrawn;
        r.unlink();
        return true;
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
            settle(woken);
        }
        wake_all(woken);
    }

    std::expected<T, error> receive_blocking(duration limit) {
        blocked_thread<channel_receiver> self;
        std::optional<T> value;
        if (receive(self, &value, true) == channel_receiver::waiting && !self.wait_for(limit)) {
            if (withdraw_waiting(self))
                return std::unexpected(error(std::errc::timed_out, receive_name));
            self.wait();
        }
        if (self.at == channel_receiver::claims) value = take_claimed(self);
        if (!value) return std::unexpected(error(errc::end_of_stream, receive_name));
        return *std::move(value);
    }

    bool closed() const noexcept {
        const short_lock::guard hold(lock_);
        return closed_;
    }
    std::size_t size() const noexcept {
        const short_lock::guard hold(lock_);
        return size_;
    }
    std::size_t capacity() const noexcept { return capacity_; }

private:
    void append(T& value) noexcept {
        std::size_t at = first_ + size_;
        if (at >= capacity_) at -= capacity_;
        std::construct_at(ring_ + at, std::move(value));
        ++size_;
    }
    void drop_first() noexcept {
        std::destroy_at(ring_ + first_);
        if (++first_ == capacity_) first_ = 0;
        --size_;
    }
    void take_first(std::optional<T>& into) noexcept {
        into.emplace(std::move(ring_[first_]));
        drop_first();
    }

    /// Lets those go on who can, after anything has changed.
    void settle(woken_list& woken) noexcept {
        while (size_ != capacity_) {
            sender<T>* s = senders_.pop_front();
            if (s == nullptr) break;
            append(*s->item);
            s->at = sender<T>::sent;
            woken.push_back(*s);
        }
        while (size_ > claimed_) {
            channel_receiver* r = receivers_.pop_front();
            if (r == nullptr) return;
            ++claimed_;
            r->at = channel_receiver::claims;
            woken.push_back(*r);
        }
        // Not before the last claim is settled: its value may come back.
        if (!closed_ || size_ != 0) return;
        while (channel_receiver* r = receivers_.pop_front()) {
            r->at = channel_receiver::ended;
            woken.push_back(*r);
        }
    }

    mutable short_lock lock_;
    bool closed_ = false;
    const std::size_t capacity_;
    std::size_t first_ = 0;
    std::size_t size_ = 0;
    std::size_t claimed_ = 0;
    T* ring_ = nullptr;
    intrusive_list<sender<T>> senders_;
    intrusive_list<channel_receiver> receivers_;
};

}  // namespace coracle::detail
