#include "support/allocation_count.hpp"
#include "support/simulated_response.hpp"
#include "support/temporary_directory.hpp"
#include "support/test_ca.hpp"

#include <coracle/http/forwarded.hpp>
#include <coracle/http/https_only.hpp>
#include <coracle/http/router.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/peer.hpp>
#include <coracle/tls/error.hpp>
#include <coracle/tls/reload.hpp>
#include <coracle/tls/stream.hpp>

#include <gtest/gtest.h>

#include <fstream>

namespace coracle {
namespace {

using testing::local_server;
using testing::test_ca;

constexpr std::string_view get = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

class https : public ::testing::Test {
protected:
    test_ca ca;
    tls::server_options certificates() const {
        tls::server_options o;
        o.certificates.push_back(ca.issue({.names = {"localhost", "127.0.0.1"}}));
        return o;
    }
    tls::client_options trusting() const {
        tls::client_options o;
        o.system_authorities = false;
        o.authorities = ca.pem();
        o.protocols = {"http/1.1"};
        return o;
    }
    static http::server_options listening(const tls::server_options& t) {
        http::server_options o;
        o.listen = "https://127.0.0.1:0";
        o.tls = std::make_shared<tls::server_context>(t);
        return o;
    }
};

task<testing::peer> connect_securely(tls::client_context& c, std::uint16_t port,
                                     std::string before = {}) {
    auto s = co_await net::connect(net::address::v4({127, 0, 0, 1}, port));
    if (!before.empty()) co_await s->send(before);
    auto secured = co_await tls::connect(c, std::move(s), "localhost");
    co_return testing::peer(std::move(secured));
}

/// The last line of the response to one request on a new connection.
std::string ask(tls::client_context& c, std::uint16_t port, std::string before = {}) {
    return block_on([&]() -> task<std::string> {
        testing::peer p = co_await connect_securely(c, port, before);
        co_await p.send(std::string(get));
        const std::string head = co_await p.read_until("\r\n\r\n");
        std::string body = co_await p.read_until("\n");
        co_return body;
    });
}

TEST_F(https, responds_and_tells_the_handler_what_was_agreed_on) {
    http::router routes;
    routes.get("/", [](http::request& req) {
        return std::string(req.scheme()) + ' ' + std::string(req.tls()->protocol()) + ' ' +
               std::string(req.tls()->server_name()) + '\n';
    });
    const local_server server(routes, listening(certificates()));
    tls::client_context c(trusting());
    EXPECT_EQ(ask(c, server.port()), "https http/1.1 localhost\n");
    EXPECT_EQ(server.counters().tls_handshakes, 1U);
}

TEST_F(https, takes_up_earlier_sessions) {
    http::router routes;
    routes.get("/", [](http::request& req) {
        return std::string(req.tls()->resumed() ? "resumed\n" : "full\n");
    });
    const local_server server(routes, listening(certificates()));
    for (const auto most : {tls::version::tls_1_2, tls::version::tls_1_3}) {
        auto o = trusting();
        o.maximum = most;
        tls::client_context c(o);
        EXPECT_EQ(ask(c, server.port()), "full\n");
        // More often than the first handshake gave tickets.
        for (int i = 0; i != 5; ++i) EXPECT_EQ(ask(c, server.port()), "resumed\n");
        o.sessions = 0;
        tls::client_context forgetful(o);
        EXPECT_EQ(ask(forgetful, server.port()), "full\n");
        EXPECT_EQ(ask(forgetful, server.port()), "full\n");
    }
    EXPECT_EQ(server.counters().tls_resumptions, 10U);
}

TEST_F(https, gives_no_tickets_when_told_not_to) {
    http::router routes;
    routes.get("/", [](http::request& req) {
        return std::string(req.tls()->resumed() ? "resumed\n" : "full\n");
    });
    auto t = certificates();
    t.tickets = false;
    const local_server server(routes, listening(t));
    tls::client_context c(trusting());
    EXPECT_EQ(ask(c, server.port()), "full\n");
    EXPECT_EQ(ask(c, server.port()), "full\n");
}

TEST_F(https, shows_the_verified_client_to_the_handler) {
    http::router routes;
    routes.get("/", [](http::request& req) {
        if (!req.tls()->verified()) return std::string("nobody\n");
        return req.tls()->peer_certificate().common_name() + '\n';
    });
    auto t = certificates();
    t.clients = tls::client_certificates::optional;
    t.client_authorities = ca.pem();
    const local_server server(routes, listening(t));
    auto o = trusting();
    tls::client_context nobody(o);
    o.identity = ca.issue({.names = {"alice"}});
    tls::client_context alice(o);
    EXPECT_EQ(ask(alice, server.port()), "alice\n");
    // The session carries the certificate.
    EXPECT_EQ(ask(alice, server.port()), "alice\n");
    EXPECT_EQ(ask(nobody, server.port()), "nobody\n");
}

TEST_F(https, does_not_take_up_sessions_of_clients_that_are_no_longer_trusted) {
    http::router routes;
    routes.get("/", [](http::request& req) {
        return std::string(req.tls()->resumed() ? "resumed\n" : "full\n");
    });
    const testing::temporary_directory directory;
    const test_ca other("Other CA");
    auto t = certificates();
    t.clients = tls::client_certificates::required;
    t.client_authorities = directory.write("ca.pem", ca.pem()).string();
    auto o = listening(t);
    const auto context = o.tls;
    const local_server server(routes, o);
    auto co = trusting();
    co.identity = ca.issue({.names = {"alice"}});
    tls::client_context alice(co);
    EXPECT_EQ(ask(alice, server.port()), "full\n");
    EXPECT_EQ(ask(alice, server.port()), "resumed\n");
    directory.write("ca.pem", other.pem());
    EXPECT_TRUE(context->reload());
    EXPECT_THROW(ask(alice, server.port()), exception);
    directory.write("ca.pem", ca.pem());
    EXPECT_TRUE(context->reload());
    EXPECT_NE(ask(alice, server.port()), "");
}

TEST_F(https, keeps_data_for_the_connection) {
    http::router routes;
    routes.get("/", [](http::request& req) {
        int* count = req.connection().data<int>();
        if (count == nullptr) count = &req.connection().set_data(0);
        return std::to_string(++*count) + '\n';
    });
    const local_server server(routes, listening(certificates()));
    tls::client_context c(trusting());
    block_on([&]() -> task<> {
        testing::peer p = co_await connect_securely(c, server.port());
        for (const std::string wanted : {"1\n", "2\n", "3\n"}) {
            co_await p.send(std::string(get));
            co_await p.read_until("\r\n\r\n");
            EXPECT_EQ(co_await p.read_until("\n"), wanted);
        }
    });
    EXPECT_EQ(ask(c, server.port()), "1\n");
}

TEST_F(https, streams_large_bodies_both_ways) {
    http::router routes;
    routes.post("/", [](http::request& req) -> task<http::response> {
        std::string body = co_await req.body().text(std::size_t{8} * 1024 * 1024);
        co_return http::response(body);
    });
    const local_server server(routes, listening(certificates()));
    tls::client_context c(trusting());
    std::string body(5'000'000, '\0');
    for (std::size_t i = 0; i != body.size(); ++i) body[i] = static_cast<char>(i * 7 + i / 251);
    block_on([&]() -> task<> {
        testing::peer p = co_await connect_securely(c, server.port());
        std::string text =
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
            "\r\n\r\n" + body;
        co_await p.send(text);
        co_await p.read_until("\r\n\r\n");
        const std::string echo = co_await p.read_exactly(body.size());
        EXPECT_TRUE(echo == body);
    });
}

TEST_F(https, tells_a_client_without_tls_what_it_should_do) {
    http::router routes;
    routes.get("/", [](http::request&) { return "secret\n"; });
    const local_server server(routes, listening(certificates()));
    block_on([&]() -> task<> {
        testing::peer p =
            co_await testing::connect_peer(net::address::v4({127, 0, 0, 1}, server.port()));
        co_await p.send(std::string(get));
        const std::string all = co_await p.read_to_end();
        EXPECT_TRUE(all.starts_with("HTTP/1.1 400 Bad Request\r\n")) << all;
        EXPECT_NE(all.find("use https://"), std::string::npos);
    });
    tls::client_context c(trusting());
    EXPECT_EQ(ask(c, server.port()), "secret\n");
    EXPECT_EQ(server.counters().tls_failures, 1U);
    EXPECT_EQ(server.counters().requests, 1U);
}

TEST_F(https, cuts_a_client_whose_hello_drips) {
    http::router routes;
    auto t = certificates();
    t.handshake_timeout = std::chrono::milliseconds(50);
    const local_server server(routes, listening(t));
    block_on([&]() -> task<> {
        testing::peer p =
            co_await testing::connect_peer(net::address::v4({127, 0, 0, 1}, server.port()));
        co_await p.send("\x16\x03\x01");
        EXPECT_EQ(co_await p.read_to_end(), "");
        // It is counted once the connection is closed: surely before another one is served.
        testing::peer next =
            co_await testing::connect_peer(net::address::v4({127, 0, 0, 1}, server.port()));
        co_await next.send(std::string(get));
        co_await next.read_to_end();
    });
    EXPECT_GE(server.counters().tls_timeouts, 1U);
}

TEST_F(https, lets_handshakes_count_as_connections) {
    http::router routes;
    routes.get("/", [](http::request&) { return "hello\n"; });
    auto o = listening(certificates());
    o.limits.connections = 1;
    const local_server server(routes, o);
    tls::client_context c(trusting());
    block_on([&]() -> task<> {
        // One that never shakes hands holds the only place, until it goes.
        testing::peer idle =
            co_await testing::connect_peer(net::address::v4({127, 0, 0, 1}, server.port()));
        auto s = co_await net::connect(net::address::v4({127, 0, 0, 1}, server.port()));
        const auto pauses = [&]() -> task<> {
            while (server.counters().accept_paused == 0) co_await yield();
        };
        const auto paused = co_await as_result(with_timeout(std::chrono::seconds(10), pauses));
        EXPECT_TRUE(paused) << "the handshake was not counted";
        EXPECT_EQ(server.counters().open, 0U);
        idle.close();
        auto secured = co_await tls::connect(c, std::move(s), "localhost");
        EXPECT_EQ(secured->protocol(), "http/1.1");
    });
}

TEST_F(https, serves_both_kinds_on_two_ports) {
    http::router routes;
    routes.use(http::https_only({.port = 8443}));
    routes.get("/a", [](http::request& req) { return std::string(req.scheme()) + '\n'; });
    auto o = listening(certificates());
    o.listen = "https://127.0.0.1:0,http://127.0.0.1:0";
    const local_server server(routes, o);
    tls::client_context c(trusting());
    block_on([&]() -> task<> {
        testing::peer secure = co_await connect_securely(c, server.port(0));
        co_await secure.send("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n");
        const std::string head = co_await secure.read_until("\r\n\r\n");
        EXPECT_NE(head.find("Strict-Transport-Security: max-age=15552000\r\n"), std::string::npos);
        EXPECT_EQ(co_await secure.read_until("\n"), "https\n");

        testing::peer plain =
            co_await testing::connect_peer(net::address::v4({127, 0, 0, 1}, server.port(1)));
        co_await plain.send("GET /a?b=c HTTP/1.1\r\nHost: localhost:80\r\n\r\n");
        const std::string redirect = co_await plain.read_until("\r\n\r\n");
        EXPECT_TRUE(redirect.starts_with("HTTP/1.1 308 ")) << redirect;
        EXPECT_NE(redirect.find("Location: https://localhost:8443/a?b=c\r\n"), std::string::npos)
            << redirect;
    });
}

TEST_F(https, redirects_to_the_whole_target) {
    http::router routes;
    routes.use(http::https_only());
    const local_server server(routes);
    const auto location = [&](std::string target) {
        return block_on([&]() -> task<std::string> {
            testing::peer p = co_await testing::connect_peer(server.addresses().at(0));
            const std::string asked = "GET " + target + " HTTP/1.1\r\nHost: example.org\r\n\r\n";
            co_await p.send(asked);
            const std::string head = co_await p.read_until("\r\n\r\n");
            const std::size_t at = std::min(head.find("Location: "), head.size());
            co_return head.substr(at, head.find("\r\n", at) - at);
        });
    };
    EXPECT_EQ(location("/a?b=/c"), "Location: https://example.org/a?b=/c");
    EXPECT_EQ(location("http://example.org/a?b=/c"), "Location: https://example.org/a?b=/c");
    EXPECT_EQ(location("http://example.org"), "Location: https://example.org/");
    EXPECT_EQ(location("http://example.org?next=/home"),
              "Location: https://example.org/?next=/home");
}

TEST_F(https, leads_to_a_location_of_ascii) {
    http::router routes;
    routes.use(http::https_only());
    const auto response = testing::response_of(
        http::handler(routes),
        "GET /\xc3\xa4?q=\xc3\xb6%41 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(response.header("Location"), "https://x/%C3%A4?q=%C3%B6%41");
}

TEST_F(https, lets_a_certificate_be_obtained_without_tls) {
    const auto status = [](const http::https_only_options& o, std::string_view path) {
        http::router routes;
        routes.use(http::https_only(o));
        routes.get("/{*path}", [](http::request&) { return "a token\n"; });
        return testing::response_of(
                   http::handler(routes),
                   "GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            .status();
    };
    EXPECT_EQ(status({}, "/.well-known/acme-challenge/token"), 200);
    EXPECT_EQ(status({}, "/.well-known/acme-challenge"), 308);
    EXPECT_EQ(status({}, "/.well-known/other"), 308);
    EXPECT_EQ(status({.exempt = ""}, "/.well-known/acme-challenge/token"), 308);
    EXPECT_EQ(status({.exempt = "/plain/"}, "/plain/a"), 200);
}

/// The Strict-Transport-Security of a response to a client with TLS; "-" for none.
std::string transport_security_of(const http::https_only_options& o) {
    http::router routes;
    routes.use([](http::request& req, const http::handler& next) -> task<http::response> {
        http::client_info secure;
        secure.scheme = "https";
        req.set_data(secure);
        co_return co_await next(req);
    });
    routes.use(http::https_only(o));
    routes.get("/", [](http::request&) { return "hello\n"; });
    const std::string request = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    const auto response = testing::response_of(http::handler(routes), request);
    return std::string(response.header("Strict-Transport-Security"));
}

TEST_F(https, tells_browsers_how_long_they_use_nothing_else) {
    EXPECT_EQ(transport_security_of({}), "max-age=15552000");
    EXPECT_EQ(transport_security_of({.max_age = std::chrono::hours(1), .subdomains = true}),
              "max-age=3600; includeSubDomains");
    EXPECT_EQ(transport_security_of({.max_age = std::chrono::seconds(0)}), "max-age=0")
        << "they forget it";
    EXPECT_EQ(transport_security_of({.max_age = std::chrono::seconds(-1)}), "-");
}

TEST_F(https, asks_for_https_also_where_a_handler_throws) {
    http::router routes;
    routes.use(http::https_only());
    routes.error_page(http::status::gone, [](http::request&) { return "a page\n"; });
    routes.get("/now", [](http::request&) -> http::response {
        throw http::status_error(http::status::forbidden, "no\n");
    });
    routes.get("/later", [](http::request&) -> task<http::response> {
        co_await yield();
        throw http::status_error(http::status::forbidden, "no\n");
    });
    routes.get("/page/now", [](http::request&) -> http::response {
        throw http::status_error(http::status::gone);
    });
    routes.get("/page/later", [](http::request&) -> task<http::response> {
        co_await yield();
        throw http::status_error(http::status::gone);
    });
    routes.get("/bug", [](http::request&) -> http::response { throw std::runtime_error("a bug"); });
    const local_server server(routes, listening(certificates()));
    tls::client_context c(trusting());
    for (const char* path : {"/now", "/later", "/page/now", "/page/later", "/bug", "/none"}) {
        const std::string head = block_on([&]() -> task<std::string> {
            testing::peer p = co_await connect_securely(c, server.port());
            const std::string asked =
                "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
            co_await p.send(asked);
            std::string response_head = co_await p.read_until("\r\n\r\n");
            co_return response_head;
        });
        EXPECT_NE(head.find("Strict-Transport-Security: max-age="), std::string::npos)
            << path << '\n'
            << head;
    }
}

TEST_F(https, needs_certificates) {
    http::server_options o;
    o.listen = "https://127.0.0.1:0";
    runtime rt(runtime_options{.loops = 1, .pin = false, .backend = {}, .log = nullptr});
    http::server s(http::router(), o);
    EXPECT_THROW(s.open(rt), exception);
}

TEST_F(https, reads_changed_certificates_again_while_it_serves) {
    const testing::temporary_directory directory;
    const auto write = [&](const std::string& name) {
        const tls::certificate_source made = ca.issue({.names = {name}});
        directory.write("key.pem", made.key.reveal());
        return directory.write("cert.pem", made.certificate).string();
    };
    const std::string path = write("first.example");
    tls::server_options t;
    t.certificates.push_back({path, (directory.path() / "key.pem").string(), {}, {}});
    auto context = std::make_shared<tls::server_context>(t);
    http::router routes;
    routes.get("/", [](http::request&) { return "hello\n"; });
    http::server_options o;
    o.listen = "https://127.0.0.1:0";
    o.tls = context;
    const local_server server(routes, o);
    const auto shown = [&] {
        auto co = trusting();
        co.insecure = true;
        tls::client_context c(co);
        return block_on([&]() -> task<std::string> {
            auto s = co_await net::connect(net::address::v4({127, 0, 0, 1}, server.port()));
            auto secured = co_await tls::connect(c, std::move(s), "x.example");
            std::string name = secured->peer_certificate().common_name();
            co_return name;
        });
    };
    EXPECT_EQ(shown(), "first.example");
    EXPECT_FALSE(*context->reload_if_changed());
    write("second.example");
    EXPECT_TRUE(*context->reload_if_changed());
    EXPECT_EQ(shown(), "second.example");
    // A file that cannot be read changes nothing.
    directory.write("cert.pem", "no certificate");
    EXPECT_FALSE(context->reload_if_changed());
    EXPECT_EQ(shown(), "second.example");
}

TEST_F(https, keeps_its_certificates_where_there_is_no_memory_for_new_ones) {
    if (!testing::counts_allocations()) GTEST_SKIP() << "no allocation fails in this build";
    tls::server_context context(certificates());
    logger log;
    log.set_level(log_level::off);
    bool failed = true;
    int n = 0;
    while (failed && !HasFailure()) {
        testing::fail_allocation(static_cast<std::size_t>(++n));
        EXPECT_NO_THROW(tls::reload(context, log)) << n;
        failed = !testing::allocation_will_fail();
        testing::fail_allocation(0);
    }
    EXPECT_GT(n, 3);
    EXPECT_TRUE(context.reload());
}

TEST_F(https, believes_a_proxy_that_it_was_told_of) {
    http::router routes;
    routes.get("/", [](http::request& req) { return req.peer().to_string() + '\n'; });
    auto o = listening(certificates());
    o.proxy_protocol_from = "127.0.0.0/8";
    const local_server server(routes, o);
    tls::client_context c(trusting());
    EXPECT_EQ(ask(c, server.port(), "PROXY TCP4 192.0.2.7 192.0.2.1 4711 443\r\n"),
              "192.0.2.7:4711\n");
    EXPECT_THROW(ask(c, server.port()), exception);
    EXPECT_EQ(ask(c, server.port(), "PROXY UNKNOWN\r\n").substr(0, 10), "127.0.0.1:");
    EXPECT_EQ(server.counters().proxy_failures, 1U);
}

TEST_F(https, reads_a_proxy_header_and_the_request_behind_it_from_one_read) {
    http::router routes;
    routes.get("/", [](http::request& req) { return req.peer().to_string() + '\n'; });
    http::server_options o;
    o.listen = "127.0.0.1:0";
    o.proxy_protocol_from = "127.0.0.1";
    const local_server server(routes, o);
    block_on([&]() -> task<> {
        testing::peer p =
            co_await testing::connect_peer(net::address::v4({127, 0, 0, 1}, server.port()));
        co_await p.send("PROXY TCP6 2001:db8::1 2001:db8::2 1 2\r\n" + std::string(get));
        co_await p.read_until("\r\n\r\n");
        EXPECT_EQ(co_await p.read_until("\n"), "[2001:db8::1]:1\n");
    });
}

}  // namespace
}  // namespace coracle
