// Passes coracle_check_awaits; with the await behind || it must not.
#include <coracle/runtime.hpp>

using namespace coracle;

namespace {

task<bool> turns() {
    co_await yield();
    co_return true;
}

}  // namespace

int main(int argc, char**) {
    return block_on([argc]() -> task<int> {
        const bool turned = co_await turns();
        co_return turned&& argc > 0 ? 0 : 1;
    });
}
