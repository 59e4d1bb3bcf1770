// expect: call_after calls plain functions
#include <coracle/runtime/call_after.hpp>
#include <coracle/runtime/sleep.hpp>

using namespace coracle;
using namespace std::chrono_literals;

void arm() {
#ifdef CORACLE_CONTROL
    call_after(1s, [] {}).detach();
#else
    call_after(1s, []() -> task<> { co_await yield(); }).detach();
#endif
}
