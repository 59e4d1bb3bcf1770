#include "integration/http/simulated_server.hpp"

#include <stdexcept>
#include <vector>

namespace {

using namespace simulated;

/// All that comes for one request on a connection of its own, which it asks to be closed.
task<std::string> ask_once(world& w, std::string text) {
    peer p = co_await w.connect();
    co_await p.send(std::move(text));
    co_return co_await p.read_to_end();
}

task<> expect_status(world& w, std::string text, std::string_view status) {
    const std::string response = co_await ask_once(w, text);
    EXPECT_TRUE(response.starts_with("HTTP/1.1 " + std::string(status) + " ")) << text << response;
}

/// A network on which what is sent together arrives together.
simulation_options whole_segments() {
    simulation_options s;
    s.split = 0;
    return s;
}

/// Responds with an upgrade whose function says "bye", and then does `then`.
http::handler talk_until(task<> (*then)(net::byte_stream&)) {
    return [then](http::request&) {
        return http::upgrade("talk", [then](http::upgraded_connection& c) -> task<> {
            co_await c.stream.send("bye");
            co_await then(c.stream);
        });
    };
}

task<> end_at_once(net::byte_stream&) {
    co_return;
}

task<> gone_quiet(net::byte_stream& s) {
    for (;;) {
        const auto bytes = co_await as_result(s.receive());
        if (!bytes) break;
    }
}

task<> fail(net::byte_stream&) {
    co_await yield();
    throw std::runtime_error("by intent");
}

/// A client that has asked for that.
task<peer> ask_to_talk(world& w) {
    peer p = co_await w.connect();
    co_await p.send(get("/", "Connection: upgrade\r\nUpgrade: talk\r\n"));
    co_return p;
}

/// The statuses of the responses of a server, as it records them.
struct recorded {
    http::server_options options() {
        http::server_options o;
        o.observe(*this);
        return o;
    }
    void observe(const http::access_record& record) { all.push_back(http::to_code(record.status)); }
    std::vector<int> all;
};

}  // namespace

TEST(expect_continue, leaves_a_connection_open_whose_body_is_there_already) {
    for (const char* path : {"/echo", "/ignore", "/count"}) {
        world w(1, {}, whole_segments());
        w.run([path](world& in) -> task<> {
            peer p = co_await in.connect();
            for (int i = 0; i != 3; ++i) {
                co_await p.send(
                    post(path, "Expect: 100-continue\r\nContent-Length: 5\r\n", "12345"));
                const std::string response = co_await read_response(p);
                EXPECT_TRUE(response.starts_with("HTTP/1.1 200 ")) << path << response;
                EXPECT_EQ(response.find("Connection: close"), std::string::npos)
                    << path << response;
            }
            co_await p.send(post(path,
                                 "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n"
                                 "Connection: close\r\n",
                                 "5\r\n12345\r\n0\r\n\r\n"));
            const std::string last = co_await p.read_to_end();
            EXPECT_TRUE(last.starts_with("HTTP/1.1 200 ")) << path << last;
        });
    }
}

TEST(expect_continue, is_not_sent_to_a_client_that_has_begun_its_body) {
    world w(1, {}, whole_segments());
    w.run([](world& in) -> task<> {
        peer p = co_await in.connect();
        co_await p.send(post("/echo", "Expect: 100-continue\r\nContent-Length: 5\r\n", "12"));
        co_await sleep_for(1s);
        co_await p.send("345" + get("/hello", "Connection: close\r\n"));
        const std::string responses = co_await p.read_to_end();
        EXPECT_TRUE(responses.starts_with("HTTP/1.1 200 ")) << responses;
        EXPECT_TRUE(responses.ends_with("hello")) << responses;
    });
}

TEST(upgrade, is_refused_where_it_was_not_offered) {
    for_seeds(3, [](world& w) -> task<> {
        const std::string close = "Connection: close\r\n";
        const std::string offer = "Upgrade: echo\r\nConnection: upgrade, close\r\n";
        co_await expect_status(w, get("/upgrade", close), "426");
        co_await expect_status(w, get("/upgrade", close + "Upgrade: echo\r\n"), "426");
        co_await expect_status(w, get("/upgrade", "Connection: upgrade, close\r\n"), "426");
        co_await expect_status(
            w, get("/upgrade", "Connection: close, upgrade\r\nUpgrade: h2c, echo/2\r\n"), "426");
        co_await expect_status(w, "GET /upgrade HTTP/1.0\r\n" + offer + "\r\n", "426");
        co_await expect_status(w, "HEAD /upgrade HTTP/1.1\r\nHost: x\r\n" + offer + "\r\n", "426");
        const std::string refused = co_await ask_once(w, get("/upgrade", close));
        EXPECT_NE(refused.find("\r\nUpgrade: echo\r\n"), std::string::npos) << refused;
        EXPECT_NE(refused.find("\r\nConnection: close, upgrade\r\n"), std::string::npos) << refused;
    });
}

TEST(upgrade, is_done_for_one_of_several_protocols_in_any_case) {
    for_seeds(3, [](world& w) -> task<> {
        peer p = co_await w.connect();
        co_await p.send(
            get("/upgrade", "Connection: keep-alive, Upgrade\r\nUpgrade: h2c , ECHO\r\n"));
        const std::string head = co_await p.read_until("\r\n\r\n");
        EXPECT_TRUE(head.starts_with("HTTP/1.1 101 ")) << head;
        co_await p.send("x");
        EXPECT_EQ(co_await p.read_exactly(1), "x");
        p.shutdown_output();
        co_await p.expect_close();
    });
}

TEST(upgrade, is_recorded_once_when_its_connection_ends) {
    for (const std::uint64_t seed : seeds(3)) {
        recorded statuses;
        world w(seed, talk_until(&gone_quiet), statuses.options());
        w.run([&](world& in) -> task<> {
            peer p = co_await ask_to_talk(in);
            EXPECT_TRUE((co_await p.read_until("\r\n\r\n")).starts_with("HTTP/1.1 101 "));
            EXPECT_EQ(co_await p.read_exactly(3), "bye");
            EXPECT_EQ(in.counters().in_flight, 1u);
            EXPECT_EQ(in.counters().active, 1u);
            EXPECT_TRUE(statuses.all.empty());
            p.shutdown_output();
            co_await p.expect_close();
            EXPECT_EQ(statuses.all, std::vector<int>{101});
            EXPECT_EQ(in.counters().in_flight, 0u);
            EXPECT_EQ(in.counters().active, 0u);
        });
    }
}

TEST(upgrade, whose_function_throws_is_recorded_as_a_failure) {
    for (const std::uint64_t seed : seeds(3)) {
        recorded statuses;
        world w(seed, talk_until(&fail), statuses.options());
        w.run([&](world& in) -> task<> {
            peer p = co_await ask_to_talk(in);
            EXPECT_TRUE((co_await p.read_to_end()).ends_with("\r\n\r\nbye"));
            EXPECT_EQ(statuses.all, std::vector<int>{500});
        });
    }
}

/// The last request of a connection lingers also when it has switched: what the client still sends
/// must not reset away what it has not read.
TEST(upgrade, of_the_last_request_lets_the_client_read_to_the_end) {
    http::server_options options;
    options.limits.requests = 1;
    for (const std::uint64_t seed : seeds(20)) {
        world w(seed, talk_until(&end_at_once), options);
        w.run([&](world& in) -> task<> {
            peer p = co_await ask_to_talk(in);
            co_await p.send(repeated(200'000));
            EXPECT_TRUE((co_await p.read_to_end()).ends_with("\r\n\r\nbye"));
            EXPECT_EQ(p.ended(), ending::finished);
        });
    }
}

TEST(a_response, that_asks_for_it_ends_its_connection) {
    const auto handler = [](http::request& req) {
        http::response r("hello");
        if (req.path() == "/last") r.set("Connection", "close");
        if (req.path() == "/odd") r.set("Connection", "keep-alive, X-Odd");
        return r;
    };
    world w(1, handler);
    w.run([](world& in) -> task<> {
        peer p = co_await in.connect();
        for (const char* path : {"/", "/odd", "/last"}) {
            co_await p.send(get(path));
            const std::string response = co_await read_response(p);
            EXPECT_EQ(response.find("\r\nConnection: close\r\n") != response.npos,
                      path == std::string_view("/last"))
                << response;
            EXPECT_EQ(response.find("X-Odd"), response.npos);
        }
        EXPECT_EQ(co_await p.read_to_end(), "");
        EXPECT_EQ(p.ended(), ending::finished);
    });
}

TEST(targets, of_schemes_that_are_not_served_are_misdirected) {
    for_seeds(3, [](world& w) -> task<> {
        const auto with = [](std::string_view target) {
            return "GET " + std::string(target) +
                   " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        };
        co_await expect_status(w, with("http://x/hello"), "200");
        co_await expect_status(w, with("HTTP://x/hello"), "200");
        co_await expect_status(w, with("https://x/hello"), "421");
        co_await expect_status(w, with("ftp://x/hello"), "421");
        EXPECT_EQ(w.counters().malformed, 2U);
    });
}

TEST(requests, of_a_later_minor_version_are_processed_as_http_1_1) {
    for_seeds(3, [](world& w) -> task<> {
        peer p = co_await w.connect();
        for (int i = 0; i != 2; ++i) {
            co_await p.send("GET /hello HTTP/1.2\r\nHost: x\r\n\r\n");
            const std::string response = co_await read_response(p);
            EXPECT_TRUE(response.starts_with("HTTP/1.1 200 ")) << response;
        }
        co_await expect_status(w, "GET /hello HTTP/2.0\r\nHost: x\r\n\r\n", "505");
    });
}

TEST(a_handler_that_throws, is_named_in_the_log_also_inside_of_middleware) {
    for (const bool with_middleware : {false, true}) {
        http::router r;
        if (with_middleware) {
            r.use([](http::request& req, const http::handler& next) -> task<http::response> {
                http::response response = co_await next(req);
                response.set("X-Safe", "1");
                co_return response;
            });
        }
        r.get("/boom", [](http::request&) -> task<http::response> {
            co_await sleep_for(1ms);
            throw std::runtime_error("no keel");
        });
        world w(1, r);
        const error_log log(w.sim.log());
        w.run([with_middleware](world& in) -> task<> {
            const std::string response =
                co_await ask_once(in, get("/boom?key=1", "Connection: close\r\n"));
            EXPECT_TRUE(response.starts_with("HTTP/1.1 500 ")) << response;
            EXPECT_EQ(response.find("X-Safe: 1") != std::string::npos, with_middleware) << response;
            EXPECT_EQ(response.find("keel"), std::string::npos) << response;
            EXPECT_EQ(in.counters().handler_errors, 1U);
        });
        EXPECT_NE(log.text().find("a handler failed for GET /boom: std::runtime_error: no keel\n"),
                  std::string::npos)
            << log.text();
    }
}

TEST(server_semantics, takes_a_status_that_was_thrown_for_no_failure) {
    http::router r;
    r.get("/status/{code}", [](http::request& req) -> http::response {
        const auto code = static_cast<http::status>(std::stoi(std::string(req.param("code"))));
        throw_exception(error(make_error_code(code), "upstream"));
    });
    r.get("/disk", [](http::request&) -> http::response {
        throw_exception(error(std::errc::no_space_on_device, "save"));
    });
    world w(1, r);
    const error_log log(w.sim.log());
    w.run([&](world& in) -> task<> {
        for (const std::string code : {"404", "502", "503", "504"}) {
            const std::string response =
                co_await ask_once(in, get("/status/" + code, "Connection: close\r\n"));
            EXPECT_TRUE(response.starts_with("HTTP/1.1 " + code)) << response;
        }
        EXPECT_EQ(in.counters().handler_errors, 0U);
        EXPECT_EQ(log.text(), "");
        const std::string full = co_await ask_once(in, get("/disk", "Connection: close\r\n"));
        EXPECT_TRUE(full.starts_with("HTTP/1.1 507 ")) << full;
        EXPECT_EQ(in.counters().handler_errors, 1U);
    });
    EXPECT_NE(log.text(), "");
}

TEST(a_connect, gets_no_tunnel_and_ends_the_connection_whatever_the_handler_responds) {
    int calls = 0;
    world w(1, [&calls](http::request&) {
        ++calls;
        return http::response("anything");
    });
    w.run([](world& in) -> task<> {
        peer p = co_await in.connect();
        co_await p.send("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n" + get("/secret"));
        const std::string all = co_await p.read_to_end();
        EXPECT_TRUE(all.starts_with("HTTP/1.1 501 ")) << all;
        EXPECT_NE(all.find("Connection: close\r\n"), std::string::npos) << all;
        EXPECT_EQ(all.find("HTTP/", 1), std::string::npos) << all;
        EXPECT_EQ(in.counters().malformed, 0U);
    });
    EXPECT_EQ(calls, 0);
}

TEST(a_stream_that_throws, before_it_began_keeps_the_fields_of_middleware) {
    http::router r;
    r.use([](http::request& req, const http::handler& next) -> task<http::response> {
        http::response response = co_await next(req);
        response.set("X-Safe", "1").set("Content-Security-Policy", "default-src 'none'");
        co_return response;
    });
    r.get("/boom", [](http::request&) {
        auto failing = http::stream(
            [](http::body_writer&) -> task<> {
                co_await sleep_for(1ms);
                throw http::status_error(http::status::service_unavailable);
            },
            "image/png");
        failing.set("ETag", "\"x\"").set("Content-Language", "de");
        return failing;
    });
    world w(1, r);
    w.run([](world& in) -> task<> {
        const std::string response = co_await ask_once(in, get("/boom", "Connection: close\r\n"));
        EXPECT_TRUE(response.starts_with("HTTP/1.1 503 ")) << response;
        EXPECT_NE(response.find("X-Safe: 1\r\n"), std::string::npos) << response;
        EXPECT_NE(response.find("Content-Security-Policy: "), std::string::npos) << response;
        for (const char* of_body : {"image/png", "ETag", "Content-Language"}) {
            EXPECT_EQ(response.find(of_body), std::string::npos) << response;
        }
    });
}

TEST(server_counters, tell_responses_by_the_hundreds_of_their_status) {
    for_seeds(few, [](world& w) -> task<> {
        peer p = co_await w.connect();
        std::string all;
        for (const char* status : {"200", "299", "300", "304", "399", "400", "404", "499", "500"}) {
            all += get(std::string("/status?is=") + status);
        }
        co_await p.send(all + get("/status?is=599", "Connection: close\r\n"));
        EXPECT_EQ(count_of(co_await p.read_to_end(), "HTTP/1.1 "), 10U);
        const auto c = w.counters();
        EXPECT_EQ(c.responses_2xx, 2U);
        EXPECT_EQ(c.responses_3xx, 3U);
        EXPECT_EQ(c.responses_4xx, 3U);
        EXPECT_EQ(c.responses_5xx, 2U);
    });
}

TEST(a_handler_that_throws, because_its_client_has_gone_is_no_failure_of_its_own) {
    http::router r;
    r.use([](http::request& req, const http::handler& next) { return next(req); });
    r.post("/read", [](http::request& req) -> task<http::response> {
        co_return co_await req.body().text();
    });
    world w(1, r);
    const error_log log(w.sim.log());
    w.run([](world& in) -> task<> {
        peer p = co_await in.connect();
        co_await p.send(post("/read", "Content-Length: 9\r\n", "123"));
        co_await sleep_for(1s);
        p.close();
        co_await sleep_for(1s);
        EXPECT_EQ(in.counters().handler_errors, 0U);
        EXPECT_EQ(in.counters().clients_gone, 1U);
        EXPECT_EQ(in.counters().responses_5xx, 0U);
    });
    EXPECT_EQ(log.text(), "");
}
