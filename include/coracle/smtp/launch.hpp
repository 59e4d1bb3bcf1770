#pragma once

#include <coracle/connect/detail/launch.hpp>
#include <coracle/smtp/sending.hpp>

namespace coracle::smtp::detail {

/// Makes the future that `sending::launch` returns.
template <class T>
struct launching<std::future<T>> {
    template <class Call>
    static std::future<T> begin(Call&& call) {
        return connect::detail::launch<std::future<T>, T>(std::forward<Call>(call));
    }
};

}  // namespace coracle::smtp::detail
