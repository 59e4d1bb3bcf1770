#pragma once

#include "testing/link.hpp"

#include <algorithm>
#include <vector>

namespace coracle::testing::detail {

enum class event_kind : std::uint8_t {
    bytes,        ///< a piece arrives
    finish,       ///< the end of a direction arrives
    reset,        ///< a reset arrives
    room,         ///< the sender learns that bytes were taken
    call,         ///< a client arrives at a listener
    established,  ///< the client learns that it is connected
    refused,      ///< the client learns that its call failed
    doom,         ///< something happens to a connection
    poke,         ///< what an end waits for is tried again
    poke_listener,
    poke_socket,
    datagram,
    late_datagram,
    resolved,  ///< the response to a query for a name
    file_happens,
    file_reported,  ///< the result reaches the task that waits
};

/// Something that will happen. Events of one moment happen in the order in which they were made.
struct event {
    time_point at;
    std::uint64_t sequence;
    subject* on;
    std::uint64_t amount;
    event_kind kind;
    side towards;

    bool after(const event& e) const noexcept {
        return at != e.at ? at > e.at : sequence > e.sequence;
    }
};

/// The events to come, the next first. Holds a reference to the subject of each event.
class event_queue {
public:
    event_queue() = default;
    event_queue(const event_queue&) = delete;
    event_queue& operator=(const event_queue&) = delete;
    ~event_queue() {
        for (const event& e : heap_) e.on->drop();
    }

    bool empty() const noexcept { return heap_.empty(); }
    const event& next() const noexcept { return heap_.front(); }
    std::uint64_t made() const noexcept { return made_; }

    void push(event_kind kind, time_point at, subject& on, side towards, std::uint64_t amount) {
        on.refer();
        heap_.push_back({at, made_++, &on, amount, kind, towards});
        std::push_heap(heap_.begin(), heap_.end(), later);
    }

    /// The reference that it held is the caller's to drop.
    event pop() {
        std::pop_heap(heap_.begin(), heap_.end(), later);
        const event e = heap_.back();
        heap_.pop_back();
        return e;
    }

private:
    static bool later(const event& a, const event& b) noexcept { return a.after(b); }

    std::vector<event> heap_;
    std::uint64_t made_ = 0;
};

}  // namespace coracle::testing::detail
