// Operations in a program without coroutines of its own: wait, future, callback.

#include <coracle/runtime/background.hpp>
#include <coracle/runtime/launch.hpp>
#include <coracle/runtime/sleep.hpp>

#include <iostream>

using namespace coracle;
using namespace std::chrono_literals;

namespace {

task<int> remote_value(duration after) {  // stands for a call to elsewhere
    co_await sleep_for(after);
    co_return 42;
}

}  // namespace

int main() {
    background bg;

    std::cout << "waited: " << bg.wait([] { return remote_value(10ms); }) << '\n';

    auto future = bg.launch([] { return remote_value(10ms); });
    std::cout << "from the future: " << future.get() << '\n';

    // On a thread for callbacks; the call goes on when its handle is gone.
    const auto print = [](std::expected<int, error> r) {
        if (r)
            std::cout << "called back: " << *r << '\n';
        else
            std::cout << "called back: " << r.error() << '\n';
    };
    bg.start([] { return remote_value(20ms); }, print);

    const auto slow = bg.start([] { return remote_value(1h); }, print);
    slow.cancel();
    slow.wait();

    if (bg.stop(1s)) std::cout << "had to cancel something\n";
}
