// compilers: gcc
// expect: destroys the captures of a lambda that is written inside a co_await expression twice
#include <coracle/runtime/on.hpp>
#include <coracle/runtime/sleep.hpp>

#include <string>

using namespace coracle;

task<> wait(loop& other, std::string text) {
#ifdef CORACLE_CONTROL
    const auto named = [text]() -> task<> { co_await yield(); };
    co_await on(other, named);
    co_await on(other, [] { return yield(); });
#else
    co_await on(other, [text]() -> task<> { co_await yield(); });
#endif
}
