// The client against our server in a world where everything goes wrong: each call ends once and in
// time, with the whole body or an error, no POST is carried out twice, and nothing is left behind.

#include "integration/http/simulated_script.hpp"
#include "support/simulated_seeds.hpp"

#include <coracle/http/client.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

/// Deadlines fire up to 1/16 s late, and what they end takes some turns more.
constexpr duration tolerance = 200ms;

/// The actions of a client, and their outcome.
struct plan {
    enum class reading : std::uint8_t { whole, pieces, some, none };
    std::string id;
    std::string host;
    std::string target;
    bool posts = false;
    bool streams = false;  ///< the body of the request
    std::string expected;
    std::string sent;
    reading reads = reading::whole;
    duration comes_after{};
    duration total{};     ///< zero: no limit
    duration patience{};  ///< cancelled after this; zero: never
    std::size_t loop = 0;

    unsigned ended = 0;
    bool whole = false;  ///< the right response came
    bool cancelled = false;
    std::optional<error> failure;
};

class trial {
public:
    trial(std::uint64_t seed, unsigned loops, bool faulty, http::version_choice version)
        : chance_(seed * 2 + 1), faulty_(faulty), version_(version),
          sim_(world(seed, loops, faulty)),
          server_(std::in_place, sim_.loop(), router(), server_options(seed)) {
        make_client(loops);
        const std::size_t calls = 1 + chance_.up_to(11);
        for (std::size_t i = 0; i != calls; ++i) plans_.push_back(make_plan(seed, i));
    }

    void run() {
        auto main = [this]() -> task<> {
            for (plan& p : plans_) start(p);
            while (gone_ != plans_.size()) co_await sleep_for(20ms);
            check_pool();
            client_.reset();
            server_->stop();
            co_await server_->stopped();
            // The other loops close what is theirs.
            co_await sleep_for(1s);
            EXPECT_EQ(sim_.detached(), 0u);
            for (std::size_t i = 0; i != sim_.loops(); ++i) {
                EXPECT_EQ(sim_.loop(i).services(), 0u);
            }
        };
        try {
            sim_.run(main);
        } catch (const std::exception& e) {
            ADD_FAILURE() << e.what();
        }
        for (const plan& p : plans_) check(p);
        EXPECT_EQ(sim_.backend().open_descriptors(), 0u);
    }

    std::uint64_t trace() const { return sim_.trace(); }

private:
    static simulation_options world(std::uint64_t seed, unsigned loops, bool faulty) {
        simulation_options o;
        o.seed = seed;
        o.loops = loops;
        if (faulty) o.faults = fault_options::every();
        o.max_time = 3h;
        return o;
    }
    /// Some servers end their connections early, over HTTP/2 with GOAWAY, or take few streams at
    /// once, so that requests are turned away.
    http::server_options server_options(std::uint64_t seed) const {
        http::server_options o;
        o.listen = "127.0.0.1:0";
        if (version_ != http::version_choice::http_2) return o;
        if (seed % 3 == 0) o.limits.requests = static_cast<std::uint32_t>(1 + seed % 7);
        // A request that is refused before the client knows the limit fails if its body is a
        // stream.
        if (faulty_ && seed % 5 == 0)
            o.limits.h2.streams = static_cast<std::uint32_t>(1 + seed % 4);
        if (seed % 7 == 0) o.timeouts.lifetime = 200ms;
        // Windows so small that bodies wait for them.
        if (seed % 4 == 0) o.limits.h2.stream_window = static_cast<std::uint32_t>(500 + seed % 999);
        return o;
    }

    void make_client(unsigned loops) {
        http::client_options o;
        o.proxy_from_environment = false;
        o.http_version = version_;
        o.insecure = true;  // reads no certificates of the system's
        const std::string port = std::to_string(server_->port());
        for (const char* host : {"a.test:", "b.test:"}) {
            o.resolve.push_back(host + port + ":127.0.0.1");
        }
        o.follow = http::follow::standard;
        o.retry.retries = static_cast<unsigned>(chance_.up_to(3));
        o.retry.delay = std::chrono::milliseconds(chance_.up_to(299));
        if (faulty_ && chance_.one_in(4)) o.retry.attempt_timeout = 500ms;
        o.connect_timeout = faulty_ ? 5s : 60s;
        o.first_byte_timeout = faulty_ ? 1s : 60s;
        o.idle_timeout = faulty_ ? 2s : 60s;
        http::pool_options pool;
        pool.connections_per_host = static_cast<unsigned>(1 + chance_.up_to(3));
        pool.connections = static_cast<unsigned>(1 + chance_.up_to(5));
        pool.idle_time = std::chrono::milliseconds(1 + chance_.up_to(999));
        if (chance_.one_in(4)) pool.lifetime = 100ms;
        if (faulty_ && chance_.one_in(4)) pool.waiting = chance_.up_to(2);
        most_open_ = std::size_t{pool.connections} * loops;
        client_.emplace(std::move(o), pool);
    }

    plan make_plan(std::uint64_t seed, std::size_t i) {
        plan p;
        p.id = std::to_string(seed) + '-' + std::to_string(i);
        p.loop = i % sim_.loops();
        constexpr const char* hosts[] = {"127.0.0.1", "a.test", "b.test"};
        p.host = hosts[chance_.up_to(2)];
        std::size_t n = chance_.one_in(10) ? chance_.up_to(200'000) : chance_.up_to(10'000);
        p.posts = chance_.one_in(3);
        p.streams = p.posts && chance_.one_in(3);
        constexpr const char* reads[] = {"/text", "/later", "/stream", "/busy", "/moved"};
        constexpr const char* writes[] = {"/echo", "/echo-stream", "/echo-moved"};
        p.target = (p.posts ? writes[chance_.up_to(p.streams ? 1 : 2)] : reads[chance_.up_to(4)]);
        // An echo of more than the buffers hold ends in both sides sending and nobody reading.
        if (p.target == "/echo-stream") n %= 20'000;
        p.target += "?id=" + p.id + "&n=" + std::to_string(n);
        p.expected = scripted::pattern(p.id, n);
        if (p.posts) p.sent = p.expected;
        p.reads = static_cast<plan::reading>(chance_.up_to(3));
        p.comes_after = std::chrono::microseconds(chance_.up_to(399999));
        if (!faulty_) return p;
        if (chance_.one_in(3)) p.total = std::chrono::milliseconds(1 + chance_.up_to(2999));
        if (chance_.one_in(4)) p.patience = std::chrono::microseconds(chance_.up_to(199999));
        return p;
    }

    void start(plan& p) {
        sim_.loop(p.loop).post([this, &p] {
            auto work = [this, &p]() -> task<> {
                co_await sleep_for(p.comes_after);
                const time_point began = sim_.now();
                co_await ask(p);
                const duration took = sim_.now() - began;
                const duration most = std::min(p.total > 0s ? p.total : duration::max() / 2,
                                               p.patience > 0s ? p.patience : duration::max() / 2);
                EXPECT_LE(took, most + tolerance) << p.id << p.target;
                EXPECT_LE(client_->statistics().connections, most_open_) << p.id;
                ++p.ended;
                ++gone_;
            };
            spawn(work, "call");
        });
    }

    task<> ask(plan& p) {
        auto exchange = [this, &p] { return call(p); };
        if (p.patience == 0s) {
            auto done = co_await as_result(exchange());
            if (!done) p.failure = done.error();
            co_return;
        }
        auto limited = with_timeout(p.patience, exchange);
        auto done = co_await as_result(limited);
        if (done) co_return;
        // Over, by a failed call or by the end of its patience.
        p.cancelled = true;
        p.failure = done.error();
    }

    task<> call(plan& p) {
        const std::string url =
            "http://" + p.host + ':' + std::to_string(server_->port()) + p.target;
        http::call c = p.posts ? client_->post(url) : client_->get(url);
        if (p.total > 0s) c.timeout(p.total);
        if (p.streams) {
            c.body(http::body::stream([&p](http::body_writer& out) { return write(p, out); }));
        } else if (p.posts) {
            c.body(http::body(p.sent));
        }
        http::response res = co_await c;
        EXPECT_TRUE(res.status() == http::status::ok ||
                    res.status() == http::status::service_unavailable)
            << p.id;
        if (res.status() != http::status::ok) co_return;
        co_await read(p, res);
    }

    static task<> write(plan& p, http::body_writer& out) {
        std::string_view left = p.sent;
        while (!left.empty()) {
            const std::string_view piece = left.substr(0, 5000);
            left.remove_prefix(piece.size());
            co_await out.write(piece);
            if (left.size() % 3 == 0) co_await sleep_for(1ms);
        }
    }

    task<> read(plan& p, http::response& res) {
        std::string got;
        switch (p.reads) {
            case plan::reading::none: co_return;
            case plan::reading::whole: got = co_await res.text(); break;
            case plan::reading::some: {
                const std::string_view piece = co_await res.read();
                EXPECT_TRUE(p.expected.starts_with(piece)) << p.id;
                co_return;
            }
            case plan::reading::pieces:
                for (;;) {
                    const std::string_view piece = co_await res.read();
                    if (piece.empty()) break;
                    got += piece;
                    if (got.size() % 5 == 0) co_await sleep_for(1ms);
                }
        }
        EXPECT_EQ(got.size(), p.expected.size()) << p.id << ' ' << p.target;
        EXPECT_TRUE(got == p.expected) << p.id << ' ' << p.target;
        p.whole = true;
    }

    void check_pool() const {
        const http::client_statistics s = client_->statistics();
        EXPECT_EQ(s.waiting, 0u);
        EXPECT_EQ(s.connections, s.idle);
    }

    void check(const plan& p) {
        SCOPED_TRACE(p.id + ' ' + p.target + (p.failure ? ": " + p.failure->message() : ""));
        EXPECT_EQ(p.ended, 1u);
        const unsigned done = carried_out_[p.id];
        if (p.posts) {
            EXPECT_LE(done, 1u) << "carried out twice";
            if (p.failure && !p.cancelled && p.failure->safe_to_retry()) {
                EXPECT_EQ(done, 0u) << "told that it is safe to repeat what was carried out";
            }
        }
        const bool reads_all = p.reads == plan::reading::whole || p.reads == plan::reading::pieces;
        if (!faulty_) {
            EXPECT_FALSE(p.failure) << "failed without a fault";
            const bool refused = p.target.starts_with("/busy") && !p.whole;
            EXPECT_TRUE(p.whole || refused || !reads_all);
        }
        if (p.failure && !p.cancelled) {
            EXPECT_NE(*p.failure, std::errc::operation_canceled) << "nobody did";
        }
    }

    http::handler router();

    scripted::random_source chance_;
    bool faulty_;
    http::version_choice version_;
    std::map<std::string, unsigned> carried_out_;
    std::map<std::string, unsigned> asked_;
    std::vector<plan> plans_;
    simulation sim_;
    std::optional<local_server> server_;
    std::optional<http::client> client_;
    std::size_t most_open_ = 0;
    std::size_t gone_ = 0;
};

http::handler trial::router() {
    http::router r;
    const auto content = [](http::request& req) {
        const std::string id(req.query("id").value_or(""));
        return scripted::pattern(id, req.query<std::size_t>("n", 0));
    };
    const auto stream_of = [](std::string text) {
        auto write = [text = std::move(text)](http::body_writer& out) -> task<> {
            std::string_view left = text;
            for (std::size_t size = 1; !left.empty(); size = size * 3 + 1) {
                co_await out.write(left.substr(0, size));
                left.remove_prefix(std::min(size, left.size()));
                if (size % 2 == 0) co_await sleep_for(1ms);
            }
        };
        return http::stream(write, "text/plain");
    };
    const auto elsewhere = [](std::string_view path, http::request& req) {
        // To another origin as well as within this one.
        std::string to(path);
        to.append("?").append(req.query_text());
        return http::redirect(to, http::status::temporary_redirect);
    };
    r.get("/text", [content](http::request& req) { return http::response(content(req)); });
    r.get("/later", [content](http::request& req) -> task<http::response> {
        std::string text = content(req);
        co_await sleep_for(std::chrono::milliseconds(text.size() % 1500));
        co_return http::response(std::move(text));
    });
    r.get("/stream", [content, stream_of](http::request& req) { return stream_of(content(req)); });
    r.get("/busy", [this, content](http::request& req) {
        const std::string id(req.query("id").value_or(""));
        if (++asked_[id] <= id.size() % 3) {
            http::response res(http::status::service_unavailable, "later");
            if (id.size() % 2 == 0) res.set("Retry-After", "1");
            return res;
        }
        return http::response(content(req));
    });
    r.get("/moved", [elsewhere](http::request& req) { return elsewhere("/stream", req); });
    r.post("/echo-moved", [elsewhere](http::request& req) { return elsewhere("/echo", req); });
    r.post("/echo", [this](http::request& req) -> task<http::response> {
        ++carried_out_[std::string(req.query("id").value_or(""))];
        std::string text = co_await req.body().text();
        co_return http::response(std::move(text));
    });
    r.post("/echo-stream", [this](http::request& req) {
        ++carried_out_[std::string(req.query("id").value_or(""))];
        auto copy = [&req](http::body_writer& out) -> task<> {
            for (;;) {
                const std::string_view piece = co_await req.body().read();
                if (piece.empty()) co_return;
                co_await out.write(piece);
            }
        };
        return http::stream(copy);
    });
    return r;
}

std::uint64_t run_seed(std::uint64_t seed, unsigned loops, bool faulty,
                       http::version_choice version) {
    SCOPED_TRACE(replay(seed));
    trial t(seed, loops, faulty, version);
    t.run();
    return t.trace();
}

void run_seeds(std::uint64_t count, unsigned loops, bool faulty,
               http::version_choice version = http::version_choice::automatic) {
    coracle::testing::run_seeds(
        count, [&](std::uint64_t seed) { return run_seed(seed, loops, faulty, version); });
}

}  // namespace

TEST(client_simulation, ends_each_call_once_and_in_time_while_everything_goes_wrong) {
    run_seeds(1000, 1, true);
}

TEST(client_simulation, ends_each_call_once_on_several_loops_while_everything_goes_wrong) {
    run_seeds(250, 3, true);
}

TEST(client_simulation, gets_every_response_in_a_world_without_faults) {
    run_seeds(250, 1, false);
}

TEST(client_simulation, ends_each_call_once_over_http_2_while_everything_goes_wrong) {
    run_seeds(1000, 1, true, http::version_choice::http_2);
}

TEST(client_simulation, gets_every_response_over_http_2_in_a_world_without_faults) {
    run_seeds(250, 1, false, http::version_choice::http_2);
}
