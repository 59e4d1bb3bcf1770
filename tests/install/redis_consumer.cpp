#include <coracle/base/version.hpp>
#include <coracle/redis/client.hpp>
#include <coracle/redis/topic_bus.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/websocket/topics.hpp>

#include <cstdio>
#include <memory>

using namespace coracle;

// Nothing listens where it connects to: that it can say so needs the whole of the component.
int main() {
    bool refused = false;
    block_on([&refused]() -> task<> {
        redis::client store("redis://127.0.0.1:1");
        auto asking = store.command("PING");
        auto said = co_await as_result(asking);
        refused = !said && said.error() == std::errc::connection_refused;
    });
    redis::topic_bus_options o;
    o.prefix = "consumer";
    const auto bus = std::make_shared<redis::topic_bus>("redis://127.0.0.1:1", o);
    const bool idle = !bus->is_connected();
    std::puts(refused && idle ? version() : "the component redis does not work");
}
