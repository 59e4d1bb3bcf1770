// expect: deleted
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>

void start() {
#ifdef CORACLE_CONTROL
    coracle::spawn([] { return coracle::sleep_for(std::chrono::seconds(1)); });
#else
    coracle::spawn(coracle::sleep_for(std::chrono::seconds(1)));
#endif
}
