// expect: block_on takes a callable without parameters that returns a task or an operation
// errors: 1
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>

using namespace coracle;

void begin() {
#ifdef CORACLE_CONTROL
    block_on([] { return yield(); });
#else
    block_on([] { return 3; });
#endif
}
