// expect: nodiscard
#include <coracle/runtime/task.hpp>

#pragma GCC diagnostic error "-Wunused-result"

coracle::task<> work() {
    co_return;
}

coracle::task<> all() {
#ifdef CORACLE_CONTROL
    co_await work();
#else
    work();
    co_return;
#endif
}
