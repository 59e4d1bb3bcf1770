// compilers: gcc
// expect: destroys the captures of a lambda that is written inside a co_await expression twice
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/task_group.hpp>

#include <string>

using namespace coracle;

task<> wait(std::string text) {
#ifdef CORACLE_CONTROL
    const auto named = [text](task_group&) -> task<> { co_await yield(); };
    co_await with_task_group(named);
#else
    co_await with_task_group([text](task_group&) -> task<> { co_await yield(); });
#endif
}
