// The parameters of handlers, over a real connection.
#include "support/blocking_peer.hpp"

#include <coracle/http/extract.hpp>
#include <coracle/http/forwarded.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/testing/local_server.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

using namespace coracle;
using coracle::testing::blocking_peer;
using coracle::testing::local_server;

namespace {

/// Counts itself.
struct guest {
    explicit guest(std::atomic<int>& n) : here(&n) { ++*here; }
    guest(guest&& other) noexcept : here(std::exchange(other.here, nullptr)) {}
    ~guest() {
        if (here != nullptr) --*here;
    }
    std::atomic<int>* here;
};

http::server_options on_loopback() {
    http::server_options o;
    o.listen = "127.0.0.1:0";
    return o;
}

std::string post(std::string_view target, std::string_view type, std::string_view body) {
    return "POST " + std::string(target) +
           " HTTP/1.1\r\nHost: x\r\nContent-Type: " + std::string(type) +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

TEST(extraction, a_body_that_is_refused_does_not_break_the_connection) {
    http::router routes;
    routes.post("/{id}", [](http::path<"id", int> id, http::text_body text) {
        return std::to_string(id) + *text;
    });
    local_server server(routes, on_loopback());
    blocking_peer client(server.port());
    ASSERT_TRUE(client.send(post("/x", "text/plain", "not read")));
    EXPECT_TRUE(client.receive_until("'x' is not an integer between -2147483648 and 2147483647\n"));
    ASSERT_TRUE(client.send(post("/7", "text/plain", " read")));
    EXPECT_TRUE(client.receive_until("\r\n\r\n7 read"));
    EXPECT_EQ(server.counters().connections, 1u);
}

TEST(extraction, a_body_beyond_the_limit_gets_a_response_and_is_counted) {
    http::router routes;
    routes.post("/", [](http::limited_text_body<8> text) { return *text; });
    local_server server(routes, on_loopback());
    blocking_peer at(server.port());
    ASSERT_TRUE(at.send(post("/", "text/plain", "12345678")));
    EXPECT_TRUE(at.receive_until("\r\n\r\n12345678"));
    blocking_peer above(server.port());
    ASSERT_TRUE(above.send(post("/", "text/plain", "123456789")));
    EXPECT_TRUE(above.receive_until("larger than is accepted\n"));
    // It is counted in the turn of the loop that sent it: before any later response.
    blocking_peer later(server.port());
    ASSERT_TRUE(later.send(post("/", "text/plain", "1")));
    EXPECT_TRUE(later.receive_until("\r\n\r\n1"));
    EXPECT_EQ(server.counters().body_too_large, 1u);
}

TEST(extraction, the_fields_of_a_form_come_in_pieces) {
    http::router routes;
    routes.post("/", [](http::form_field<"a", int> a, http::form_field<"b"> b) {
        return std::to_string(a) + '|' + std::string(*b) + "|";
    });
    local_server server(routes, on_loopback());
    blocking_peer client(server.port());
    ASSERT_TRUE(
        client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
                    "Content-Type: application/x-www-form-urlencoded\r\n\r\n3\r\na=1\r\n"));
    ASSERT_TRUE(client.send("5\r\n&b=x%\r\n4\r\n20yz\r\n0\r\n\r\n"));
    EXPECT_TRUE(client.receive_until("\r\n\r\n1|x yz|"));
}

TEST(extraction, data_of_a_request_ends_with_its_exchange_and_is_not_seen_by_the_next) {
    std::atomic<int> here = 0;
    std::atomic<int> most = 0;
    http::router routes;
    routes.get("/first", [&](http::request& req) -> task<http::response> {
        req.set_data(guest(here));
        most = here.load();
        co_await yield();
        co_return http::stream([&here](http::body_writer& out) -> task<> {
            // It lives until the body has been written.
            const std::string_view text = here == 1 ? "here" : "gone";
            co_await out.write(text);
        });
    });
    routes.get("/second", [&](http::request& req) {
        return req.data<guest>() == nullptr && here == 0 ? "nobody" : "somebody";
    });
    local_server server(routes, on_loopback());
    blocking_peer client(server.port());
    for (int i = 0; i != 3; ++i) {
        ASSERT_TRUE(
            client.send("GET /first HTTP/1.1\r\nHost: x\r\n\r\n"
                        "GET /second HTTP/1.1\r\nHost: x\r\n\r\n"));
        EXPECT_TRUE(client.receive_until("\r\n\r\nnobody"));
    }
    EXPECT_EQ(most, 1);
    EXPECT_EQ(here, 0);
}

TEST(extraction, the_client_behind_a_trusted_proxy_is_known_for_each_request_anew) {
    http::router routes;
    routes.use(http::trust_proxies({"127.0.0.0/8"}));
    routes.get("/", [](http::request& req) { return req.client().host(); });
    local_server server(routes, on_loopback());
    blocking_peer client(server.port());
    ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.7\r\n\r\n"));
    EXPECT_TRUE(client.receive_until("\r\n\r\n192.0.2.7"));
    ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    EXPECT_TRUE(client.receive_until("\r\n\r\n127.0.0.1"));
    ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: rubbish\r\n\r\n"));
    EXPECT_TRUE(client.receive_until("malformed\n"));
}

}  // namespace
