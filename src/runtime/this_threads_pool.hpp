#pragma once

namespace coracle {
class thread_pool;
}

namespace coracle::detail {

/// The pool whose thread this is; null for other threads.
const thread_pool* this_threads_pool() noexcept;

}  // namespace coracle::detail
