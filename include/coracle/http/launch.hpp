#pragma once

#include <coracle/connect/detail/launch.hpp>
#include <coracle/http/call.hpp>

namespace coracle::http::detail {

/// Makes the future that `call::launch` returns.
template <class T>
struct launching<std::future<T>> {
    template <class Call>
    static std::future<T> begin(Call&& call) {
        return connect::detail::launch<std::future<T>, T>(std::forward<Call>(call));
    }
};

}  // namespace coracle::http::detail
