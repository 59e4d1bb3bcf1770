// compilers: gcc
// expect: destroys the captures of a lambda that is written inside a co_await expression twice
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <string>

using namespace coracle;
using namespace std::chrono_literals;

task<> wait(std::string text) {
#ifdef CORACLE_CONTROL
    const auto named = [text]() -> task<> { co_await yield(); };
    co_await with_timeout(1s, named);
    co_await with_timeout(1s, [] { return sleep_for(1ms); });
    co_await with_timeout(1s, [&text]() -> task<> { co_await sleep_for(1ms * text.size()); });
#else
    co_await with_timeout(1s, [text]() -> task<> { co_await yield(); });
#endif
}
