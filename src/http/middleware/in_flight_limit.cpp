#include "http/middleware/permit_queue.hpp"

#include <coracle/http/middleware/in_flight_limit.hpp>
#include <coracle/runtime/detail/resident.hpp>
#include <coracle/runtime/loop.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

namespace coracle::http {

using detail::permit_queue;

class in_flight_limit::shared {
public:
    explicit shared(in_flight_limit_options o) : options(o) {
        if (o.requests != 0) return;
        error e(std::errc::invalid_argument, "in_flight_limit_options");
        throw_exception(std::move(e.on("requests")));
    }

    response refusal() {
        constexpr std::chrono::seconds::rep least = 0;
        refused.fetch_add(1, std::memory_order_relaxed);
        response r(status::service_unavailable);
        r.set("Retry-After", std::to_string(std::max(options.retry_after.count(), least)));
        return r;
    }

    const in_flight_limit_options options;
    std::atomic<std::uint64_t> refused{0};
};

namespace {

/// The queue of a limit on one loop. It holds the limit, so that no other one can be made at its
/// address and be taken for it.
class queue_here final : public resident {
public:
    explicit queue_here(std::shared_ptr<in_flight_limit::shared> limit)
        : resident(limit.get()), limit_(std::move(limit)), queue_(limit_->options) {}
    void loop_ended() noexcept override { delete this; }

    static permit_queue& of(const std::shared_ptr<in_flight_limit::shared>& limit) {
        loop& l = *loop::current();
        if (resident* const r = l.find_resident(limit.get())) {
            return static_cast<queue_here*>(r)->queue_;
        }
        auto made = std::make_unique<queue_here>(limit);
        l.settle(*made);
        return made.release()->queue_;
    }

private:
    std::shared_ptr<in_flight_limit::shared> limit_;
    permit_queue queue_;
};

/// A permit that its request holds until it ends.
struct held_permit final : detail::pin {
    explicit held_permit(permit_queue& of) noexcept : queue(&of) {
        retired = true;
        dispose = [](pin* p) noexcept { delete static_cast<held_permit*>(p); };
    }
    held_permit(const held_permit&) = delete;
    held_permit& operator=(const held_permit&) = delete;
    ~held_permit() { queue->give_back(); }

    permit_queue* queue;
};

}  // namespace

in_flight_limit::in_flight_limit(in_flight_limit_options options)
    : shared_(std::make_shared<shared>(options)) {}

handler in_flight_limit::operator()(handler inner) const {
    return [shared = shared_, inner = std::move(inner)](request& req) -> task<response> {
        permit_queue& permits = queue_here::of(shared);
        if (!permits.try_take()) {
            auto waiting = permits.wait();
            const bool is_admitted = co_await std::move(waiting);
            if (!is_admitted) co_return shared->refusal();
        }
        struct release {
            permit_queue* to;
            ~release() {
                if (to != nullptr) to->give_back();
            }
        } at_end{&permits};
        auto handling = inner(req);
        response out = co_await std::move(handling);
        // Its function is yet to do the work.
        if (out.body().type() == body::kind::stream) {
            auto held = std::make_unique<held_permit>(permits);
            at_end.to = nullptr;
            req.hold(*held);
            static_cast<void>(held.release());
        }
        co_return out;
    };
}

std::uint64_t in_flight_limit::refused() const noexcept {
    return shared_->refused.load(std::memory_order_relaxed);
}

}  // namespace coracle::http
