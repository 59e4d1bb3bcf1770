// Data that a store gives for a session. Checked: the handler of the next request sees what the one
// before it saw and changed, and what is malformed is an empty session that the store forgets.
#include "require.hpp"

#include <coracle/http/client.hpp>
#include <coracle/http/middleware/sessions.hpp>
#include <coracle/http/router.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/simulation.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

using namespace coracle;

namespace {

/// Has one session, under every key.
class one_session final : public http::session_store {
public:
    task<std::expected<std::optional<std::string>, error>> load(std::string_view,
                                                                std::chrono::seconds) override {
        co_return data;
    }
    task<std::expected<void, error>> save(std::string_view, std::string_view what,
                                          std::chrono::seconds, http::session_save) override {
        data = std::string(what);
        co_return std::expected<void, error>();
    }
    task<std::expected<bool, error>> remove(std::string_view) override {
        const bool there = data.has_value();
        data.reset();
        co_return there;
    }

    std::optional<std::string> data;
};

/// The view of a handler.
struct seen {
    std::string user;
    std::string a;
    bool is_new = false;
};

task<> ask_twice(std::shared_ptr<one_session> store, seen* first, seen* second) {
    seen* now = first;
    http::router routes;
    routes.use(http::sessions({.store = store, .secure = false, .longest = 512}));
    routes.get("/", [&now](http::request& req) {
        http::session& s = http::session::of(req);
        *now = {std::string(s.user()), std::string(s.bytes("a").value_or("none")), s.is_new()};
        static_cast<void>(s.get<int>("count"));
        // One that has no room for more says so.
        try {
            s.set("b", 1);
            s.erase("b");
        } catch (const exception&) {
            s.erase("count");
        }
        return http::response("");
    });
    testing::local_server server(*loop::current(), routes);
    http::client_options o;
    o.proxy_from_environment = false;
    http::client client(o);
    const std::string url = "http://127.0.0.1:" + std::to_string(server.port()) + '/';
    for (seen* const next : {first, second}) {
        now = next;
        auto call = client.get(url);
        call.header("Cookie", "session=AAAAAAAAAAAAAAAAAAAAAA");
        auto asking = call.full();
        static_cast<void>(co_await std::move(asking));
    }
    server.stop();
    co_await server.stopped();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 1024) return 0;
    const auto store = std::make_shared<one_session>();
    store->data = std::string(reinterpret_cast<const char*>(data), size);
    seen first;
    seen second;
    testing::simulation sim;
    sim.run([&] { return ask_twice(store, &first, &second); });
    require(first.user == second.user && first.a == second.a);
    if (first.is_new) require(first.user.empty() && first.a == "none" && !store->data);
    return 0;
}
