// expect: deleted
#include <coracle/runtime/generator.hpp>
#include <coracle/runtime/sleep.hpp>

using namespace coracle;

generator<int> numbers() {
    co_yield 1;
#ifndef CORACLE_CONTROL
    co_await yield();
#endif
}
