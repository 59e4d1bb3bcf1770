// expect: deleted
// expect: it is awaited once: co_await std::move|operator co_await\(\) & = delete
#include <coracle/runtime/task.hpp>

#include <utility>

coracle::task<int> work() {
    co_return 1;
}

coracle::task<int> all() {
    auto t = work();
#ifdef CORACLE_CONTROL
    co_return co_await std::move(t);
#else
    co_return co_await t;
#endif
}
