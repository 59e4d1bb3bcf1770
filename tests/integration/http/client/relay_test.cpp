// `forward_to` between a client and a server that talk both ways at once.

#include "support/client_calls.hpp"
#include "support/each_version.hpp"
#include "support/eventually.hpp"

#include <coracle/http/forward.hpp>
#include <coracle/http/router.hpp>
#include <coracle/runtime/channel.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/testing/local_server.hpp>

#include <stdexcept>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;

/// Responds with the body of the request, while it comes.
http::response echo(http::request& req) {
    return http::stream([&req](http::body_writer& out) -> task<> {
        co_await out.flush();
        for (;;) {
            const std::string_view piece = co_await req.body().read();
            if (piece.empty()) co_return;
            co_await out.write(piece);
        }
    });
}

http::handler behind() {
    http::router all;
    all.post("/echo", echo);
    all.post("/refuse", [](http::request&) { return http::status::forbidden; });
    all.post("/tell", tell_request);
    all.post("/break", [](http::request& req) {
        return http::stream([&req](http::body_writer& out) -> task<> {
            co_await out.write(co_await req.body().read());
            throw std::runtime_error("of the test");
        });
    });
    return all;
}

class relays : public each_version {
protected:
    relays() {
        http::router routes;
        routes.any("/{*rest}", http::forward_to(inner_, behind_.url("")));
        front_.emplace(std::move(routes));
    }
    http::call post(std::string_view target, http::body::stream_function body) {
        return client_.post(front_->url(target)).body(http::body::stream(std::move(body)));
    }
    void expect_nothing_in_flight() {
        EXPECT_TRUE(eventually([this] { return front_->counters().in_flight == 0; }));
        EXPECT_TRUE(eventually([this] { return behind_.counters().in_flight == 0; }));
    }

    local_server behind_{behind()};
    http::client inner_{options()};
    std::optional<local_server> front_;
    http::client client_{options()};
};

task<> write_endlessly(http::body_writer& out) {
    const std::string piece(10'000, 'e');
    for (;;) co_await out.write(piece);
}

TEST_P(relays, carry_more_both_ways_than_windows_and_buffers_hold) {
    constexpr std::size_t pieces = 200;
    const std::string piece(100'000, 'p');
    block_on([&]() -> task<> {
        std::size_t received = 0;
        const auto send = [&](http::body_writer& out) -> task<> {
            for (std::size_t i = 0; i != pieces; ++i) co_await out.write(piece);
        };
        co_await post("/echo", send).duplex([&](http::response& r) -> task<> {
            for (;;) {
                const std::string_view some = co_await r.read();
                if (some.empty()) co_return;
                received += some.size();
            }
        });
        EXPECT_EQ(received, pieces * piece.size());
    });
    expect_nothing_in_flight();
    EXPECT_EQ(behind_.counters().connections, 1U);
}

TEST_P(relays, keep_connections_behind_uploads) {
    const std::string body(300'000, 'b');
    for (int i = 0; i != 3; ++i) {
        const auto got = client_.post(front_->url("/tell")).body(body).wait();
        EXPECT_EQ(body_told(got.body), body);
    }
    EXPECT_EQ(behind_.counters().connections, 1U);
    EXPECT_EQ(behind_.counters().requests, 3U);
}

TEST_P(relays, let_each_side_wait_for_what_the_other_says) {
    block_on([&]() -> task<> {
        channel<int> heard(1);
        const auto ask = [&](http::body_writer& out) -> task<> {
            for (int i = 0; i != 50; ++i) {
                const std::string line = std::to_string(i) + '\n';
                co_await out.write(line);
                EXPECT_EQ(co_await heard.receive(), i);
            }
        };
        int last = -1;
        co_await post("/echo", ask).duplex([&](http::response& r) -> task<> {
            std::string line;
            for (;;) {
                const std::string_view piece = co_await r.read();
                if (piece.empty()) co_return;
                line += piece;
                if (!line.ends_with('\n')) continue;
                last = std::stoi(line);
                line.clear();
                co_await heard.send(last);
            }
        });
        EXPECT_EQ(last, 49);
    });
}

TEST_P(relays, pass_a_refusal_on_while_the_request_comes) {
    block_on([&]() -> task<> {
        http::status seen{};
        co_await post("/refuse", write_endlessly).duplex([&](http::response& r) -> task<> {
            seen = r.status();
            co_return;
        });
        EXPECT_EQ(seen, http::status::forbidden);
    });
    expect_nothing_in_flight();
}

TEST_P(relays, break_off_where_the_server_does) {
    block_on([&]() -> task<> {
        auto done = co_await as_result(
            post("/break", write_endlessly).duplex([&](http::response& r) -> task<> {
                EXPECT_EQ(r.status(), http::status::ok);
                while (!(co_await r.read()).empty()) {
                }
            }));
        EXPECT_FALSE(done);
    });
    expect_nothing_in_flight();
}

TEST_P(relays, give_up_where_the_client_leaves) {
    block_on([&]() -> task<> {
        co_await post("/echo", write_endlessly).duplex([](http::response& r) -> task<> {
            co_await r.read();
        });
        const auto silent = [](http::body_writer& out) -> task<> {
            co_await out.write("begin");
            co_await forever();
        };
        const auto call = [&]() -> task<> {
            co_await post("/tell", silent).duplex([](http::response&) -> task<> { co_return; });
        };
        auto limited = with_timeout(100ms, call);
        EXPECT_FALSE(co_await as_result(limited));
    });
    expect_nothing_in_flight();
}

TEST_P(relays, respond_502_where_there_is_no_server) {
    http::router routes;
    routes.any("/{*rest}", http::forward_to(inner_, "http://127.0.0.1:1"));
    const local_server lonely(std::move(routes));
    block_on([&]() -> task<> {
        http::status seen{};
        co_await client_.post(lonely.url("/x"))
            .body(http::body::stream(write_endlessly))
            .duplex([&](http::response& r) -> task<> {
                seen = r.status();
                co_return;
            });
        EXPECT_EQ(seen, http::status::bad_gateway);
    });
    EXPECT_TRUE(eventually([&] { return lonely.counters().in_flight == 0; }));
}

INSTANTIATE_TEST_SUITE_P(over, relays, both_versions(), version_name);

}  // namespace
}  // namespace coracle::testing
