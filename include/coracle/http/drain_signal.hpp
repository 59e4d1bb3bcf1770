#pragma once

#include <coracle/base/detail/intrusive_list.hpp>
#include <coracle/runtime/event.hpp>

#include <cstddef>

namespace coracle::http {

/// Learns that the server drains, for a connection that has left HTTP: its protocol has a way to
/// say good-bye. Belongs to one loop; leaves the signal when it is destroyed.
class drain_watch : public list_hook {
public:
    /// Called from the loop, once.
    virtual void drain_begins() noexcept = 0;

protected:
    drain_watch() noexcept = default;
    ~drain_watch() = default;
};

/// Tells those who watch it that a server begins to drain. One for each loop of a server.
class drain_signal {
public:
    bool begun() const noexcept { return begun_; }
    /// Notifies `w` when the drain begins; at once if it has begun.
    void watch(drain_watch& w) noexcept {
        if (begun_)
            w.drain_begins();
        else
            watching_.push_back(w);
    }
    /// For the server. Gives how many watched.
    std::size_t begin() noexcept {
        begun_ = true;
        std::size_t told = 0;
        for (; drain_watch* const w = watching_.pop_front(); ++told) w->drain_begins();
        return told;
    }

private:
    intrusive_list<drain_watch> watching_;
    bool begun_ = false;
};

class request;

/// Returns the drain of the server that received this request, which belongs to this loop; null
/// where there is no server.
drain_signal* drain_of(const request& req) noexcept;

/// Returns true once the server that received this request drains: a handler that would go on for
/// long may end early. `drain_notice` waits for it.
bool is_draining(const request& req) noexcept;

/// Waits for the drain of a server, in a handler or in the function of a response that goes on for
/// long: give it `drain_of(req)`. Of one loop; the server must outlive it.
class drain_notice final : drain_watch {
public:
    /// Null: it never comes.
    explicit drain_notice(drain_signal* of) noexcept {
        if (of != nullptr) of->watch(*this);
    }
    drain_notice(const drain_notice&) = delete;
    drain_notice& operator=(const drain_notice&) = delete;
    ~drain_notice() { unlink(); }

    /// Completes when the drain begins, at once when it has begun. Cancelling it costs nothing.
    auto wait() noexcept { return begun_.wait(); }

private:
    void drain_begins() noexcept override { begun_.set(); }
    event begun_;
};

}  // namespace coracle::http
