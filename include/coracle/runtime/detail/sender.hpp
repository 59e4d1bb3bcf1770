#pragma once

#include <coracle/runtime/detail/remote_leaf.hpp>

#include <type_traits>
#include <utility>

namespace coracle::detail {

/// A waiting sender of a `channel` or `broadcast`, whose lock guards `at`.
template <class T>
class sender : public remote_waiter {
public:
    enum state : std::uint8_t { idle, waiting, sent, refused, withdrawn };
    T* item = nullptr;
    state at = idle;

protected:
    sender() noexcept = default;
    sender(sender&&) noexcept = default;
    ~sender() = default;
};

/// A sender that never waits.
template <class T>
struct queued_sender final : sender<T> {
    explicit queued_sender(T& v) noexcept { this->item = &v; }
    void wake() noexcept override {}
};

/// Awaits that `State`, which must live until then, takes over a value.
template <class T, class State>
class [[nodiscard]] send_operation final
    : public remote_leaf<send_operation<T, State>, void, sender<T>> {
public:
    static constexpr const char* name = State::send_name;
    send_operation(State& s, T v) noexcept : state_(&s), value_(std::move(v)) {}

    /// The value to send; it is still there after an error.
    T& value() noexcept { return value_; }

    bool start() noexcept {
        loop& l = this->owner();
        this->item = &value_;
        const bool inline_allowed = l.may_complete_inline();
        if (state_->send(*this, true) == sender<T>::waiting) return false;
        if (inline_allowed) return true;
        l.enqueue(*this);
        return false;
    }
    void cancel() noexcept override {
        // A value that was taken over is sent: that cannot be undone.
        if (!state_->withdraw(*this)) return;
        this->mark_cancelled();
        this->owner().enqueue(*this);
    }
    std::expected<void, error> result() const noexcept {
        if (this->at == sender<T>::sent) return {};
        return std::unexpected(error(std::errc::broken_pipe, name));
    }

private:
    State* state_;
    T value_;
};

template <class T, class State>
bool try_send(State& state, T& value) noexcept {
    queued_sender<T> self(value);
    return state.send(self, false) == sender<T>::sent;
}

template <class T, class State>
std::expected<void, error> send_blocking(State& state, T& value, duration limit) {
    blocked_thread<sender<T>> self;
    self.item = &value;
    if (state.send(self, true) == sender<T>::waiting && !self.wait_for(limit)) {
        if (state.withdraw(self)) {
            return std::unexpected(error(std::errc::timed_out, State::send_name));
        }
        self.wait();  // the thread that took it from the list is about to wake it
    }
    if (self.at == sender<T>::sent) return {};
    return std::unexpected(error(std::errc::broken_pipe, State::send_name));
}

}  // namespace coracle::detail
