#pragma once

#include <coracle/runtime/detail/channel_state.hpp>

namespace coracle {

template <class T>
class channel;

/// The awaitable returned by `channel::send`; `value()` is the value to send, and is still there
/// after an error.
template <class T>
using channel_send = detail::send_operation<T, detail::channel_state<T>>;

/// The awaitable returned by `channel::receive`.
template <class T>
class [[nodiscard]] channel_receive final
    : public detail::remote_leaf<channel_receive<T>, std::optional<T>, detail::channel_receiver> {
    using receiver = detail::channel_receiver;
    using state = detail::channel_state<T>;

public:
    static constexpr const char* name = state::receive_name;
    explicit channel_receive(state& s) noexcept : state_(&s) {}

    bool start() noexcept {
        loop& l = this->owner();
        const bool inline_allowed = l.may_complete_inline();
        std::optional<T>* into = inline_allowed ? &value_ : nullptr;
        if (state_->receive(*this, into, true) == receiver::waiting) return false;
        if (inline_allowed) return true;
        l.enqueue(*this);
        return false;
    }
    void cancel() noexcept override {
        const auto before = state_->withdraw(*this);
        if (before == receiver::withdrawn) return;
        this->mark_cancelled();
        if (before == receiver::waiting) this->owner().enqueue(*this);
    }
    std::expected<std::optional<T>, error> result() noexcept {
        if (this->at == receiver::claims) value_ = state_->take_claimed(*this);
        return std::exchange(value_, std::nullopt);
    }

private:
    state* state_;
    std::optional<T> value_;
};

/// A bounded queue between any number of senders and receivers: tasks of any loop, and plain
/// threads. First in, first out; waiters are served in the order in which they came. A task that
/// waits blocks no thread. Waiting allocates nothing.
///
/// This is a handle: copies lead to the same queue, which lives as long as one of them does. An
/// operation refers to the handle's queue, so a handle must outlive what is awaited on it. Handles
/// may be copied, used and destroyed on any thread; one handle object as any other value.
///
/// `T` is movable, and moving it must not throw.
template <class T>
class channel {
    static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>,
                  "a value moves between threads under a lock: that must not throw");

public:
    using value_type = T;

    /// Room for `capacity` values, allocated at once. Throws `std::errc::invalid_argument` for 0.
    explicit channel(std::size_t capacity)
        : state_(std::make_shared<detail::channel_state<T>>(capacity)) {}

    /// Completes when there is room for `value`. Fails with `std::errc::broken_pipe` when the
    /// channel is closed. Resumes from the loop that awaits it. Cancelling it ends the wait with
    /// nothing sent, and without effect once the value was taken over; `value()` of the operation
    /// then has it, as after an error.
    channel_send<T> send(T value) noexcept { return channel_send<T>(*state_, std::move(value)); }
    /// Completes when there is a value for this receiver; gives it. Returns nothing when the
    /// channel is closed and empty: `while (auto v = co_await ch.receive()) ...`. Resumes from the
    /// loop that awaits it. Cancelling it loses no value: what was meant for it stays in its place,
    /// and the next receiver gets it.
    channel_receive<T> receive() noexcept { return channel_receive<T>(*state_); }

    /// Sends if there is room now; else, or when it is closed, gives false and leaves `value` as it
    /// is. Any thread.
    [[nodiscard]] bool try_send(T&& value) noexcept { return detail::try_send(*state_, value); }
    [[nodiscard]] bool try_send(const T& value) { return try_send(T(value)); }
    /// Returns a value if there is one that is not promised to a waiting receiver. Any thread.
    [[nodiscard]] std::optional<T> try_receive() noexcept {
        std::optional<T> value;
        detail::queued_receiver self;
        static_cast<void>(state_->receive(self, &value, false));
        return value;
    }

    /// `send` for plain threads, which it blocks, for at most `limit`: `std::errc::timed_out` then,
    /// `std::errc::broken_pipe` when closed. After an error `value` is as it was. Not on the thread
    /// of a loop.
    [[nodiscard]] std::expected<void, error> send_blocking(T&& value,
                                                           duration limit = duration::max()) {
        return detail::send_blocking(*state_, value, limit);
    }
    [[nodiscard]] std::expected<void, error> send_blocking(const T& value,
                                                           duration limit = duration::max()) {
        return send_blocking(T(value), limit);
    }
    /// `receive` for plain threads: `std::errc::timed_out` after `limit`, `errc::end_of_stream`
    /// when closed and empty. Not on the thread of a loop.
    [[nodiscard]] std::expected<T, error> receive_blocking(duration limit = duration::max()) {
        return state_->receive_blocking(limit);
    }

    /// Refuses what is sent from now on, also by senders that wait already. What is in the channel
    /// is still received. Any thread; once more is harmless.
    void close() noexcept { state_->close(); }
    bool closed() const noexcept { return state_->closed(); }

    /// Values in it, those that receivers are about to take included.
    std::size_t size() const noexcept { return state_->size(); }
    std::size_t capacity() const noexcept { return state_->capacity(); }

private:
    std::shared_ptr<detail::channel_state<T>> state_;
};

}  // namespace coracle
