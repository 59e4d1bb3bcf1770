#pragma once

#include <coracle/http/call.hpp>
#include <coracle/runtime/launch.hpp>

namespace coracle::http {

template <class Future>
Future call::launch() && {
    const auto own = own_loop();
    return own->launch([c = std::move(*this)]() mutable { return c.full(); });
}

}  // namespace coracle::http
