#pragma once

#include <coracle/runtime/spawn.hpp>

#include <memory>
#include <utility>

namespace coracle::detail {

template <class F>
class service final : public detached<F> {
public:
    using detached<F>::detached;

    void start(task<> work, loop& owner, const char* name) {
        const auto first = this->begin(std::move(work), owner, nullptr, name);
        owner.service_started();
        this->own_context().attach_isolated(owner.root());
        if (owner.stops_services()) this->cancel();
        this->resume_soon(first, owner);
    }

private:
    void over() noexcept override { this->finish().service_ended(); }
};

/// As `spawn`, for a task that carries the calls of others: it is cancelled when the loop stops and
/// all other tasks have ended, so that their clean-up can make calls.
template <class F>
    requires coroutine_source<std::decay_t<F>>
void spawn_service(loop& here, F&& f, const char* name) {
    auto s = std::make_unique<service<std::decay_t<F>>>(std::forward<F>(f));
    task<> work = s->make();
    s.release()->start(std::move(work), here, name);
}

}  // namespace coracle::detail
