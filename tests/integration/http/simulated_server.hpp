#pragma once

#include <coracle/http/server.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/testing/peer.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

namespace simulated {

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

inline std::string repeated(std::size_t n, char c = 'a') {
    return std::string(n, c);
}

inline std::string get(std::string_view path, std::string_view fields = {}) {
    return "GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n" + std::string(fields) + "\r\n";
}

inline std::string post(std::string_view path, std::string_view fields,
                        std::string_view body = {}) {
    return "POST " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n" + std::string(fields) + "\r\n" +
           std::string(body);
}

/// Says when it is destroyed: what a cancelled handler must do.
struct tracer {
    int* destroyed;
    explicit tracer(int& n) : destroyed(&n) {}
    tracer(const tracer&) = delete;
    tracer& operator=(const tracer&) = delete;
    ~tracer() { ++*destroyed; }
};

/// Hears what is logged as an error, for as long as it lives.
class error_log {
public:
    explicit error_log(logger& l) : of_(&l) {
        l.set_sink(&write, this);
        l.set_level(log_level::error);
    }
    error_log(const error_log&) = delete;
    error_log& operator=(const error_log&) = delete;
    ~error_log() {
        of_->set_level(log_level::off);
        of_->set_sink(nullptr, nullptr);
    }
    const std::string& text() const noexcept { return text_; }

private:
    static void write(void* user, log_level, log_layer, std::string_view text) {
        static_cast<error_log*>(user)->text_.append(text).append("\n");
    }
    logger* of_;
    std::string text_;
};

/// A server in a world of its own, and what its handlers did.
struct world {
    explicit world(std::uint64_t seed, http::server_options o = {}, simulation_options s = {})
        : sim(with_seed(std::move(s), seed)), server(router(), with_address(std::move(o))) {
        server.open(sim.loop());
    }
    /// With a handler of the test's own.
    world(std::uint64_t seed, http::handler h, http::server_options o = {},
          simulation_options s = {})
        : sim(with_seed(std::move(s), seed)), server(std::move(h), with_address(std::move(o))) {
        server.open(sim.loop());
    }

    static simulation_options with_seed(simulation_options s, std::uint64_t seed) {
        s.seed = seed;
        return s;
    }
    static http::server_options with_address(http::server_options o) {
        o.listen = "127.0.0.1:80";
        return o;
    }

    task<peer> connect() { return connect_peer(server.addresses().front()); }
    duration since(time_point t) { return sim.now() - t; }
    http::server_counters counters() const { return server.counters(); }

    http::handler router();

    /// Serves while `f(*this)` runs, then drains. Nothing may be left.
    template <class F>
    void run(F f) {
        SCOPED_TRACE(sim.replay());
        auto main = [&]() -> task<> {
            bool ended = false;
            spawn(
                [&]() -> task<> {
                    co_await as_result(server.run(sim.loop()));
                    ended = true;
                },
                "server");
            co_await f(*this);
            server.stop();
            while (!ended) co_await sleep_for(100ms);
        };
        try {
            sim.run(main);
        } catch (const std::exception& e) {
            ADD_FAILURE() << e.what();
        }
        const auto c = counters();
        EXPECT_EQ(c.open, 0u);
        EXPECT_EQ(c.in_flight, 0u);
        EXPECT_EQ(c.active, 0u);
        EXPECT_EQ(c.handshaking, 0u);
        EXPECT_EQ(c.draining, 0u);
        EXPECT_EQ(c.open_h2, 0u);
        EXPECT_EQ(c.websockets, 0u);
        EXPECT_EQ(sim.backend().open_descriptors(), 0u);
    }

    int destroyed = 0;  ///< handlers that were cancelled or ended
    int entered = 0;
    int body_reads = 0;
    simulation sim;
    http::server server;
};

/// The number of seeds where the order of events is nearly given.
inline constexpr std::uint64_t few = 8;

inline void expect_about(duration measured, duration wanted, duration slack = 300ms) {
    EXPECT_GE(measured, wanted);
    EXPECT_LE(measured, wanted + slack);
}

inline std::size_t count_of(const std::string& text, std::string_view what) {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++n;
    return n;
}

/// Runs `f(world)` for each of `n` seeds.
template <class F>
void for_seeds(std::uint64_t n, F f, const http::server_options& o = {}) {
    for (const std::uint64_t seed : seeds(n)) {
        world w(seed, o);
        w.run(f);
        if (::testing::Test::HasFailure()) return;
    }
}

/// Runs the seeds with a handler of the test's own.
template <class F>
void for_seeds(std::uint64_t n, const http::handler& h, F f) {
    for (const std::uint64_t seed : seeds(n)) {
        world w(seed, h);
        w.run(f);
        if (::testing::Test::HasFailure()) return;
    }
}

/// One response off the connection: the head and as much body as it announces.
inline task<std::string> read_response(peer& p) {
    std::string head = co_await p.read_until("\r\n\r\n");
    const auto at = head.find("Content-Length: ");
    if (at == std::string::npos) co_return head;
    const auto size = std::stoul(head.substr(at + 16));
    head += co_await p.read_exactly(size);
    co_return head;
}

inline http::handler world::router() {
    http::router r;
    r.get("/hello", [](http::request&) { return http::response("hello"); });
    r.get("/sleep", [this](http::request& req) -> task<http::response> {
        const tracer t(destroyed);
        ++entered;
        co_await sleep_for(std::chrono::milliseconds(req.query<int>("ms", 3'600'000)));
        co_return http::response("slept " + req.query("id").value_or(""));
    });
    r.post("/echo", [this](http::request& req) -> task<http::response> {
        ++entered;
        std::string text = co_await req.body().text();
        ++body_reads;
        co_return http::response(std::move(text));
    });
    r.post("/speak-first", [](http::request& req) {
        return http::stream([&req](http::body_writer& out) -> task<> {
            co_await out.write("begun");
            std::string body;
            while (body.size() != 5) body += co_await req.body().read();
            co_await out.write(body);
        });
    });
    r.post("/both-at-once", [](http::request& req) {
        return http::stream([&req](http::body_writer& out) -> task<> {
            std::string said;
            const auto read = [&]() -> task<> { co_await req.body().read(); };
            const auto write = [&]() -> task<> {
                auto writing = out.write("x");
                auto written = co_await as_result(writing);
                if (!written) said = "write: " + written.error().code().message();
            };
            co_await when_all(read(), write());
            co_await out.write(said);
        });
    });
    r.get("/status", [](http::request& req) {
        const auto code = static_cast<http::status>(req.query<int>("is", 200));
        if (!req.query<int>("stream", 0)) return http::response(code, "x");
        auto x = http::stream([](http::body_writer& out) -> task<> { co_await out.write("x"); });
        x.set_status(code);
        return x;
    });
    r.post("/rest", [](http::request& req) -> task<http::response> {
        auto reading = req.body().read();
        const std::string first(co_await reading);
        http::response rest;
        rest.set_body(http::body::relay(req.body())).set("X-First", first);
        co_return rest;
    });
    r.post("/ignore", [](http::request&) { return http::response("ignored"); });
    r.post("/count", [](http::request& req) -> task<http::response> {
        std::size_t n = 0;
        for (;;) {
            const std::string_view piece = co_await req.body().read();
            if (piece.empty()) break;
            n += piece.size();
        }
        co_return http::response(std::to_string(n));
    });
    r.get("/big", [](http::request& req) {
        return http::response(repeated(req.query<std::size_t>("n", 1'000'000), 'b'));
    });
    r.get("/stream", [](http::request&) {
        return http::stream(
            [](http::body_writer& w) -> task<> {
                co_await w.write("one,");
                co_await sleep_for(1s);
                co_await w.write("two");
            },
            "text/plain");
    });
    r.get("/late-stream", [this](http::request&) {
        return http::stream([this](http::body_writer& w) -> task<> {
            ++entered;
            co_await sleep_for(1h);
            co_await w.write("late");
        });
    });
    r.get("/broken-stream", [](http::request&) {
        return http::stream([](http::body_writer& w) -> task<> {
            co_await w.write("begun");
            throw std::runtime_error("stream");
        });
    });
    r.get("/throw", [](http::request&) -> http::response { throw std::runtime_error("now"); });
    r.get("/throw-later", [](http::request&) -> task<http::response> {
        co_await sleep_for(1s);
        throw std::runtime_error("later");
    });
    r.get("/none", [](http::request&) { return http::response(http::status::no_content); });
    r.get("/not-modified",
          [](http::request&) { return http::response(http::status::not_modified, "not sent"); });
    r.get("/offer", [](http::request&) {
        return http::response(http::status::upgrade_required, "x").set("Upgrade", "echo");
    });
    const auto upgrade = [](http::request&) {
        return http::upgrade("echo", [](http::upgraded_connection& c) -> task<> {
            if (!c.received.empty()) co_await c.stream.send(c.received.view());
            for (;;) {
                auto bytes = co_await as_result(c.stream.receive());
                if (!bytes) break;
                co_await c.stream.send(bytes->view());
            }
        });
    };
    r.get("/upgrade", upgrade);
    r.post("/upgrade", upgrade);
    return r;
}

}  // namespace simulated
