// Counts of a server, as a scraper gets them.

#include "integration/http/simulated_server.hpp"

#include <coracle/http/metrics.hpp>
#include <coracle/http/router.hpp>
#include <coracle/metrics/process.hpp>

#include <sys/resource.h>

namespace {

using namespace simulated;

/// The head and the body of the response to one request on a connection of its own.
task<std::string> ask(world& w, std::string request) {
    peer p = co_await w.connect();
    co_await p.send(request);
    auto reading = read_response(p);
    co_return co_await std::move(reading);
}

std::size_t count(std::string_view text, std::string_view part) {
    std::size_t n = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
    return n;
}

http::router shop() {
    http::router inside;
    inside.get("/{id}", [](http::request&) { return std::string(2000, 'x'); });
    http::router routes;
    routes.mount("/boats", std::move(inside));
    routes.post("/orders", [](http::request&) -> task<http::response> {
        co_await sleep_for(30ms);
        co_return http::response(http::status::created, "made\n");
    });
    routes.get("/broken", [](http::request&) -> http::response { throw std::runtime_error("no"); });
    return routes;
}

void expect_lines(const std::string& text, std::initializer_list<std::string_view> lines) {
    for (const std::string_view line : lines) {
        EXPECT_NE(("\n" + text).find("\n" + std::string(line) + "\n"), std::string::npos)
            << line << "\nis not in\n"
            << text;
    }
}

}  // namespace

TEST(http_metrics, count_responses_by_route_method_and_class_of_status) {
    metrics::registry all;
    http::response_metrics seen(all);
    http::server_options o;
    o.observe(seen);
    http::router routes = shop();
    routes.get("/metrics", http::serve_metrics(all));
    world w(1, routes, o);
    w.run([&](world& on) -> task<> {
        for (int i = 0; i != 3; ++i) {
            const std::string path = "/boats/" + std::to_string(i);
            static_cast<void>(co_await ask(on, get(path)));
        }
        static_cast<void>(co_await ask(on, post("/orders", "Content-Length: 0\r\n")));
        static_cast<void>(co_await ask(on, get("/broken")));
        static_cast<void>(co_await ask(on, get("/nowhere")));
        static_cast<void>(co_await ask(on, get("/nowhere/else")));
        static_cast<void>(co_await ask(on, "BREW /orders HTTP/1.1\r\nHost: x\r\n\r\n"));
        const std::string text = co_await ask(on, get("/metrics"));
        expect_lines(
            text, {R"(http_server_requests_total{route="/boats/{id}",method="GET",status="2xx"} 3)",
                   R"(http_server_requests_total{route="/orders",method="POST",status="2xx"} 1)",
                   R"(http_server_requests_total{route="/broken",method="GET",status="5xx"} 1)",
                   R"(http_server_requests_total{route="",method="GET",status="4xx"} 2)",
                   R"(http_server_requests_total{route="",method="other",status="4xx"} 1)",
                   R"(http_server_request_duration_seconds_bucket{route="/orders",le="0.025"} 0)",
                   R"(http_server_request_duration_seconds_bucket{route="/orders",le="0.05"} 1)",
                   R"(http_server_request_duration_seconds_count{route="/boats/{id}"} 3)",
                   R"(http_server_response_body_bytes_sum{route="/boats/{id}"} 6000)",
                   R"(http_server_response_body_bytes_bucket{route="/boats/{id}",le="1000"} 0)",
                   R"(http_server_response_body_bytes_bucket{route="/boats/{id}",le="10000"} 3)"});
    });
}

TEST(http_metrics, of_one_observer_are_not_those_of_another) {
    metrics::registry all;
    http::response_metrics first(all);
    http::response_metrics second(all, {.prefix = "second"});
    for (http::response_metrics* const m : {&first, &second, &first}) {
        http::server_options o;
        o.observe(*m);
        world w(1, shop(), o);
        w.run([](world& on) -> task<> { static_cast<void>(co_await ask(on, get("/boats/1"))); });
    }
    expect_lines(all.text(),
                 {R"(http_server_requests_total{route="/boats/{id}",method="GET",status="2xx"} 2)",
                  R"(second_requests_total{route="/boats/{id}",method="GET",status="2xx"} 1)"});
}

TEST(http_metrics, are_told_in_the_format_that_was_asked_for) {
    metrics::registry all;
    all.make_counter("a_total", "A.").add(1);
    world w(1, http::serve_metrics(all));
    w.run([](world& on) -> task<> {
        const std::string plain = co_await ask(on, get("/"));
        EXPECT_NE(plain.find("\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"),
                  plain.npos);
        EXPECT_NE(plain.find("\nCache-Control: no-store\r\n"), plain.npos);
        EXPECT_TRUE(
            plain.ends_with("\r\n\r\n# HELP a_total A.\n# TYPE a_total counter\na_total 1\n"));
        const std::string open =
            co_await ask(on, get("/",
                                 "Accept: application/openmetrics-text;version=1.0.0,"
                                 "text/plain;version=0.0.4;q=0.5\r\n"));
        EXPECT_NE(open.find("\nContent-Type: application/openmetrics-text; version=1.0.0; "
                            "charset=utf-8\r\n"),
                  open.npos);
        EXPECT_TRUE(open.ends_with("\r\n\r\n# HELP a A.\n# TYPE a counter\na_total 1\n# EOF\n"));
        const struct {
            const char* accept;
            bool open;
        } rows[] = {
            {"application/openmetrics-text;q=0, text/plain", false},
            {"text/plain;q=0.9, application/openmetrics-text;q=0.1", false},
            {"application/openmetrics-text;q=x", false},
            {"x-application/openmetrics-text", false},
            {"Application/OpenMetrics-Text", true},
            {"text/plain, application/openmetrics-text", true},
        };
        for (const auto& row : rows) {
            const std::string text =
                co_await ask(on, get("/", "Accept: " + std::string(row.accept) + "\r\n"));
            EXPECT_EQ(text.ends_with("# EOF\n"), row.open) << row.accept;
        }
    });
}

TEST(http_metrics, have_every_counter_of_a_server) {
    metrics::registry all;
    {
        world w(1, shop());
        http::add_server_counters(all, [&w] { return w.counters(); });
        w.run([&](world& on) -> task<> {
            peer p = co_await on.connect();
            co_await p.send(get("/boats/1"));
            auto reading = read_response(p);
            static_cast<void>(co_await std::move(reading));
            expect_lines(all.text(),
                         {"coracle_server_connections_total 1", "coracle_server_open_connections 1",
                          "coracle_server_requests_total 1", "coracle_server_responses_2xx_total 1",
                          "coracle_server_in_flight 0"});
        });
        const std::size_t counters = sizeof(http::server_counters) / sizeof(std::uint64_t);
        // Four are series of two names: those by state and by version.
        EXPECT_EQ(count(all.text(), "# TYPE coracle_server_"), counters - 4 + 2);
        http::remove_server_counters(all);
        // A server that is made anew has the names again.
        http::add_server_counters(all, [&w] { return w.counters(); });
        http::remove_server_counters(all);
    }
    EXPECT_EQ(all.text(), "");
}

TEST(http_metrics, have_the_numbers_of_clients_by_name) {
    metrics::registry all;
    http::client_statistics now;
    now.calls = 7;
    now.idle = 2;
    now.h2.goaways = 3;
    http::add_client_statistics(all, "shop", [&now] { return now; });
    now.calls = 8;
    expect_lines(all.text(), {R"(coracle_client_calls_total{client="shop"} 8)",
                              R"(coracle_client_idle{client="shop"} 2)",
                              R"(coracle_client_h2_goaways_total{client="shop"} 3)"});
}

TEST(process_metrics, are_those_of_this_process) {
    metrics::registry all;
    metrics::add_process(all);
    const std::string text = all.text();
    const auto value = [&text](std::string_view name) {
        const std::size_t at = text.find("\n" + std::string(name) + " ");
        return at == text.npos ? -1 : std::stod(text.substr(at + name.size() + 2));
    };
    EXPECT_GT(value("process_cpu_seconds_total"), 0);
    EXPECT_GT(value("process_resident_memory_bytes"), 1'000'000);
    EXPECT_GT(value("process_virtual_memory_bytes"), value("process_resident_memory_bytes"));
    EXPECT_GE(value("process_open_fds"), 3);
    EXPECT_GE(value("process_max_fds"), value("process_open_fds"));
    EXPECT_GE(value("process_threads"), 1);
    EXPECT_GT(value("process_start_time_seconds"), 1.7e9);  // in November 2023
}

TEST(process_metrics, have_no_sample_of_what_cannot_be_read) {
    metrics::registry all;
    metrics::add_process(all);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit none{0, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    const std::string text = all.text();
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    for (const char* name : {"process_open_fds", "process_resident_memory_bytes",
                             "process_virtual_memory_bytes", "process_threads"}) {
        EXPECT_EQ(text.find("\n" + std::string(name) + " "), text.npos) << text;
    }
    EXPECT_NE(text.find("\nprocess_max_fds 0\n"), text.npos) << text;
    EXPECT_NE(text.find("\nprocess_start_time_seconds 1"), text.npos) << text;
}
