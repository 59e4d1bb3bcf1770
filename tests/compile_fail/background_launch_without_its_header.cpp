// expect: #include <coracle/runtime/launch.hpp>
#include <coracle/runtime/background.hpp>
#include <coracle/runtime/sleep.hpp>
#ifdef CORACLE_CONTROL
#include <coracle/runtime/launch.hpp>
#endif

using namespace coracle;

void begin(background& threads) {
    auto done = threads.launch([] { return yield(); });
}
