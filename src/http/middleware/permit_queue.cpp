#include "http/middleware/permit_queue.hpp"

#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <utility>

namespace coracle::http::detail {

class permit_queue::waiting_one : public list_hook {
public:
    explicit waiting_one(permit_queue& in) noexcept : in_(in) {
        in_.waiting_.push_back(*this);
        ++in_.count_;
    }
    waiting_one(const waiting_one&) = delete;
    waiting_one& operator=(const waiting_one&) = delete;
    ~waiting_one() {
        leave();
        // Was cancelled in the turn in which it got the permit.
        if (take_permit()) in_.give_back();
    }

    void grant() noexcept {
        leave();
        has_permit_ = true;
        decided.set();
    }
    void refuse() noexcept {
        leave();
        decided.set();
    }
    bool take_permit() noexcept { return std::exchange(has_permit_, false); }

    const time_point since = loop::current()->now();
    event decided;

private:
    void leave() noexcept {
        if (!linked()) return;
        unlink();
        --in_.count_;
    }

    permit_queue& in_;
    bool has_permit_ = false;
};

permit_queue::permit_queue(const in_flight_limit_options& o) noexcept
    : options_(o), free_(o.requests) {}

permit_queue::~permit_queue() = default;

bool permit_queue::is_late(const waiting_one& one) const noexcept {
    return options_.shed_after > duration::zero() &&
           loop::current()->now() - one.since > options_.shed_after;
}

bool permit_queue::is_overloaded() const noexcept {
    return loop::current()->now() < overloaded_until_;
}

/// An overload lasts until none has been late for a while, so that a queue that is empty for a
/// moment does not let the next ones be late.
void permit_queue::look_for_overload() noexcept {
    const waiting_one* const oldest = waiting_.front();
    if (oldest == nullptr || !is_late(*oldest)) return;
    overloaded_until_ = coracle::detail::later(loop::current()->now(), options_.shed_after);
}

void permit_queue::refuse_oldest() noexcept {
    waiting_.front()->refuse();
}

/// Returns false if one more may not wait.
bool permit_queue::make_place() noexcept {
    if (options_.waiting == 0) return false;
    look_for_overload();
    if (!is_overloaded()) return count_ < options_.waiting;
    while (!waiting_.empty() && (count_ >= options_.waiting || is_late(*waiting_.front()))) {
        refuse_oldest();
    }
    return true;
}

bool permit_queue::try_take() noexcept {
    if (free_ == 0) return false;
    --free_;
    return true;
}

task<bool> permit_queue::wait() {
    if (!make_place()) co_return false;
    waiting_one me(*this);
    auto waiting = with_timeout(options_.patience, me.decided.wait());
    const auto ended = co_await as_result(waiting);
    if (me.take_permit()) co_return true;
    if (!ended && ended.error() != std::errc::timed_out) throw_exception(ended.error());
    co_return false;
}

void permit_queue::give_back() noexcept {
    if (waiting_.empty()) {
        ++free_;
        return;
    }
    look_for_overload();
    waiting_one* const next = is_overloaded() ? waiting_.back() : waiting_.front();
    next->grant();
}

}  // namespace coracle::http::detail
