// expect: deleted
// expect: give a callable that makes the task|spawn\(task<T>\)
#include <coracle/runtime/runtime.hpp>

coracle::task<> work() {
    co_return;
}

void start() {
#ifdef CORACLE_CONTROL
    coracle::spawn([] { return work(); });
#else
    coracle::spawn(work());
#endif
}
