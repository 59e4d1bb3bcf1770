// expect: block_on takes a callable that makes the task, not the task itself
// errors: 1
#include <coracle/runtime/runtime.hpp>

using namespace coracle;

task<int> twice(int n) {
    co_return n * 2;
}

void begin() {
#ifdef CORACLE_CONTROL
    block_on([] { return twice(3); });
#else
    block_on(twice(3));
#endif
}
