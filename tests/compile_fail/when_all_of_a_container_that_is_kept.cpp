// expect: move the members out of a container: pass it by std::move
// errors: 1
#include <coracle/runtime/when_all.hpp>

using namespace coracle;

task<> each(std::vector<task<>> all) {
#ifdef CORACLE_CONTROL
    co_await when_all(std::move(all));
#else
    co_await when_all(all);
#endif
}
