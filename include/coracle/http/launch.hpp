#pragma once

#include <coracle/http/call.hpp>

#include <future>

namespace coracle::http {

template <class Future>
Future call::launch() && {
    static_cast<void>(own_loop());  // which throws when there is none any more
    std::promise<full_response> promise;
    Future future = promise.get_future();
    auto keep = [promise = std::move(promise)](std::expected<full_response, error> r) mutable {
        if (r) {
            promise.set_value(*std::move(r));
        } else {
            promise.set_exception(std::make_exception_ptr(exception(std::move(r).error())));
        }
    };
    std::move(*this).start(std::move(keep), callback_on::loop);
    return future;
}

}  // namespace coracle::http
