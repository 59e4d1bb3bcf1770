// Exceptions as developers see them, and others do not.

#include "integration/http/simulated_server.hpp"

#include <coracle/http/forwarded.hpp>
#include <coracle/http/middleware/exception_page.hpp>
#include <coracle/http/middleware/request_id.hpp>

#include <gmock/gmock.h>

#include <stdexcept>

namespace {

using namespace simulated;
using namespace std::string_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct boat_is_lost : std::runtime_error {
    using runtime_error::runtime_error;
};

http::response sink() {
    try {
        throw boat_is_lost("a <script>hole</script> in it");
    } catch (...) {
        std::throw_with_nested(std::logic_error("cannot sail"));
    }
}

http::router routes_with(http::exception_page_options o = {}) {
    http::router routes;
    routes.use(http::exception_page(o));
    routes.get("/boats/{id}", [](http::request&) { return sink(); });
    routes.get("/waits", [](http::request&) -> task<http::response> {
        co_await sleep_for(1ms);
        co_return sink();
    });
    routes.get("/streams", [](http::request&) {
        return http::stream([](http::body_writer&) -> task<> {
            co_await sleep_for(1ms);
            sink();
        });
    });
    routes.get("/number", [](http::request&) -> http::response { throw 7; });
    routes.get("/meant", [](http::request&) -> http::response {
        throw http::status_error(http::status::service_unavailable, "later");
    });
    return routes;
}

std::string get_local(std::string_view path, std::string_view fields = {}) {
    return "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost:80\r\n" +
           std::string(fields) + "\r\n";
}

/// The response to one request.
std::string ask(const http::router& routes, std::string request, http::server_options o = {}) {
    std::string got;
    world w(1, routes, std::move(o));
    w.run([&](world& in) -> task<> {
        peer p = co_await in.connect();
        co_await p.send(request);
        auto reading = read_response(p);
        got = co_await std::move(reading);
    });
    return got;
}

}  // namespace

TEST(exception_page, shows_browsers_what_was_thrown_as_a_page) {
    const std::string got =
        ask(routes_with(), get_local("/boats/7?q=%3Cb%3E&token=t0ps3cret",
                                     "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n"
                                     "Authorization: Bearer t0ps3cret\r\nCookie: id=t0ps3cret\r\n"
                                     "X-Note: <img src=x>\r\n"));
    EXPECT_THAT(got, StartsWith("HTTP/1.1 500 "));
    EXPECT_THAT(got, AllOf(HasSubstr("\nContent-Type: text/html; charset=utf-8\r\n"),
                           HasSubstr("\nCache-Control: no-store\r\n"),
                           HasSubstr("\nContent-Security-Policy: default-src 'none'; "),
                           HasSubstr("\nX-Content-Type-Options: nosniff\r\n")));
    EXPECT_THAT(got,
                AllOf(HasSubstr("logic_error"), HasSubstr("cannot sail"), HasSubstr("boat_is_lost"),
                      HasSubstr("a &lt;script&gt;hole&lt;/script&gt; in it")));
    EXPECT_LT(got.find("cannot sail"), got.find("boat_is_lost"));
    EXPECT_THAT(got, AllOf(HasSubstr("GET /boats/7?q=%3Cb%3E&amp;token=***"),
                           HasSubstr("<td>route</td><td>/boats/{id}</td>"),
                           HasSubstr("<td>X-Note</td><td>&lt;img src=x&gt;</td>"),
                           HasSubstr("<td>Authorization</td><td>***</td>"),
                           HasSubstr("<td>Cookie</td><td>***</td>")));
    EXPECT_THAT(
        got, AllOf(Not(HasSubstr("t0ps3cret")), Not(HasSubstr("<script")), Not(HasSubstr("<img"))));
}

TEST(exception_page, shows_programs_problem_details) {
    http::router routes = routes_with();
    routes.use(http::request_id());
    const std::string got =
        ask(routes, get_local("/waits", "Accept: application/json\r\nX-Api-Key: t0ps3cret\r\n"));
    EXPECT_THAT(got, AllOf(StartsWith("HTTP/1.1 500 "),
                           HasSubstr("\nContent-Type: application/problem+json\r\n"),
                           HasSubstr(R"("status":500)"), HasSubstr(R"("detail":"cannot sail")"),
                           HasSubstr(R"("text":"a <script>hole</script> in it"}])"),
                           HasSubstr(R"("request":"GET /waits")"), HasSubstr(R"("request id":")"),
                           HasSubstr(R"(["X-Api-Key","***"])")));
    EXPECT_THAT(got, Not(HasSubstr("t0ps3cret")));
}

TEST(exception_page, is_text_for_all_others_and_for_what_is_no_std_exception) {
    const std::string got =
        ask(routes_with(), get_local("/boats/7", "Accept: */*\r\nX-Note: caf\xe9\r\n"));
    EXPECT_THAT(got, AllOf(HasSubstr("\nContent-Type: text/plain; charset=utf-8\r\n"),
                           HasSubstr("logic_error: cannot sail\n  because of "),
                           HasSubstr("boat_is_lost: a <script>"),
                           HasSubstr("  route: /boats/{id}\n"), HasSubstr("  X-Note: caf\\xe9\n")));
    EXPECT_THAT(ask(routes_with(), get_local("/number")), HasSubstr("\r\n\r\n500 Internal Server "
                                                                    "Error\n\nint\n"));
}

TEST(exception_page, shows_what_a_streamed_response_threw_before_its_first_byte) {
    EXPECT_THAT(ask(routes_with(), get_local("/streams")),
                AllOf(StartsWith("HTTP/1.1 500 "), HasSubstr("logic_error: cannot sail\n")));
}

TEST(exception_page, leaves_alone_what_is_meant) {
    EXPECT_THAT(ask(routes_with(), get_local("/meant")),
                AllOf(StartsWith("HTTP/1.1 503 "), Not(HasSubstr("status_error"))));
    EXPECT_THAT(ask(routes_with(), get_local("/nowhere")),
                AllOf(StartsWith("HTTP/1.1 404 "), Not(HasSubstr("fields"))));
}

TEST(exception_page, is_for_this_machine_only_unless_told_otherwise) {
    // A page of another site could have a name that leads here.
    const std::string got = ask(routes_with(), get("/boats/7"));
    EXPECT_THAT(got, AllOf(StartsWith("HTTP/1.1 500 "), Not(HasSubstr("sail"))));
    EXPECT_THAT(ask(routes_with({.loopback_only = false}), get("/boats/7")),
                HasSubstr("cannot sail"));
    http::server_options by_proxy;
    by_proxy.proxy_protocol_from = "127.0.0.0/8";
    const std::string from_afar = "PROXY TCP4 192.0.2.1 192.0.2.2 5 80\r\n";
    EXPECT_THAT(ask(routes_with(), from_afar + get_local("/boats/7"), by_proxy),
                AllOf(StartsWith("HTTP/1.1 500 "), Not(HasSubstr("sail"))));
}

// A proxy on this machine names it in its own Host, wherever its client is.
TEST(exception_page, is_not_for_the_clients_of_a_proxy_on_this_machine) {
    for (const char* field : {"X-Forwarded-For: 192.0.2.1", "x-forwarded-proto: https",
                              "Forwarded: for=192.0.2.1", "Via: 1.1 proxy"}) {
        const std::string got = ask(routes_with(), get_local("/boats/7", field + "\r\n"s));
        EXPECT_THAT(got, AllOf(StartsWith("HTTP/1.1 500 "), Not(HasSubstr("sail")))) << field;
    }
    EXPECT_THAT(ask(routes_with(), get_local("/boats/7", "X-Forwarded: 1\r\n")),
                HasSubstr("cannot sail"));
    http::router trusting;
    trusting.use(http::trust_proxies({"127.0.0.0/8"}));
    trusting.mount("/", routes_with());
    const auto of = [&](const char* who) {
        return ask(trusting, get_local("/boats/7", "X-Forwarded-For: "s + who + "\r\n"));
    };
    EXPECT_THAT(of("127.0.0.1"), HasSubstr("cannot sail"));
    EXPECT_THAT(of("192.0.2.1"), Not(HasSubstr("sail")));
    EXPECT_THAT(of("unknown"), Not(HasSubstr("sail")));
    EXPECT_THAT(ask(trusting, get_local("/boats/7", "Via: 1.1 proxy\r\n")), Not(HasSubstr("sail")));
}

TEST(exception_page, goes_with_problem_details_of_the_router) {
    http::router routes = routes_with();
    routes.problem_details();
    EXPECT_THAT(ask(routes, get_local("/boats/7", "Accept: text/html\r\n")),
                HasSubstr("\nContent-Type: text/html; charset=utf-8\r\n"));
    EXPECT_THAT(ask(routes, get_local("/boats/7", "Accept: application/problem+json\r\n")),
                HasSubstr("\"exceptions\":[{\"type\":"));
}

TEST(exception_page, is_no_part_of_what_does_not_use_it) {
    http::router routes;
    routes.get("/", [](http::request&) { return sink(); });
    const std::string response = ask(routes, get_local("/"));
    EXPECT_THAT(response, HasSubstr(" 500 "));
    EXPECT_THAT(response, Not(HasSubstr("sail")));
}
