#pragma once

#include <coracle/runtime/background.hpp>

#include <future>

namespace coracle {

template <class F>
auto background::launch(F&& f) {
    using T = detail::await_result<std::invoke_result_t<std::decay_t<F>&>>;
    entrance place(*this);
    std::promise<T> promise;
    std::future<T> future = promise.get_future();
    auto done = [promise = std::move(promise)](detail::settled<T>& s) mutable {
        try {
            if constexpr (std::is_void_v<T>) {
                s.take();
                promise.set_value();
            } else {
                promise.set_value(s.take());
            }
        } catch (...) {
            promise.set_exception(std::current_exception());
        }
    };
    run<T>(place, std::forward<F>(f), std::move(done), callback_on::loop, nullptr);
    return future;
}

}  // namespace coracle
