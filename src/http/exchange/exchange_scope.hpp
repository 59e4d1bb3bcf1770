#pragma once

#include <coracle/runtime/event.hpp>
#include <coracle/runtime/task_group.hpp>

namespace coracle::http::detail {

/// Tasks that go on beside the handler of an exchange and its response. The exchange ends when they
/// have ended; with its connection they are cancelled.
struct exchange_scope {
    task_group* tasks = nullptr;
    event response_over;  ///< the response was sent, or will not be: they should end
};

}  // namespace coracle::http::detail
