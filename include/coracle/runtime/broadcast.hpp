#pragma once

#include <coracle/runtime/detail/broadcast_state.hpp>
#include <coracle/runtime/slow_reader.hpp>

namespace coracle {

template <class T>
class broadcast;

/// The awaitable returned by `broadcast::send`; `value()` is the value to send, and is still there
/// after an error.
template <class T>
using broadcast_send = detail::send_operation<T, detail::broadcast_state<T>>;

/// The awaitable returned by `broadcast_reader::receive`.
template <class T>
class [[nodiscard]] broadcast_receive final
    : public detail::remote_leaf<broadcast_receive<T>, std::optional<T>, detail::broadcast_waiter> {
    using waiter = detail::broadcast_waiter;
    using state = detail::broadcast_state<T>;

public:
    static constexpr const char* name = state::receive_name;
    broadcast_receive(state& s, detail::reader_position& r) noexcept : state_(&s), reader_(&r) {}

    bool start() noexcept {
        loop& l = this->owner();
        const bool inline_allowed = l.may_complete_inline();
        if (state_->look(*reader_, *this, true) == waiter::waiting) return false;
        if (inline_allowed) return true;
        l.enqueue(*this);
        return false;
    }
    void cancel() noexcept override {
        const auto before = state_->withdraw(*this);
        if (before == waiter::withdrawn) return;
        this->mark_cancelled();
        if (before == waiter::waiting) this->owner().enqueue(*this);
    }
    std::expected<std::optional<T>, error> result() { return state_->take(*reader_); }

private:
    state* state_;
    detail::reader_position* reader_;
};

/// One reader of a `broadcast`: receives what is sent from when it was made, until it is destroyed.
/// Move-only. One wait at a time; it must outlive what is awaited on it. It may be used on any
/// thread, on one at a time.
template <class T>
class [[nodiscard]] broadcast_reader {
public:
    broadcast_reader(broadcast_reader&&) noexcept = default;
    broadcast_reader& operator=(broadcast_reader&& other) noexcept {
        if (this != &other) {
            leave();
            state_ = std::move(other.state_);
            position_ = std::move(other.position_);
        }
        return *this;
    }
    ~broadcast_reader() { leave(); }

    /// Completes when there is a value that this reader has not received; gives it. Returns nothing
    /// when the broadcast is closed and all was received. Fails with `errc::too_slow` when this
    /// reader was disconnected. Resumes from the loop that awaits it. Cancelling it loses nothing.
    broadcast_receive<T> receive() noexcept { return {*state_, *position_}; }
    /// The next value, if there is one now.
    [[nodiscard]] std::optional<T> try_receive() {
        auto r = state_->take(*position_);
        if (!r) return std::nullopt;
        return *std::move(r);
    }
    /// `receive` for plain threads, which it blocks: `std::errc::timed_out` after `limit`,
    /// `errc::end_of_stream` at the end. Not on the thread of a loop.
    [[nodiscard]] std::expected<T, error> receive_blocking(duration limit = duration::max()) {
        using waiter = detail::broadcast_waiter;
        constexpr const char* name = detail::broadcast_state<T>::receive_name;
        detail::blocked_thread<waiter> self;
        if (state_->look(*position_, self, true) == waiter::waiting && !self.wait_for(limit)) {
            if (state_->withdraw_waiting(self)) {
                return std::unexpected(error(std::errc::timed_out, name));
            }
            self.wait();  // the thread that took it from the list is about to wake it
        }
        auto r = state_->take(*position_);
        if (!r) return std::unexpected(std::move(r).error());
        if (!*r) return std::unexpected(error(errc::end_of_stream, name));
        return **std::move(r);
    }

    /// Values that this reader missed because it was too slow.
    std::uint64_t lost() const noexcept { return state_->lost(*position_); }

private:
    friend class broadcast<T>;
    explicit broadcast_reader(std::shared_ptr<detail::broadcast_state<T>> s)
        : state_(std::move(s)), position_(std::make_unique<detail::reader_position>()) {
        state_->subscribe(*position_);
    }
    void leave() noexcept {
        if (position_ != nullptr) state_->unsubscribe(*position_);
    }

    std::shared_ptr<detail::broadcast_state<T>> state_;
    std::unique_ptr<detail::reader_position> position_;
};

/// Sends each value to all readers that there are, on any loops and threads; a value sent while
/// there are none is gone. Every reader gets a copy: give large values as `shared_ptr<const X>`.
/// The broadcast keeps at most `capacity` values that not all readers have received; `slow_reader`
/// says what happens then.
///
/// This is a handle: copies lead to the same broadcast, which lives as long as one of them or a
/// reader does. It must outlive what is awaited on it. Moving a `T` must not throw. A `T` is copied
/// under the lock of the broadcast, which its copy constructor must not use, nor the destructor of
/// one that was moved from; that of a value may.
template <class T>
class broadcast {
    static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>,
                  "a value moves between threads under a lock: that must not throw");

public:
    /// Room for `capacity` values, allocated at once. Throws `std::errc::invalid_argument` for 0,
    /// and `std::bad_alloc` or `std::length_error` for more than there can be.
    explicit broadcast(std::size_t capacity, slow_reader policy = slow_reader::drop_oldest)
        : state_(std::make_shared<detail::broadcast_state<T>>(capacity, policy)) {}

    /// Makes a reader. Any thread.
    broadcast_reader<T> subscribe() { return broadcast_reader<T>(state_); }

    /// Completes at once, but with `slow_reader::wait` when there is room: when every reader has
    /// received the oldest value. Fails with `std::errc::broken_pipe` when closed. Resumes from the
    /// loop that awaits it. Cancelling it ends the wait with nothing sent, and without effect once
    /// the value was taken over.
    broadcast_send<T> send(T value) noexcept {
        return broadcast_send<T>(*state_, std::move(value));
    }
    /// Sends if that needs no waiting; else, or when closed, gives false and leaves `value` as it
    /// is. Any thread.
    [[nodiscard]] bool try_send(T&& value) noexcept { return detail::try_send(*state_, value); }
    [[nodiscard]] bool try_send(const T& value) { return try_send(T(value)); }
    /// `send` for plain threads, which it blocks, for at most `limit`: `std::errc::timed_out` then.
    /// After an error `value` is as it was. Not on the thread of a loop.
    [[nodiscard]] std::expected<void, error> send_blocking(T&& value,
                                                           duration limit = duration::max()) {
        return detail::send_blocking(*state_, value, limit);
    }
    [[nodiscard]] std::expected<void, error> send_blocking(const T& value,
                                                           duration limit = duration::max()) {
        return send_blocking(T(value), limit);
    }

    /// Refuses what is sent from now on; readers still receive what was sent before. Any thread.
    void close() noexcept { state_->close(); }
    bool closed() const noexcept { return state_->closed(); }
    std::size_t readers() const noexcept { return state_->readers(); }
    std::size_t capacity() const noexcept { return state_->capacity(); }

private:
    std::shared_ptr<detail::broadcast_state<T>> state_;
};

}  // namespace coracle
