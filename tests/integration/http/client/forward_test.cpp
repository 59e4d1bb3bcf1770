// Requests that `forward_to` sends on, as the server behind it receives them.

#include "support/blocking_peer.hpp"
#include "support/client_calls.hpp"

#include <coracle/http/forward.hpp>
#include <coracle/http/forwarded.hpp>
#include <coracle/http/middleware/time_limit.hpp>
#include <coracle/http/router.hpp>
#include <coracle/http/upstreams.hpp>
#include <coracle/runtime/event.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/scripted_peer.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;

http::response target_of(http::request& req) {
    return http::response("behind:" + std::string(req.target()));
}

http::response guarded(http::request&) {
    return http::response(http::status::forbidden, "guarded");
}

class forwarding : public ::testing::Test {
protected:
    void serve(const std::string& base_path, const http::forward_options& options = {}) {
        http::router routes;
        routes.any("/api/admin", guarded);
        routes.any("/{*rest}", http::forward_to(client_, behind_.url(base_path), options));
        front_.emplace(std::move(routes));
    }
    /// Checks the response to a request with this target, to the end of the connection.
    ::testing::AssertionResult responds(const std::string& target, const std::string& expected) {
        blocking_peer peer(front_->port());
        peer.send("GET " + target + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        if (peer.receive_until(expected)) return ::testing::AssertionSuccess();
        return ::testing::AssertionFailure() << target << " did not get " << expected;
    }

    local_server behind_{target_of};
    http::client client_;
    std::optional<local_server> front_;
};

TEST_F(forwarding, keeps_targets_as_they_came) {
    serve("/public");
    EXPECT_TRUE(responds("/api/a?x=1&y=%2F", "behind:/public/api/a?x=1&y=%2F"));
    EXPECT_TRUE(responds("http://h/a?x=1", "behind:/public/a?x=1"));
    EXPECT_TRUE(responds("http://h", "behind:/public/"));
    EXPECT_TRUE(responds("http://h?x=1", "behind:/public/?x=1"));
    EXPECT_TRUE(responds("http://h/a%20b?u=http://i/c", "behind:/public/a%20b?u=http://i/c"));
}

TEST_F(forwarding, decodes_no_target_twice) {
    serve("/public");
    const std::string up = "/%252e%252e/%252e%252e/%252e%252e/admin";
    for (const char* form : {"", "http://h"}) {
        EXPECT_TRUE(responds(form + ("/api" + up), "behind:/public/api" + up));
        EXPECT_TRUE(responds(form + std::string("/api/admin"), "guarded"));
        EXPECT_TRUE(responds(form + std::string("/api/admin%3f"), "behind:/public/api/admin%3f"));
    }
}

TEST_F(forwarding, sends_the_target_as_it_came) {
    const std::string odd = "/%7Ej/./%61/b|{c}^`[d]?sig=a%2fb%3d&p=x|y\\%";
    serve("/public");
    EXPECT_TRUE(responds("/api" + odd, "behind:/public/api" + odd));
    // It is decoded only to be compared with what is stripped; dot segments are resolved then.
    serve("/public", {.strip_prefix = "/api"});
    EXPECT_TRUE(responds("/%61pi" + odd, "behind:/public/%7Ej" + odd.substr(odd.find("/%61"))));
    EXPECT_TRUE(responds("/api/%2e%2e/api/a%2e", "behind:/public/a%2e"));
}

// An encoded slash separates nothing for the router either, whose groups guard what is behind it.
TEST_F(forwarding, strips_no_prefix_whose_slashes_are_encoded) {
    serve("", {.strip_prefix = "/api/v1"});
    EXPECT_TRUE(responds("/api/v1/users", "behind:/users"));
    EXPECT_TRUE(responds("/%61pi/v%31/users", "behind:/users"));
    for (const char* path : {"/api%2Fv1/users", "/api/v1%2fusers"}) {
        EXPECT_EQ(client_.get(front_->url(path)).wait().status, http::status::not_found) << path;
    }
}

// RFC 7541 section 6.2.3.
TEST(forwarded_requests, keep_secrets_out_of_the_tables_of_http_2_both_ways) {
    const auto marks_of = [](const http::fields& all) {
        std::string marks;
        for (const char* name : {"X-Pin", "X-Open", "X-Pin-Back", "X-Open-Back"}) {
            const http::field* const f = all.find(name);
            if (f != nullptr)
                marks.append(f->value).append(f->never_indexed ? "*" : "").append(" ");
        }
        return marks;
    };
    const local_server behind([&](http::request& req) {
        http::response r(marks_of(req.fields()));
        r.set("X-Pin-Back", "3").set("X-Open-Back", "4");
        r.fields().never_index("X-Pin-Back");
        return r;
    });
    http::client_options over_h2;
    over_h2.http_version = http::version_choice::http_2;
    http::client client(over_h2);
    http::router routes;
    routes.any("/{*rest}", http::forward_to(client, behind.url()));
    const local_server front(std::move(routes));
    for (int i = 0; i != 2; ++i) {
        const auto r =
            client.get(front.url("/")).header("X-Pin", secret("1")).header("X-Open", "2").wait();
        EXPECT_EQ(r.body, "1* 2 ");
        EXPECT_EQ(marks_of(r.fields), "3* 4 ");
    }
}

TEST(forwarded_requests, tell_the_client_that_was_found_out_and_nothing_that_it_says_of_itself) {
    const local_server behind([](http::request& req) {
        return http::response("for:" + std::string(req.header("X-Forwarded-For")) +
                              ";by:" + std::string(req.header("Forwarded")) +
                              ";host:" + std::string(req.header("X-Forwarded-Host")) + '.');
    });
    http::client client;
    const std::string spoofed =
        "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
        "Forwarded: for=6.6.6.6\r\nX-Forwarded-For: 6.6.6.6\r\n"
        "X-Forwarded-For: 192.0.2.7\r\n\r\n";
    http::router trusting;
    trusting.use(http::trust_proxies({"127.0.0.0/8"}));
    trusting.any("/{*rest}", http::forward_to(client, behind.url()));
    http::router plain;
    plain.any("/{*rest}", http::forward_to(client, behind.url()));
    const local_server with_trust(std::move(trusting));
    const local_server without(std::move(plain));
    blocking_peer through_proxy(with_trust.port());
    through_proxy.send(spoofed);
    EXPECT_TRUE(through_proxy.receive_until("for:192.0.2.7, 127.0.0.1;by:;host:h."));
    blocking_peer direct(without.port());
    direct.send(spoofed);
    EXPECT_TRUE(direct.receive_until("for:127.0.0.1;by:;host:h."));
    blocking_peer old(without.port());
    old.send("GET / HTTP/1.0\r\nX-Forwarded-Host: evil.test\r\n\r\n");
    EXPECT_TRUE(old.receive_until("for:127.0.0.1;by:;host:."));
}

TEST(forwarded_requests, of_clients_that_have_left_are_no_errors) {
    const local_server behind([](http::request&) -> task<http::response> {
        co_await sleep_for(std::chrono::hours(1));
        co_return "late";
    });
    http::client client;
    const local_server front(http::forward_to(client, behind.url()));
    std::uint64_t requests = 0;
    for (const char* request : {"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
                                "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc"}) {
        blocking_peer peer(front.port());
        peer.send(request);
        ++requests;
        while (behind.counters().requests != requests) std::this_thread::yield();
        peer.reset();
        while (front.counters().open != 0) std::this_thread::yield();
        EXPECT_EQ(front.counters().clients_gone, requests);
        EXPECT_EQ(front.counters().responses_5xx, 0U);
        EXPECT_EQ(front.counters().handler_errors, 0U);
    }
}

TEST(forwarded_requests, that_take_too_long_are_timeouts) {
    const local_server behind([](http::request&) -> task<http::response> {
        co_await sleep_for(std::chrono::hours(1));
        co_return "late";
    });
    http::client client;
    const http::time_limit limit(std::chrono::milliseconds(50));
    const local_server front(http::wrap(limit, http::forward_to(client, behind.url())));
    EXPECT_EQ(http::client().get(front.url()).wait().status, http::status::gateway_timeout);
    const auto posted = http::client().post(front.url()).body("x").wait();
    EXPECT_EQ(posted.status, http::status::gateway_timeout);
}

/// A zone is of this machine alone, and so is a path.
TEST(forwarded_requests, name_their_client_as_the_server_behind_reads_it) {
    http::router routes;
    routes.use(http::trust_proxies({"127.0.0.0/8"}));
    routes.any("/{*rest}", [](http::request& req) {
        return http::response("for:" + std::string(req.header("X-Forwarded-For")) + '.');
    });
    const local_server behind(std::move(routes));
    const std::pair<net::address, std::string> rows[] = {
        {net::address::v6({0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}, 80, 3),
         "for:fe80::2."},
        {*net::address::parse("unix:/tmp/bound"), "for:unix:."},
        {*net::address::parse("unix:@00001"), "for:unix:."},
    };
    http::client client;
    const http::handler forward = http::forward_to(client, behind.url());
    for (const auto& [peer, told] : rows) {
        const auto ask = [&]() -> task<> {
            http::request req;
            http::request::parts p;
            p.method_text = "GET";
            p.target = p.path = "/";
            p.host = "h";
            p.peer = &peer;
            req.assign(p);
            auto forwarding = forward(req);
            http::response r = co_await std::move(forwarding);
            EXPECT_EQ(co_await r.text(), told);
        };
        block_on(ask);
    }
}

/// Tells what of a request matters to those on its way.
task<http::response> tell_way(http::request& req) {
    std::string text = "via[" + std::string(req.header("Via")) + "] hops[" +
                       std::string(req.header("Max-Forwards")) + "] upgrade[" +
                       std::string(req.header("Upgrade")) + "] body[";
    text += co_await req.body().text();
    co_return text + "]";
}

task<> write_sum(http::body_writer& out) {
    co_await out.write("pieces");
    out.set_trailer("Sum", "6");
    out.set_trailer("X-Forwarded-For", "6.6.6.6");
}

/// Responds with the body of a request, and with its trailers.
http::response with_the_same_trailers(http::request& req) {
    return http::stream([&req](http::body_writer& out) -> task<> {
        const std::string all = co_await req.body().text();
        co_await out.write(all);
        for (const http::field& f : req.trailers()) {
            out.set_trailer("Got-" + std::string(f.name), f.value);
        }
    });
}

TEST(forwarded_requests, have_their_trailers_as_have_their_responses) {
    const local_server behind(with_the_same_trailers);
    for (const auto version : {http::version_choice::http_1_1, http::version_choice::http_2}) {
        http::client_options o;
        o.http_version = version;
        http::client to_behind(o);
        http::router routes;
        routes.any("/", http::forward_to(to_behind, behind.url()));
        const local_server front(std::move(routes));
        http::client client(o);
        const auto ask = [&] {
            return client.post(front.url()).body(http::body::stream(write_sum));
        };
        const auto r = ask().header("TE", "trailers").wait();
        EXPECT_EQ(r.body, "pieces");
        EXPECT_EQ(r.trailers.get("Got-Sum"), "6") << http::to_string(r.info.version);
        // A client does not say who it is: that is the proxy's to tell.
        EXPECT_EQ(r.trailers.size(), 1U);
        EXPECT_EQ(ask().wait().trailers.size(), 0U);
    }
}

TEST(forwarded_requests, have_no_trailer_in_place_of_a_field) {
    const local_server behind([](http::request& req) -> task<http::response> {
        std::string told = co_await req.body().text();
        for (const http::field& f : req.trailers()) {
            told.append(";").append(f.name).append("=").append(f.value);
        }
        co_return http::response(told + '.');
    });
    http::client client;
    http::router routes;
    routes.use([](http::request& req, const http::handler& next) -> task<http::response> {
        req.fields().set("X-User", "ada");
        return next(req);
    });
    routes.post("/", http::forward_to(client, behind.url()));
    const local_server front(std::move(routes));
    blocking_peer peer(front.port());
    peer.send(
        "POST / HTTP/1.1\r\nHost: h\r\nConnection: close, X-Hop\r\n"
        "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n"
        "X-A: 1\r\nX-User: bob\r\nx-a: 2\r\nX-Hop: 1\r\nForwarded: for=6.6.6.6\r\n"
        "X_User: bob\r\n\r\n");
    EXPECT_TRUE(peer.receive_until("body;x-a=1, 2."));
}

// The client names a field in Connection, which a proxy must not pass on then.
TEST(forwarded_requests, have_the_fields_that_are_set_for_the_upstream_whatever_the_client_names) {
    const local_server behind([](http::request& req) -> task<http::response> {
        co_await req.body().text();
        const http::fields& behind_body = req.body().trailers();
        co_return http::response("user:" + std::string(req.header("X-User")) +
                                 ";by:" + std::string(req.header("X-By")) +
                                 ";later:" + std::string(behind_body.get("X-Late")) +
                                 ";for:" + std::string(req.header("X-Forwarded-For")) + '.');
    });
    http::client client;
    http::forward_options options;
    options.change_fields = [](const http::request& req, http::fields& out) {
        out.set("X-User", req.path());
        out.remove("X-Forwarded-For");
    };
    http::router routes;
    routes.use([](http::request& req, const http::handler& next) {
        req.fields().set("X-By", "middleware");
        return next(req);
    });
    routes.any("/{*rest}", http::forward_to(client, behind.url(), options));
    const local_server front(std::move(routes));
    blocking_peer peer(front.port());
    peer.send(
        "POST /ann HTTP/1.1\r\nHost: h\r\nConnection: close, X-User, X-By\r\nX-User: root\r\n"
        "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Late: root\r\n\r\n");
    EXPECT_TRUE(peer.receive_until("user:/ann;by:;later:;for:."));
}

// Programs that make variables of fields would take them for those with a "-".
TEST(forwarded_requests, have_no_field_with_an_underscore_unless_it_is_asked_for) {
    const local_server behind([](http::request& req) {
        std::string told;
        for (const http::field& f : req.fields()) {
            if (f.name.contains('_')) told.append(f.name).append("=").append(f.value);
        }
        return http::response(told + '.');
    });
    http::client client;
    http::router routes;
    routes.get("/", http::forward_to(client, behind.url()));
    routes.get("/all", http::forward_to(client, behind.url(), {.underscores = true}));
    const local_server front(std::move(routes));
    const auto told = [&](const char* path) {
        return client.get(front.url(path)).header("X_Forwarded_For", "6.6.6.6").wait().body;
    };
    EXPECT_EQ(told("/"), ".");
    EXPECT_EQ(told("/all"), "X_Forwarded_For=6.6.6.6.");
}

TEST(forwarded_requests, fail_with_what_changes_their_fields) {
    const local_server behind([](http::request&) { return http::response("behind"); });
    http::client client;
    http::forward_options options;
    options.change_fields = [](const http::request&, http::fields&) {
        throw_exception(error(make_error_code(http::status::unauthorized), "who"));
    };
    http::router routes;
    routes.any("/{*rest}", http::forward_to(client, behind.url(), options));
    const local_server front(std::move(routes));
    EXPECT_EQ(client.get(front.url("/")).wait().status, http::status::unauthorized);
}

TEST(forwarded_requests, keep_the_host_that_their_target_names) {
    const local_server behind([](http::request& req) {
        return http::response("host:" + std::string(req.header("Host")) + '.');
    });
    http::client client;
    http::router routes;
    routes.any("/{*rest}", http::forward_to(client, behind.url(), {.keep_host = true}));
    const local_server front(std::move(routes));
    const auto host_behind = [&](const std::string& target, const std::string& connection) {
        blocking_peer peer(front.port());
        peer.send("GET " + target + " HTTP/1.1\r\nHost: inner\r\nConnection: close" + connection +
                  "\r\n\r\n");
        static_cast<void>(peer.receive_until("."));
        return std::string(peer.received().substr(peer.received().find("host:")));
    };
    EXPECT_EQ(host_behind("/a", ""), "host:inner.");
    EXPECT_EQ(host_behind("/a", ", Host"), "host:inner.");
    EXPECT_EQ(host_behind("http://outer:81/a", ""), "host:outer:81.");
}

TEST(forwarded_requests, keep_the_date_of_their_responses) {
    const scripted_peer behind(script()
                                   .read_head()
                                   .send("HTTP/1.1 404 Not Found\r\n"
                                         "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
                                         "Content-Length: 4\r\n\r\nnone")
                                   .again());
    http::client client;
    http::router routes;
    routes.get("/own", [](http::request&) {
        return http::response("own").set("Date", "Sun, 06 Nov 1994 08:49:37 GMT");
    });
    routes.any("/{*rest}", http::forward_to(client, behind.url("")));
    const local_server front(std::move(routes));
    for (const auto version : {http::version_choice::http_1_1, http::version_choice::http_2}) {
        http::client_options o;
        o.http_version = version;
        http::client asking(o);
        const auto dates = [&](const char* path) {
            std::string all;
            const auto r = asking.get(front.url(path)).wait();
            for (const http::field& f : r.fields) {
                if (f.id == http::field_id::date) all.append(f.value).append(";");
            }
            return all;
        };
        EXPECT_EQ(dates("/a"), "Sun, 06 Nov 1994 08:49:37 GMT;");
        const std::string own = dates("/own");
        EXPECT_EQ(own.size(), 30U) << own;
        EXPECT_EQ(own.find("1994"), std::string::npos) << own;
    }
}

TEST(forwarded_requests, have_no_field_that_did_not_come) {
    const local_server behind([](http::request& req) {
        std::string names;
        for (const http::field& f : req.fields()) names.append(f.name).append(" ");
        return http::response("has " + names + '.');
    });
    http::client client;
    const local_server front(http::forward_to(client, behind.url()));
    const std::string from = "X-Forwarded-For X-Forwarded-Proto X-Forwarded-Host Via .";
    blocking_peer bare(front.port());
    bare.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(bare.receive_until("has Host " + from));
    blocking_peer spoofing(front.port());
    spoofing.send(
        "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nAccept: a/b\r\n"
        "X-Forwarded-Prefix: /x\r\nX-Forwarded-Port: 1\r\nX-Own: 1\r\n\r\n");
    EXPECT_TRUE(spoofing.receive_until("has Host Accept X-Own " + from));
    const local_server silent(http::forward_to(client, behind.url(), {.tells_client = false}));
    blocking_peer passed(silent.port());
    passed.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX-Forwarded-Port: 1\r\n\r\n");
    EXPECT_TRUE(passed.receive_until("has Host X-Forwarded-Port Via ."));
}

TEST(forwarded_requests, are_told_what_to_upgrade_to) {
    const local_server behind([](http::request&) {
        return http::response(http::status::upgrade_required, "newer\n")
            .set("Upgrade", "websocket")
            .set("Sec-WebSocket-Version", "13");
    });
    http::client client;
    const local_server front(http::forward_to(client, behind.url()));
    const auto r = http::client().get(front.url()).wait();
    EXPECT_EQ(r.status, http::status::upgrade_required);
    EXPECT_EQ(r.header("Upgrade"), "websocket");
    EXPECT_EQ(r.header("Sec-WebSocket-Version"), "13");
}

TEST(forwarded_requests, name_the_version_in_which_they_came) {
    const local_server behind(tell_way);
    http::client client;
    const local_server front(http::forward_to(client, behind.url()));
    http::client_options o;
    o.http_version = http::version_choice::http_2;
    const auto newer = http::client(o).get(front.url()).wait();
    EXPECT_EQ(newer.body, "via[2.0 coracle] hops[] upgrade[] body[]");
    EXPECT_EQ(newer.fields.get("Via"), "1.1 coracle");
    blocking_peer older(front.port());
    older.send("GET / HTTP/1.0\r\nHost: h\r\n\r\n");
    EXPECT_TRUE(older.receive_until("via[1.0 coracle] hops[] upgrade[] body[]"));
}

TEST(forwarded_requests, go_no_further_than_they_may) {
    const local_server behind(tell_way);
    http::client client;
    const local_server front(http::forward_to(client, behind.url()));
    const auto asked = [&](const char* method, const char* hops) {
        return http::client().request(method, front.url()).header("Max-Forwards", hops).wait();
    };
    EXPECT_EQ(asked("OPTIONS", "2").body, "via[1.1 coracle] hops[1] upgrade[] body[]");
    EXPECT_EQ(asked("OPTIONS", "0").status, http::status::no_content);
    EXPECT_EQ(asked("TRACE", "0").status, http::status::method_not_allowed);
    EXPECT_EQ(asked("OPTIONS", "x").body, "via[1.1 coracle] hops[x] upgrade[] body[]");
    EXPECT_EQ(asked("GET", "0").body, "via[1.1 coracle] hops[0] upgrade[] body[]");
    // There is nothing to say of all that is behind it.
    blocking_peer peer(front.port());
    peer.send("OPTIONS * HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(peer.receive_until("\r\n\r\n"));
    EXPECT_TRUE(peer.received().starts_with("HTTP/1.1 204 ")) << peer.received();
}

TEST(forwarded_requests, with_a_body_keep_it_whatever_else_they_offer) {
    const local_server behind(tell_way);
    http::client client;
    const local_server front(http::forward_to(client, behind.url()));
    for (const char* protocol : {"h2c", "foo"}) {
        const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: " +
                                 std::string(protocol) + "\r\n";
        blocking_peer sized(front.port());
        sized.send(head + "Content-Length: 8\r\n\r\norder=42");
        EXPECT_TRUE(sized.receive_until("upgrade[] body[order=42]")) << protocol;
        blocking_peer chunked(front.port());
        chunked.send(head + "Transfer-Encoding: chunked\r\n\r\n8\r\norder=42\r\n0\r\n\r\n");
        EXPECT_TRUE(chunked.receive_until("upgrade[] body[order=42]")) << protocol;
    }
    blocking_peer bare(front.port());
    bare.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
    EXPECT_TRUE(bare.receive_until("upgrade[] body[]"));
}

TEST(forwarded_requests, are_switched_to_the_protocol_that_was_asked_for_alone) {
    for (const char* chosen : {"Upgrade: bar\r\n", "", "Upgrade: foo, bar\r\n"}) {
        const std::string switched = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n" +
                                     std::string(chosen) + "\r\nbytes";
        const scripted_peer behind({script().read_head().send(switched).read_to_end()});
        http::client client;
        const local_server front(http::forward_to(client, behind.url()));
        blocking_peer peer(front.port());
        peer.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: foo\r\n\r\n");
        EXPECT_TRUE(peer.receive_until("502 Bad Gateway\n")) << chosen;
    }
}

TEST(forwarded_requests, have_no_credentials_of_an_address) {
    http::client client;
    EXPECT_THROW(http::forward_to(client, "http://user:secret@127.0.0.1:1/"), exception);
}

TEST(forwarded_requests, that_fail_get_the_error_pages_of_the_site) {
    http::client client;
    http::router site;
    site.error_page(http::status::bad_gateway, [](http::request&) { return "page of 502"; });
    site.error_page(http::status::internal_server_error, [](http::request&) -> http::response {
        throw std::runtime_error("the page fails too");
    });
    site.get("/away", http::forward_to(client, "http://127.0.0.1:1"));
    site.get("/late", [](http::request&) {
        return http::stream([](http::body_writer&) -> task<> {
            co_await yield();
            throw std::runtime_error("before its first byte");
        });
    });
    site.get("/bug", [](http::request&) -> http::response { throw std::runtime_error("a bug"); });
    const local_server front(site);
    EXPECT_EQ(http::client().get(front.url("/away")).wait().body, "page of 502");
    // Where no page can be made any more there is the name of the status at least.
    for (const char* path : {"/late", "/bug"}) {
        const auto failed = http::client().get(front.url(path)).wait();
        EXPECT_EQ(failed.status, http::status::internal_server_error) << path;
        EXPECT_EQ(failed.body, "500 Internal Server Error\n") << path;
    }
}

TEST_F(forwarding, stays_beneath_the_path_of_its_base) {
    serve("/public/");
    EXPECT_TRUE(responds("/a/../b", "behind:/public/a/../b"));
    EXPECT_TRUE(responds("/a/..%2fb", "behind:/public/a/..%2fb"));
    for (const char* target : {"/../admin", "/%2e%2e/admin", "http://h/../admin"}) {
        EXPECT_FALSE(responds(target, "admin")) << target;
    }
    for (const char* target :
         {"/..%2fadmin", "/%2e%2e%2Fadmin", "/a/..%2f..%2fadmin", "/..%5cadmin"}) {
        EXPECT_TRUE(responds(target, "400 Bad Request\n")) << target;
    }
}

// Each field is looked up in Connection: as many of both would cost seconds.
TEST_F(forwarding, looks_at_no_endless_connection_field) {
    serve("/public");
    for (const std::size_t size : {1024U, 1025U}) {
        std::string request = "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close";
        request.append(size - 5, ',').append("\r\n\r\n");
        blocking_peer peer(front_->port());
        peer.send(request);
        EXPECT_TRUE(peer.receive_until(size > 1024 ? "400 Bad Request\n" : "behind:/public/a"))
            << size;
    }
    script s;
    s.read_head().send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close" +
                       std::string(1020, ',') + "\r\n\r\n");
    const scripted_peer upstream(s);
    const local_server front(http::forward_to(client_, upstream.url()));
    EXPECT_EQ(http::client().get(front.url()).wait().status, http::status::bad_gateway);
}

TEST(forwarded_requests, blame_no_upstream_for_a_queue_of_ours) {
    block_on([]() -> task<> {
        event goes_on;
        loop& here = *loop::current();
        const local_server slow(here, [&](http::request&) -> task<std::string> {
            co_await goes_on.wait();
            co_return "slow";
        });
        const local_server quick(here, [](http::request&) { return "quick"; });
        http::pool_options p;
        p.connections = 1;
        p.waiting = 0;
        http::client client({}, p);
        http::upstreams nodes(client, {quick.url("")});
        http::router routes;
        routes.get("/slow", http::forward_to(client, slow.url("")));
        routes.get("/quick", http::forward_to(nodes));
        const local_server front(here, std::move(routes));
        const auto hold = [&]() -> task<> {
            http::client caller;
            const auto r = co_await caller.get(front.url("/slow")).full();
            EXPECT_EQ(r.body, "slow");
        };
        const auto ask = [&]() -> task<> {
            while (slow.counters().requests == 0) co_await sleep_for(1ms);
            http::client caller;
            for (int i = 0; i != 5; ++i) {
                const auto r = co_await caller.get(front.url("/quick")).full();
                EXPECT_EQ(r.status, http::status::service_unavailable);
            }
            EXPECT_FALSE(nodes.states()[0].is_ejected);
            EXPECT_EQ(nodes.states()[0].failures, 0U);
            goes_on.set();
        };
        co_await when_all(hold(), ask());
    });
}

}  // namespace
}  // namespace coracle::testing
