// A request that makes calls, traced from end to end, with a collector that looks at what it gets.

#include "support/allocation_count.hpp"

#include <coracle/http/client.hpp>
#include <coracle/http/forward.hpp>
#include <coracle/http/middleware/otlp_exporter.hpp>
#include <coracle/http/router.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace coracle;
using namespace std::chrono_literals;

namespace {

/// A collector, an application and the server that it calls, in one world.
class world {
public:
    explicit world(http::otlp_options o = {}) {
        sim_.log().set_level(log_level::off);
        collector_.emplace(sim_.loop(), collector());
        below_.emplace(sim_.loop(), below());
        o.service = "shop";
        sending_.emplace();
        sending_->use([this](http::request& req, const http::handler& next) {
            if (std::exchange(interceptor_throws, false)) throw std::runtime_error("a fault");
            return next(req);
        });
        exporter =
            std::make_shared<http::otlp_exporter>(*sending_, collector_->url("/v1/traces"), o);
        http::tracing_options t;
        t.exporter = exporter;
        const http::tracing trace(t);
        calls_.emplace();
        calls_->use(trace.calls());
        app_.emplace(sim_.loop(), application(trace));
        asking_.emplace();
    }

    template <class F>
    void run(F f) {
        sim_.run([&]() -> task<> {
            auto work = f();
            co_await std::move(work);
            co_await close();
        });
    }

    task<> close() {
        asking_.reset();
        calls_.reset();
        app_->stop();
        below_->stop();
        collector_->stop();
        auto first = app_->stopped();
        co_await std::move(first);
        auto second = below_->stopped();
        co_await std::move(second);
        auto third = collector_->stopped();
        co_await std::move(third);
    }

    task<int> get(std::string path, http::fields with = {}) {
        auto calling = asking_->get(app_->url(path)).fields(std::move(with));
        auto got = co_await as_result(calling);
        co_return got ? static_cast<int>(got->status()) : 0;
    }

    task<int> post(std::string path, std::string body) {
        auto calling = asking_->post(app_->url(path)).header("X-Body", body).body(body);
        auto got = co_await as_result(calling);
        co_return got ? static_cast<int>(got->status()) : 0;
    }

    std::shared_ptr<http::otlp_exporter> exporter;
    std::vector<std::string> bodies;              ///< that the collector got
    std::map<std::string, nlohmann::json> spans;  ///< that it took, by their name
    std::size_t taken = 0;
    std::vector<std::string> parents;  ///< traceparent of each call, or "none"
    std::vector<std::string> states;   ///< tracestate of each call
    http::status verdict = http::status::ok;
    std::string said = "{}";  ///< by the collector
    bool interceptor_throws = false;
    bool kept_outer_span = false;
    bool span_left = false;  ///< a request had one behind its middleware

private:
    http::handler collector() {
        return [this](http::request& req) -> task<http::response> {
            EXPECT_EQ(req.header("Content-Type"), "application/json");
            bodies.push_back(co_await req.body().text());
            if (verdict == http::status::ok) take(bodies.back());
            co_return http::response(verdict, said);
        };
    }
    void take(const std::string& body) {
        const auto json = nlohmann::json::parse(body);
        EXPECT_EQ(json["resourceSpans"][0]["resource"]["attributes"][0]["value"]["stringValue"],
                  "shop");
        for (const auto& s : json["resourceSpans"][0]["scopeSpans"][0]["spans"]) {
            const bool is_call = s["kind"] == 3;
            spans[is_call ? "call" : s["name"].get<std::string>()] = s;
            ++taken;
        }
    }

    http::handler below() {
        return [this](http::request& req) -> task<http::response> {
            const auto parent = req.header("traceparent");
            parents.emplace_back(parent.empty() ? "none" : parent);
            states.emplace_back(req.header("tracestate"));
            EXPECT_EQ(co_await req.body().text(), req.header("X-Body"));
            co_await sleep_for(10ms);
            co_return "below";
        };
    }

    http::handler application(const http::tracing& trace) {
        http::router routes;
        routes.use([this](http::request& req, const http::handler& next) -> task<http::response> {
            auto limited = with_timeout(1min, [&] { return next(req); });
            auto r = co_await as_result(limited);
            span_left |= http::trace_span::of(req) != nullptr;
            co_return r ? *std::move(r) : http::response(http::status::gateway_timeout);
        });
        routes.use(trace.requests());
        routes.get("/users/{id}", [this](http::request&) -> task<http::response> {
            const auto call = [this] { return calls_->get(below_->url("/one")); };
            auto limited = with_timeout(5s, call);
            static_cast<void>(co_await as_result(limited));
            auto first = calls_->get(below_->url("/two"));
            const auto three = [this] { return calls_->get(below_->url("/three")); };
            auto second = shielded(5s, three);
            auto both = when_all(std::move(first), std::move(second));
            static_cast<void>(co_await as_result(both));
            co_return "ok";
        });
        routes.get("/plain", [](http::request&) { return "ok"; });
        routes.group("/nested", [this, &trace](http::router& g) {
            g.use([this](http::request& req, const http::handler& next) -> task<http::response> {
                const http::trace_span* const around = http::trace_span::of(req);
                auto r = co_await next(req);
                kept_outer_span = around != nullptr && http::trace_span::of(req) == around;
                co_return r;
            });
            g.use(trace.requests());
            g.get("/", [](http::request&) { return "ok"; });
        });
        routes.get("/throws", [](http::request&) -> http::response {
            throw std::runtime_error("a fault \"of\" mine");
        });
        routes.any("/relayed/{*rest}", http::forward_to(*calls_, below_->url("/")));
        routes.get("/slow", [](http::request&) -> task<http::response> {
            co_await sleep_for(1h);
            co_return "late";
        });
        return routes;
    }

    coracle::testing::simulation sim_{3};
    std::optional<coracle::testing::local_server> collector_;
    std::optional<coracle::testing::local_server> below_;
    std::optional<coracle::testing::local_server> app_;
    std::optional<http::client> sending_;
    std::optional<http::client> calls_;
    std::optional<http::client> asking_;
};

}  // namespace

TEST(tracing, follows_a_request_into_the_calls_that_its_handler_makes) {
    world w;
    w.run([&]() -> task<> {
        EXPECT_EQ(co_await w.get("/users/7"), 200);
        EXPECT_EQ(co_await w.get("/throws"), 500);
        EXPECT_EQ(co_await w.get("/none"), 404);
        co_await sleep_for(6s);
        EXPECT_EQ(w.taken, 6u);
        EXPECT_EQ(w.spans.size(), 4u);
        if (w.spans.count("GET /users/{id}") == 0) co_return;
        const auto& request = w.spans["GET /users/{id}"];
        EXPECT_EQ(request["kind"], 2);
        EXPECT_FALSE(request.contains("parentSpanId"));
        EXPECT_TRUE(request["status"].empty());
        EXPECT_EQ(w.spans["GET /throws"]["status"]["code"], 2);
        EXPECT_EQ(w.parents.size(), 3u);
        std::set<std::string> ids;
        for (const std::string& parent : w.parents) {
            const auto c = http::trace_context::parse(parent);
            EXPECT_TRUE(c) << parent;
            EXPECT_EQ(parent.substr(3, 32), request["traceId"].get<std::string>());
            ids.insert(parent.substr(36, 16));
        }
        EXPECT_EQ(ids.size(), 3u);
        EXPECT_EQ(ids.count(request["spanId"]), 0u);
        EXPECT_EQ(w.spans["call"]["parentSpanId"], request["spanId"]);
        EXPECT_EQ(w.spans["call"]["name"], "GET");
        std::map<std::string, std::string> attributes;
        for (const auto& a : w.spans["call"]["attributes"]) {
            attributes[a["key"]] = a["value"].value("stringValue", "");
        }
        EXPECT_TRUE(attributes["url.full"].starts_with("http://127.0.0.1:"));
        EXPECT_EQ(attributes["server.address"], "127.0.0.1");
        EXPECT_EQ(w.spans.count("GET"), 1u);  // the path that does not exist
    });
    EXPECT_EQ(w.exporter->sent(), 6u);
    EXPECT_EQ(w.exporter->dropped(), 0u);
}

TEST(tracing, follows_a_request_that_is_passed_on_with_its_body) {
    world w;
    w.run([&]() -> task<> {
        EXPECT_EQ(co_await w.get("/relayed/a"), 200);
        EXPECT_EQ(co_await w.post("/relayed/b", "a body"), 200);
        co_await sleep_for(6s);
        EXPECT_EQ(w.parents.size(), 2u);
        EXPECT_EQ(w.taken, 4u);
        if (w.taken != 4u) co_return;
        const auto& request = w.spans["POST /relayed/{*rest}"];
        EXPECT_EQ(w.spans["call"]["parentSpanId"], request["spanId"]);
        EXPECT_EQ(w.spans["call"]["traceId"], request["traceId"]);
        EXPECT_EQ(w.spans["call"]["name"], "POST");
        EXPECT_EQ(w.parents.back().substr(36, 16), w.spans["call"]["spanId"].get<std::string>());
    });
}

// Without the traceparent that it came with, or malformed, a tracestate says nothing.
TEST(tracing, passes_no_tracestate_on_that_belongs_to_another_parent) {
    world w;
    w.run([&]() -> task<> {
        const char* parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        const struct {
            const char* parent;
            const char* state;
            const char* passed;
        } rows[] = {
            {"", "a=1", ""}, {"00-x", "a=1", ""}, {parent, "a=1", "a=1"}, {parent, "A=", ""}};
        for (const auto& row : rows) {
            http::fields with;
            if (*row.parent != '\0') with.add("traceparent", row.parent);
            with.add("tracestate", row.state);
            EXPECT_EQ(co_await w.get("/relayed/a", std::move(with)), 200);
            EXPECT_EQ(w.states.back(), row.passed) << row.parent << ' ' << row.state;
            EXPECT_NE(w.parents.back(), row.parent);
        }
    });
}

TEST(tracing, within_another_gives_the_request_its_span_back) {
    world w;
    w.run([&]() -> task<> { EXPECT_EQ(co_await w.get("/nested"), 200); });
    EXPECT_TRUE(w.kept_outer_span);
    EXPECT_FALSE(w.span_left);
}

TEST(tracing, leaves_no_span_of_a_handler_that_was_cancelled) {
    world w;
    w.run([&]() -> task<> {
        EXPECT_EQ(co_await w.get("/plain"), 200);
        EXPECT_EQ(co_await w.get("/slow"), 504);
    });
    EXPECT_FALSE(w.span_left);
}

TEST(otlp_exporter, sends_full_batches_at_once_and_others_in_time) {
    http::otlp_options o;
    o.batch = 10;
    o.queue = 20;
    world w(o);
    w.run([&]() -> task<> {
        for (int i = 0; i != 10; ++i) EXPECT_EQ(co_await w.get("/plain"), 200);
        co_await sleep_for(100ms);
        EXPECT_EQ(w.taken, 10u);
        EXPECT_EQ(co_await w.get("/plain"), 200);
        co_await sleep_for(1s);
        EXPECT_EQ(w.taken, 10u);
        co_await sleep_for(5s);
        EXPECT_EQ(w.taken, 11u);
        EXPECT_EQ(w.bodies.size(), 2u);
    });
}

TEST(otlp_exporter, keeps_a_bounded_number_while_the_collector_fails) {
    http::otlp_options o;
    o.batch = 10;
    o.queue = 20;
    world w(o);
    w.run([&]() -> task<> {
        w.verdict = http::status::service_unavailable;
        for (int i = 0; i != 50; ++i) EXPECT_EQ(co_await w.get("/plain"), 200);
        co_await sleep_for(21s);
        EXPECT_EQ(w.taken, 0u);
        EXPECT_EQ(w.exporter->dropped(), 30u);
        EXPECT_LE(w.bodies.size(), 6u);  // one try each interval
        EXPECT_GE(w.bodies.size(), 4u);
        w.verdict = http::status::ok;
        co_await sleep_for(6s);
        EXPECT_EQ(w.taken, 20u);
        EXPECT_EQ(w.exporter->sent(), 20u);
        // One that the collector does not understand is not sent again.
        w.verdict = http::status::bad_request;
        EXPECT_EQ(co_await w.get("/plain"), 200);
        co_await sleep_for(20s);
        EXPECT_EQ(w.exporter->dropped(), 31u);
        EXPECT_EQ(w.exporter->failures(), w.bodies.size() - 2);
    });
}

TEST(otlp_exporter, goes_on_when_an_interceptor_throws) {
    world w;
    w.interceptor_throws = true;
    w.run([&]() -> task<> {
        EXPECT_EQ(co_await w.get("/plain"), 200);
        co_await sleep_for(6s);
        EXPECT_EQ(w.taken, 0u);
        EXPECT_EQ(w.exporter->failures(), 1u);
        co_await sleep_for(6s);
        EXPECT_EQ(w.taken, 1u);
        EXPECT_EQ(w.exporter->sent(), 1u);
    });
}

TEST(otlp_exporter, goes_on_when_memory_has_failed) {
    if (!coracle::testing::counts_allocations())
        GTEST_SKIP() << "no allocation fails in this build";
    for (std::size_t n = 1; n != 6; ++n) {
        world w;
        w.run([&]() -> task<> {
            EXPECT_EQ(co_await w.get("/plain"), 200);
            co_await sleep_for(4s);
            coracle::testing::fail_allocation(n);
            co_await sleep_for(2s);
            coracle::testing::fail_allocation(0);
            EXPECT_EQ(co_await w.get("/plain"), 200);
            co_await sleep_for(20s);
            EXPECT_EQ(w.exporter->sent(), 2u) << n;
        });
    }
}

TEST(otlp_exporter, counts_what_the_collector_rejects_as_dropped) {
    world w;
    w.run([&]() -> task<> {
        const std::pair<const char*, std::uint64_t> rows[] = {
            {R"({"partialSuccess":{"rejectedSpans":"2","errorMessage":"too long"}})", 2},
            {R"({"partialSuccess" : { "rejectedSpans" : 1 }})", 1},
            {R"({"partialSuccess":{"rejectedSpans":"99"}})", 3},
            {R"({"partialSuccess":{"errorMessage":"no \"rejectedSpans\":\"3\""}})", 0},
            {R"({"partialSuccess":{"rejectedSpans")", 0},
            {"", 0}};
        for (const auto& [said, rejected] : rows) {
            const std::uint64_t sent = w.exporter->sent();
            const std::uint64_t dropped = w.exporter->dropped();
            w.said = said;
            for (int i = 0; i != 3; ++i) EXPECT_EQ(co_await w.get("/plain"), 200);
            co_await sleep_for(6s);
            EXPECT_EQ(w.exporter->sent() - sent, 3 - rejected) << said;
            EXPECT_EQ(w.exporter->dropped() - dropped, rejected) << said;
        }
        EXPECT_EQ(w.exporter->failures(), 0u);
    });
}

TEST(otlp_exporter, sends_what_is_left_when_the_loop_ends) {
    std::atomic<int> taken = 0;
    const http::handler collector = [&taken](http::request& req) -> task<http::response> {
        const std::string body = co_await req.body().text();
        taken += static_cast<int>(
            nlohmann::json::parse(body)["resourceSpans"][0]["scopeSpans"][0]["spans"].size());
        co_return "{}";
    };
    // Real servers, each with a thread of its own.
    coracle::testing::local_server to(collector);
    http::client sending;
    auto exporter = std::make_shared<http::otlp_exporter>(sending, to.url("/v1/traces"));
    http::tracing_options t;
    t.exporter = exporter;
    http::router routes;
    routes.use(http::tracing(t).requests());
    routes.get("/", [](http::request&) { return "ok"; });
    coracle::testing::local_server app(routes);
    http::client asking;
    for (int i = 0; i != 3; ++i) EXPECT_EQ(asking.get(app.url()).wait().status, http::status::ok);
    EXPECT_EQ(exporter->sent(), 0u);
    app.stop();
    EXPECT_EQ(exporter->sent(), 3u);
    EXPECT_EQ(exporter->dropped(), 0u);
    EXPECT_EQ(taken, 3);
}

TEST(otlp_exporter, refuses_options_that_are_wrong) {
    http::client c;
    EXPECT_THROW(http::otlp_exporter(c, "nowhere"), exception);
    http::otlp_options o;
    o.batch = 2049;
    EXPECT_THROW(http::otlp_exporter(c, "http://127.0.0.1/", o), exception);
}
