#pragma once

#include <coracle/runtime/background.hpp>

#include <future>

namespace coracle::detail {

template <class F>
    requires coroutine_source<F>
struct launching<F> {
    template <class G>
    static auto begin(background& on, G&& f) {
        using T = await_result<std::invoke_result_t<F&>>;
        background::call_slot place(on);
        std::promise<T> promise;
        std::future<T> future = promise.get_future();
        auto done = [promise = std::move(promise)](settled<T>& s) mutable {
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
        on.run<T>(place, std::forward<G>(f), std::move(done), callback_on::loop, nullptr);
        return future;
    }
};

}  // namespace coracle::detail
