// Each allocation of a server, a client, timers and TLS fails in turn: nobody terminates, hangs or
// leaks, and the next request is served.

#include "hostile/serving_amid_failures.hpp"
#include "support/blocking_peer.hpp"
#include "support/fail_each.hpp"
#include "support/h2_peer.hpp"
#include "support/temporary_directory.hpp"
#include "support/test_ca.hpp"
#include "support/upgraded_client.hpp"

#include <coracle/fs/line_file.hpp>
#include <coracle/fs/watch.hpp>
#include <coracle/http/client.hpp>
#include <coracle/http/compress.hpp>
#include <coracle/http/server.hpp>
#include <coracle/net/serve.hpp>
#include <coracle/process/command.hpp>
#include <coracle/runtime/broadcast.hpp>
#include <coracle/runtime/channel.hpp>
#include <coracle/runtime/offload.hpp>
#include <coracle/runtime/on.hpp>
#include <coracle/runtime/owned_fd.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/ticker.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;

http::router routes() {
    http::router r;
    r.use(http::decompress());
    r.get("/", [](http::request&) { return "hello\n"; });
    r.get("/later", [](http::request&) -> task<http::response> {
        co_await sleep_for(1ms);
        co_return "later\n";
    });
    r.post("/echo", [](http::request& req) -> task<http::response> {
        co_return co_await req.body().text();
    });
    r.get("/stream", [](http::request&) {
        return http::stream([](http::body_writer& out) -> task<> {
            for (int i = 0; i != 3; ++i) co_await out.write("piece\n");
        });
    });
    r.get("/broken", [](http::request&) -> http::response { throw std::runtime_error("broken"); });
    r.problem_details();
    r.get("/large", [](http::request&) { return std::string(100'000, 'x'); });
    return r;
}

/// True when the response has this status; how it failed is not asked for.
task<bool> succeeds(http::call call, http::status wanted = http::status::ok) {
    bool good = false;
    try {
        http::response r = co_await std::move(call);
        const std::string text = co_await r.text();
        good = r.status() == wanted && !text.empty();
    } catch (const std::exception&) {
        good = false;
    }
    co_return good;
}

task<bool> asks_for_everything(http::client& client, const std::string& url) {
    bool good = true;
    const std::string_view paths[] = {"/", "/later", "/stream", "/large"};
    for (const std::string_view path : paths) {
        const bool one = co_await succeeds(client.get(url + std::string(path)));
        good = good && one;
    }
    const bool echoed =
        co_await succeeds(client.post(url + "/echo").body(std::string(20'000, 'y')));
    const bool missing = co_await succeeds(client.get(url + "/missing"), http::status::not_found);
    const bool broken =
        co_await succeeds(client.get(url + "/broken"), http::status::internal_server_error);
    co_return (good && echoed) && (missing && broken);
}

/// All of it at once over one connection of HTTP/2. False where one is not what it should be.
task<bool> asks_over_http2(net::address to) {
    h2_peer p(co_await connect_peer(std::move(to)));
    std::vector<h2_message*> all;
    for (const std::string_view path : {"/", "/later", "/stream", "/large"}) {
        all.push_back(&p.get(path));
    }
    all.push_back(&p.post("/echo", std::string(20'000, 'y')));
    const auto over = [&all] {
        return std::all_of(all.begin(), all.end(), [](const h2_message* m) { return m->over(); });
    };
    auto talk = [&]() -> task<> { co_await p.until(over); };
    co_await as_result(with_timeout(10s, talk));
    co_return std::all_of(all.begin(), all.end(), [](const h2_message* m) {
        return m->ended && m->status == 200 && !m->content.empty();
    });
}

/// Goes on in HTTP/2 by an upgrade, for the response to a request of HTTP/1.1.
task<bool> asks_by_an_upgrade(net::address to) {
    upgraded_client c(co_await connect_peer(std::move(to)));
    bool good = false;
    const auto talk = [&]() -> task<> {
        co_await c.send(h2c_offer("/later"));
        const std::string head = co_await c.connection().read_until("\r\n\r\n");
        if (!head.starts_with("HTTP/1.1 101 ")) co_return;
        const std::string response = co_await c.response(1);
        good = response.starts_with(":status: 200\n") && response.ends_with("\nlater\n");
    };
    co_await as_result(with_timeout(10s, talk));
    c.connection().close();
    co_return good;
}

/// Serves on the loop of this thread until `asked(server)` is true, for at most three attempts:
/// once the failure is over, one succeeds.
template <class Asked>
task<bool> serve_while(http::server_options options, Asked asked) {
    loop& here = *loop::current();
    // Nobody comes while it drains.
    options.timeouts.last_accept = duration::zero();
    http::server server(routes(), options);
    server.open(here);
    bool served = false;
    bool told = false;
    auto ask = [&]() -> task<> {
        const stop_at_the_end at_the_end{&server, &told};
        for (int attempt = 0; !served && attempt != 3; ++attempt) {
            try {
                served = co_await asked(server);
            } catch (const std::exception&) {
                served = false;
            }
        }
    };
    auto asking = ask();
    auto serving = serve_amid_failures(&server, &here, &told);
    co_await when_all(std::move(serving), std::move(asking));
    co_return served;
}

task<bool> ask_with_a_client(http::server& server) {
    http::client_options o;
    o.insecure = true;
    http::client client(o);
    const std::string url = server.urls().at(0);
    co_return co_await asks_for_everything(client, url);
}

task<bool> ask_over_http2(http::server& server) {
    return asks_over_http2(server.addresses().at(0));
}

task<bool> ask_by_an_upgrade(http::server& server) {
    return asks_by_an_upgrade(server.addresses().at(0));
}

task<bool> serve_and_ask(http::server_options options) {
    return serve_while(std::move(options), ask_with_a_client);
}

task<bool> serve_http2() {
    http::server_options options;
    options.listen = "127.0.0.1:0";
    return serve_while(std::move(options), ask_over_http2);
}

task<bool> serve_an_upgrade() {
    http::server_options options;
    options.listen = "127.0.0.1:0";
    options.h2c_upgrade = true;
    return serve_while(std::move(options), ask_by_an_upgrade);
}

/// Timers, offloaded work, channels and groups.
task<bool> wait_for_things() {
    auto slow = []() -> task<> { co_await sleep_for(1ms); };
    co_await as_result(with_timeout(5s, slow));
    auto tick = every(1ms);
    static_cast<void>(co_await tick.next());
    auto work = [] { return 7; };
    const int seven = co_await offload(work);
    auto many = [](task_group& g) -> task<> {
        for (int i = 0; i != 40; ++i) {
            g.spawn([]() -> task<> { co_await sleep_for(1ms); });
        }
        co_await sleep_for(1ms);
    };
    co_await with_task_group(many);
    co_return seven == 7;
}

/// A server of `net::serve` and its clients. A connection may be lost; what goes on then is served.
task<bool> serve_connections() {
    loop& here = *loop::current();
    auto l = net::listener::open(here, net::address::v4({127, 0, 0, 1}, 0));
    if (!l) throw exception(l.error());
    net::serve_counters counters;
    const auto echo = [](std::unique_ptr<net::socket> s) -> task<> {
        const buffer b = co_await s->receive();
        co_await s->send(b.view());
    };
    const net::address at = l->local();
    bool served = false;
    const auto ask = [&]() -> task<> {
        for (int attempt = 0; !served && attempt != 4; ++attempt) {
            try {
                auto s = co_await net::connect(at);
                co_await s->send("text");
                const buffer b = co_await s->receive();
                served = b.view() == "text";
            } catch (const std::exception&) {
                served = false;
            }
        }
    };
    const auto serve = [&]() -> task<> {
        try {
            co_await as_result(net::serve(*l, echo, {.drain = 1s, .counters = &counters}));
        } catch (const std::bad_alloc&) {
            // Before it accepts it may; then its handlers refer to it.
            EXPECT_EQ(counters.accepted, 0u);
            throw;
        }
    };
    auto asking = ask();
    auto serving = serve();
    co_await when_any(std::move(asking), std::move(serving));
    co_return served;
}

/// Values that several readers get.
task<bool> tell_everybody() {
    broadcast<std::string> news(4);
    auto a = news.subscribe();
    auto b = news.subscribe();
    const std::string text(100, 'x');
    co_await news.send(text);
    auto got = co_await a.receive();
    auto too = co_await b.receive();
    news.close();
    auto end = co_await a.receive();
    co_return got == text&& too == text && !end;
}

task<bool> run_a_process() {
    process::command echo("/bin/echo");
    echo.arg(std::string(100, 'x'));
    const auto said = co_await echo.capture();
    co_return said.status.success() && said.output.size() == 101;
}

/// Writes lines, which a thread of the file writes out.
task<bool> write_lines(std::string path) {
    fs::line_file lines(std::move(path));
    const std::string line(100, 'x');
    for (int i = 0; i != 3; ++i) static_cast<void>(lines.add(line + "\n"));
    const auto flush = [&lines] { lines.flush(); };
    co_await offload(flush);
    // Those for which there was no memory are counted.
    const fs::line_file_counters c = lines.counters();
    co_return c.lines + c.dropped == 3 && c.errors == 0;
}

task<bool> watch_a_directory(const temporary_directory& directory) {
    fs::watch_options options;
    options.settle = 0ms;
    auto changes = co_await fs::watch(directory.path(), std::move(options));
    static int number = 0;
    const std::string name = "file" + std::to_string(number++);
    const owned_fd made(
        ::open((directory.path() / name).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    const auto change = co_await changes.next();
    co_return change && change->path.ends_with(name);
}

/// Lets the allocation number `n` fail while a server takes in a connection: it is closed, counted,
/// and the next one is served. False where that takes fewer allocations.
task<bool> refuses_a_connection(std::size_t n) {
    loop& here = *loop::current();
    http::server_options o;
    o.listen = "127.0.0.1:0";
    o.timeouts.last_accept = duration::zero();
    http::server server(routes(), o);
    server.open(here);
    bool failed = false;
    const auto ask = [&]() -> task<> {
        co_await sleep_for(1ms);
        blocking_peer peer(server.addresses().front().port());
        fail_allocation(n);
        for (int i = 0; i != 20; ++i) co_await yield();
        failed = !allocation_will_fail();
        fail_allocation(0);
        co_await sleep_for(1ms);
        const http::server_counters c = server.counters();
        EXPECT_EQ(c.out_of_memory + c.accept_errors, failed ? 1U : 0U) << "allocation " << n;
        EXPECT_EQ(peer.is_closed(), failed) << "allocation " << n;
        EXPECT_TRUE(co_await ask_with_a_client(server));
        server.stop();
    };
    const auto serve = [&]() -> task<> { co_await server.run(here); };
    co_await when_all(serve(), ask());
    co_return failed && !::testing::Test::HasFailure();
}

TEST_P(failing_allocations, of_a_server_and_a_client_end_neither) {
    fail_each(GetParam(), [] {
        http::server_options o;
        o.listen = "127.0.0.1:0";
        o.limits.connections_per_client = 1000;
        return serve_and_ask(o);
    });
}

TEST_P(failing_allocations, of_a_new_connection_refuse_it_and_are_counted) {
    runtime_options o;
    o.backend = GetParam();
    std::size_t n = 1;
    while (block_on([&n]() -> task<bool> { return refuses_a_connection(n); }, o)) ++n;
    EXPECT_GT(n, 1U);
}

TEST_P(failing_allocations, of_http2_end_nothing_but_a_connection) {
    fail_each(GetParam(), [] { return serve_http2(); });
}

TEST_P(failing_allocations, of_an_upgrade_to_http2_end_nothing_but_a_connection) {
    fail_each(GetParam(), [] { return serve_an_upgrade(); });
}

TEST_P(failing_allocations, of_tls_end_neither_side) {
    const test_ca ca;
    tls::server_options t;
    t.certificates.push_back(ca.issue({.names = {"localhost", "127.0.0.1"}}));
    const auto context = std::make_shared<tls::server_context>(t);
    fail_each(GetParam(), [&context] {
        http::server_options o;
        o.listen = "https://127.0.0.1:0";
        o.tls = context;
        return serve_and_ask(o);
    });
}

TEST_P(failing_allocations, of_timers_groups_and_offloaded_work_end_only_their_task) {
    fail_each(GetParam(), [] { return wait_for_things(); });
}

TEST_P(failing_allocations, of_served_connections_end_only_these) {
    fail_each(GetParam(), [] { return serve_connections(); });
}

TEST_P(failing_allocations, of_a_broadcast_end_only_their_task) {
    fail_each(GetParam(), [] { return tell_everybody(); });
}

TEST_P(failing_allocations, of_a_process_end_only_their_task) {
    fail_each(GetParam(), [] { return run_a_process(); });
}

TEST_P(failing_allocations, of_a_file_of_lines_drop_these) {
    const temporary_directory directory;
    fail_each(GetParam(), [&] { return write_lines(directory.path() / "lines"); });
}

TEST_P(failing_allocations, of_a_watch_end_only_its_task) {
    const temporary_directory directory;
    fail_each(GetParam(), [&] { return watch_a_directory(directory); });
}

INSTANTIATE_TEST_SUITE_P(each_backend, failing_allocations, system_backends(), backend_name);

}  // namespace
}  // namespace coracle::testing
