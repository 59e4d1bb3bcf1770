// expect: when_all and when_any take tasks and operations, not callables
// errors: 1
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_any.hpp>

using namespace coracle;

task<> first() {
    auto wait = []() -> task<> { co_await yield(); };
#ifdef CORACLE_CONTROL
    co_await when_any(wait(), yield());
#else
    co_await when_any(wait, yield());
#endif
}
