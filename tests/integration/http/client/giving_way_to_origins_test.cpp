// Calls that could use a connection that is open, while one to another origin waits for a place in
// a full pool.
#include <coracle/http/client.hpp>
#include <coracle/runtime/event.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;

class full_pool {
public:
    explicit full_pool(unsigned connections = 1) {
        const auto handler = [this](http::request& req) -> task<http::response> {
            if (req.path() == "/held") co_await released.wait();
            co_return std::string(req.path());
        };
        one_.emplace(sim_.loop(), http::handler(handler));
        two_.emplace(sim_.loop(), http::handler(handler));
        http::client_options o;
        o.http_version = http::version_choice::http_2;
        http::pool_options p;
        p.connections = connections;
        client_.emplace(o, p);
    }

    template <class F>
    void run(F f) {
        sim_.run([&]() -> task<> {
            co_await with_task_group(f);
            client_.reset();
            for (auto* server : {&one_, &two_}) {
                (*server)->stop();
                auto ending = (*server)->stopped();
                co_await std::move(ending);
            }
        });
    }
    /// A call of which a second copy is sent after 200 ms.
    task<> ask_one_twice(std::string path) {
        http::client_options o = client_->defaults();
        o.retry.hedge_after = 200ms;
        auto calling = client_->get(one_->url(path)).options(o).full();
        co_await std::move(calling);
    }
    /// The time that a call takes.
    task<duration> ask_one(std::string path) { return ask(one_->url(path)); }
    task<duration> ask_two(std::string path) { return ask(two_->url(path)); }

    event released;

private:
    task<duration> ask(std::string url) {
        const time_point begun = loop::current()->now();
        auto calling = client_->get(url).full();
        const auto got = co_await std::move(calling);
        EXPECT_EQ(got.status, http::status::ok);
        co_return loop::current()->now() - begun;
    }

    simulation sim_{1};
    std::optional<local_server> one_;
    std::optional<local_server> two_;
    std::optional<http::client> client_;
};

}  // namespace

TEST(client_giving_way, ends_while_the_other_call_gets_nothing_of_it) {
    full_pool w;
    w.run([&](task_group& group) -> task<> {
        bool is_served = false;
        group.spawn([&]() -> task<> { co_await w.ask_one("/held"); });
        co_await sleep_for(1s);
        group.spawn([&]() -> task<> {
            co_await w.ask_two("/waits");
            is_served = true;
        });
        co_await sleep_for(1s);
        // At first it gives way, for the connection may be free soon.
        const duration first = co_await w.ask_one("/1");
        EXPECT_GE(first, 1900ms);
        EXPECT_LE(first, 2200ms);
        // Then none does for a while.
        EXPECT_LE(co_await w.ask_one("/2"), 100ms);
        co_await sleep_for(3s);
        // And again, so that one which waits among many gets its turn.
        const duration third = co_await w.ask_one("/3");
        EXPECT_GE(third, 2500ms);
        EXPECT_LE(third, 3200ms);
        EXPECT_FALSE(is_served);
        w.released.set();
        co_await sleep_for(1s);
        EXPECT_TRUE(is_served);
    });
}

// The second copy is sent on the connection of the first.
TEST(client_giving_way, is_not_for_the_second_copy_of_a_call) {
    full_pool w(2);
    w.run([&](task_group& group) -> task<> {
        group.spawn([&]() -> task<> { co_await w.ask_two("/held"); });
        group.spawn([&]() -> task<> { co_await w.ask_one_twice("/held"); });
        co_await sleep_for(1s);
        EXPECT_LE(co_await w.ask_two("/1"), 100ms);
        w.released.set();
    });
}

}  // namespace coracle::testing
