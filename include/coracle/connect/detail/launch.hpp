#pragma once

#include <coracle/base/error.hpp>
#include <coracle/runtime/background.hpp>

#include <exception>
#include <expected>
#include <future>
#include <utility>

namespace coracle::connect::detail {

/// Starts `call` on the loop of its client's own; gives a future of its result.
template <class Future, class Result, class Call>
Future launch(Call&& call) {
    static_cast<void>(call.own_loop());  // which throws when there is none any more
    std::promise<Result> promise;
    Future future = promise.get_future();
    auto keep = [promise = std::move(promise)](std::expected<Result, error> r) mutable {
        if (r) {
            promise.set_value(*std::move(r));
        } else {
            promise.set_exception(std::make_exception_ptr(exception(std::move(r).error())));
        }
    };
    std::forward<Call>(call).start(std::move(keep), callback_on::loop);
    return future;
}

}  // namespace coracle::connect::detail
