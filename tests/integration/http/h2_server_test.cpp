#include "http/h2/frame.hpp"
#include "integration/http/letters.hpp"
#include "integration/http/simulated_server.hpp"
#include "support/h2_peer.hpp"

namespace {

using namespace simulated;
using http::h2::error_code;

}  // namespace

TEST(h2_server, responds_like_http_1) {
    for_seeds(20, [](world& w) -> task<> {
        h2_peer p(co_await w.connect());
        auto& hello = p.get("/hello");
        auto& none = p.get("/nowhere");
        auto& echo = p.post("/echo", text(300'000));
        auto& big = p.get("/big?n=700000");
        auto& streamed = p.get("/stream");
        auto& thrown = p.get("/throw");
        auto& head = p.request("HEAD", "/hello");
        auto& empty = p.get("/none");
        for (const auto* m : {&hello, &none, &echo, &big, &streamed, &thrown, &head, &empty}) {
            co_await p.until_over(*m);
        }
        EXPECT_EQ(hello.status, 200);
        EXPECT_EQ(hello.content, "hello");
        EXPECT_EQ(hello.field("content-length"), "5");
        EXPECT_EQ(hello.field("content-type"), "text/plain; charset=utf-8");
        EXPECT_FALSE(hello.field("date").empty());
        EXPECT_EQ(none.status, 404);
        EXPECT_EQ(echo.content, text(300'000));
        EXPECT_EQ(big.content, repeated(700'000, 'b'));
        EXPECT_EQ(streamed.content, "one,two");
        EXPECT_EQ(streamed.field("content-length"), "");
        EXPECT_EQ(thrown.status, 500);
        EXPECT_EQ(head.status, 200);
        EXPECT_EQ(head.field("content-length"), "5");
        EXPECT_EQ(head.content, "");
        EXPECT_EQ(empty.status, 204);
        EXPECT_EQ(empty.field("content-length"), "");
        EXPECT_EQ(w.counters().requests, 8u);
        EXPECT_EQ(w.counters().h2_connections, 1u);
        EXPECT_EQ(w.counters().connections, 1u);
        EXPECT_EQ(w.counters().responses_2xx, 6u);
    });
}

TEST(h2_server, makes_no_tunnels_whatever_its_handler_responds) {
    world w(1, [](http::request&) { return http::response("anything"); });
    w.run([](world& in) -> task<> {
        h2_peer p(co_await in.connect());
        auto& tunnel = p.tunnel("a:443");
        co_await p.until_over(tunnel);
        EXPECT_EQ(tunnel.status, 501);
        auto& next = p.get("/");
        co_await p.until_over(next);
        EXPECT_EQ(next.content, "anything");
    });
}

TEST(h2_server, does_not_let_one_request_wait_for_another) {
    for_seeds(5, [](world& w) -> task<> {
        h2_peer p(co_await w.connect());
        const time_point begun = w.sim.now();
        auto& slow = p.get("/sleep?ms=60000&id=1");
        auto& fast = p.get("/hello");
        co_await p.until_over(fast);
        EXPECT_LT(w.since(begun), 30s);
        EXPECT_FALSE(slow.over());
        co_await p.until_over(slow);
        EXPECT_EQ(slow.content, "slept 1");
    });
}

TEST(h2_server, cancels_the_handler_of_a_stream_that_is_reset_and_no_other) {
    for_seeds(10, [](world& w) -> task<> {
        h2_peer p(co_await w.connect());
        auto& given_up = p.get("/sleep");
        auto& kept = p.get("/sleep?ms=5000");
        const auto entered = [&w] { return w.entered == 2; };
        p.get("/hello");
        while (!entered()) {
            co_await p.flush();
            co_await sleep_for(10ms);
        }
        p.cancel(given_up);
        co_await p.until_over(kept);
        EXPECT_EQ(kept.status, 200);
        EXPECT_EQ(w.destroyed, 2);
        EXPECT_EQ(w.counters().clients_gone, 1u);
    });
}

TEST(h2_server, cancels_all_handlers_of_a_connection_that_is_lost) {
    for_seeds(10, [](world& w) -> task<> {
        {
            h2_peer p(co_await w.connect());
            for (int i = 0; i != 5; ++i) p.get("/sleep");
            p.request("POST", "/echo", {}, false);
            co_await p.flush();
            while (w.entered != 6) co_await sleep_for(10ms);
            p.connection().close(true);
        }
        while (w.counters().open != 0) co_await sleep_for(10ms);
        EXPECT_EQ(w.destroyed, 5);
        EXPECT_EQ(w.counters().in_flight, 0u);
        EXPECT_EQ(w.counters().clients_gone, 6u);
    });
}

TEST(h2_server, ends_a_stream_that_stays_silent_behind_its_response) {
    for_seeds(3, [](world& w) -> task<> {
        h2_peer p(co_await w.connect());
        auto& m = p.request("POST", "/ignore", {}, false);
        const time_point begun = w.sim.now();
        const auto reset = [&m] { return m.reset.has_value(); };
        co_await p.until(reset);
        EXPECT_EQ(m.reset, error_code::no_error);
        EXPECT_GE(w.since(begun), 5s);
        EXPECT_LT(w.since(begun), 7s);
    });
}

TEST(h2_server, resets_a_response_that_breaks_off) {
    for_seeds(5, [](world& w) -> task<> {
        h2_peer p(co_await w.connect());
        auto& m = p.get("/broken-stream");
        auto& later = p.get("/throw-later");
        co_await p.until_over(m);
        EXPECT_EQ(m.status, 200);
        EXPECT_EQ(m.reset, error_code::internal_error);
        EXPECT_FALSE(m.ended);
        co_await p.until_over(later);
        EXPECT_EQ(later.status, 500);
        EXPECT_EQ(w.counters().handler_errors, 2u);
    });
}

TEST(h2_server, sends_interim_responses_and_trailers) {
    http::router r;
    r.post("/", [](http::request& req) -> task<http::response> {
        http::response hints(http::status::early_hints);
        hints.set("Link", "</style.css>; rel=preload");
        co_await req.inform(hints);
        const std::string body = co_await req.body().text();
        const std::string sum(req.trailers().get("checksum"));
        co_return http::stream([body, sum](http::body_writer& out) -> task<> {
            co_await out.write(body);
            out.set_trailer("Checksum", sum);
        });
    });
    for_seeds(5, r, [](world& w) -> task<> {
        h2_peer p(co_await w.connect());
        auto& m = p.request("POST", "/", {{"te", "trailers"}, {"expect", "100-continue"}}, false);
        const auto goes_on = [&m] { return m.interim.size() == 2; };
        co_await p.until(goes_on);
        p.write(m, "content", false);
        const auto sent = [&m] { return m.sent; };
        co_await p.until(sent);
        const http::field sum[] = {{"checksum", "17"}};
        p.session().send_head(m, {}, sum, true);
        co_await p.until_over(m);
        EXPECT_EQ(m.interim, (std::vector<int>{103, 100}));
        EXPECT_EQ(m.content, "content");
        EXPECT_EQ(m.trailers, (h2_peer::lines{{"checksum", "17"}}));
    });
}

TEST(h2_server, leaves_out_of_trailers_what_only_a_head_may_hold) {
    http::router r;
    r.post("/", [](http::request& req) -> task<http::response> {
        std::string text = co_await req.body().text();
        for (const http::field& f : req.trailers()) text.append(" ").append(f.name);
        co_return http::response(std::move(text));
    });
    for_seeds(3, r, [](world& w) -> task<> {
        h2_peer p(co_await w.connect());
        for (const char* name : {"host", "set-cookie", "authorization", "content-length"}) {
            auto& m = p.request("POST", "/", {}, false);
            p.write(m, "content", false);
            const auto sent = [&m] { return m.sent; };
            co_await p.until(sent);
            const http::field both[] = {{name, "1"}, {"checksum", "17"}};
            p.session().send_head(m, {}, both, true);
            co_await p.until_over(m);
            EXPECT_FALSE(m.reset) << name;
            EXPECT_EQ(m.content, "content checksum");
        }
    });
}

TEST(h2_server, refuses_what_has_no_place_in_a_request) {
    for_seeds(3, [](world& w) -> task<> {
        h2_peer p(co_await w.connect());
        auto& encoding = p.get("/%zz");
        co_await p.until_over(encoding);
        EXPECT_EQ(encoding.status, 400);
        p.scheme = "ftp";
        auto& other = p.get("/hello");
        co_await p.until_over(other);
        EXPECT_EQ(other.status, 421);
        // As a gateway that ends TLS sends it.
        p.scheme = "https";
        auto& secure = p.get("/hello");
        co_await p.until_over(secure);
        EXPECT_EQ(secure.status, 200);
        p.scheme = "http";
        for (const char* const host : {"a:b:c", "a:65536", "[", "x|y"}) {
            p.host = host;
            auto& nowhere = p.get("/hello");
            co_await p.until_over(nowhere);
            EXPECT_EQ(nowhere.status, 400) << host;
        }
        p.host = "[::1]:65535";
        auto& somewhere = p.get("/hello");
        co_await p.until_over(somewhere);
        EXPECT_EQ(somewhere.status, 200);
        p.host = "x";
        auto& upgrade = p.get("/upgrade");
        co_await p.until_over(upgrade);
        EXPECT_EQ(upgrade.status, 501);
        auto& fields = p.get("/hello", {{"connection", "close"}});
        co_await p.until_over(fields);
        EXPECT_EQ(fields.status, 200) << "our session leaves them out";
        const std::string huge(100'000, 'x');
        auto& large =
            p.get("/hello", {{"x", huge.substr(0, 60'000)}, {"y", huge.substr(0, 9'000)}});
        co_await p.until_over(large);
        EXPECT_EQ(large.status, 431);
        EXPECT_EQ(w.counters().head_too_large, 1u);
    });
}

// As with HTTP/1, where the request line is no field.
TEST(h2_server, counts_field_lines_and_not_the_pseudo_fields) {
    for_seeds(2, [](world& w) -> task<> {
        h2_peer p(co_await w.connect());
        h2_peer::lines fields(100, {"x", "1"});
        auto& most = p.get("/hello", fields);
        co_await p.until_over(most);
        EXPECT_EQ(most.status, 200);
        fields.push_back({"x", "1"});
        auto& beyond = p.get("/hello", fields);
        co_await p.until_over(beyond);
        EXPECT_EQ(beyond.status, 431);
    });
}

TEST(h2_server, bounds_the_heads_of_all_requests_under_way) {
    http::server_options o;
    o.limits.h2.heads = 20'000;
    for_seeds(
        2,
        [](world& w) -> task<> {
            h2_peer p(co_await w.connect());
            const std::string large(12'000, 'x');
            auto& first = p.get("/sleep?ms=5000", {{"x", large}, {"y", large}});
            auto& second = p.get("/hello");
            co_await p.until_over(second);
            EXPECT_EQ(second.reset, error_code::refused_stream)
                << "the first one alone is too much";
            EXPECT_EQ(w.counters().h2_streams_refused, 1u);
            co_await p.until_over(first);
            EXPECT_EQ(first.status, 200);
            auto& third = p.get("/sleep?ms=5000", {{"x", large}});
            auto& fourth = p.get("/hello");
            co_await p.until_over(fourth);
            EXPECT_EQ(fourth.status, 200);
            co_await p.until_over(third);
            EXPECT_EQ(third.status, 200);
        },
        o);
}

TEST(h2_server, gives_handlers_what_http_1_gives_them) {
    http::router r;
    r.get("/items/{id}", [](http::request& req) {
        int& seen = req.connection().data<int>() != nullptr ? *req.connection().data<int>()
                                                            : req.connection().set_data(0);
        ++seen;
        return http::response(std::string(req.method_text()) + ' ' + std::string(req.target()) +
                              ' ' + std::string(req.path()) + ' ' + std::string(req.param("id")) +
                              ' ' + req.query("q").value_or("") + ' ' + std::string(req.host()) +
                              ' ' + std::string(req.header("Host")) + ' ' +
                              std::string(req.header("X-Mixed")) + ' ' +
                              std::string(req.cookie("b").value_or("")) + ' ' +
                              std::string(to_string(req.version())) + ' ' +
                              std::string(req.scheme()) + ' ' + std::to_string(seen));
    });
    for_seeds(3, r, [](world& w) -> task<> {
        h2_peer p(co_await w.connect());
        auto& first =
            p.get("/items/a%2Fb?q=1+2", {{"X-Mixed", "v"}, {"cookie", "a=1"}, {"cookie", "b=2"}});
        co_await p.until_over(first);
        EXPECT_EQ(first.content,
                  "GET /items/a%2Fb?q=1+2 /items/a%2Fb a%2Fb 1 2 x x v 2 HTTP/2 http 1");
        auto& second = p.get("/items/1");
        co_await p.until_over(second);
        EXPECT_TRUE(second.content.ends_with(" 2")) << second.content;
    });
}

TEST(h2_server, sends_what_is_urgent_first) {
    http::router r;
    r.get("/picture", [](http::request&) { return http::response(repeated(400'000, 'p')); });
    r.get("/style", [](http::request&) { return http::response(repeated(20'000, 's')); });
    world w(1, r);
    w.run([](world& in) -> task<> {
        h2_peer p(co_await in.connect());
        auto& a = p.get("/picture", {{"priority", "u=5, i"}});
        auto& b = p.get("/picture", {{"priority", "u=5, i"}});
        const auto begun = [&] { return !a.content.empty() && !b.content.empty(); };
        co_await p.until(begun);
        auto& style = p.get("/style", {{"priority", "u=0"}});
        co_await p.until_over(style);
        EXPECT_FALSE(a.over());
        EXPECT_FALSE(b.over());
        co_await p.until_over(a);
        co_await p.until_over(b);
        EXPECT_EQ(a.content.size() + b.content.size(), 800'000u);
    });
}

TEST(h2_server, speaks_only_what_it_is_told_to) {
    {
        http::server_options o;
        o.versions = http::http_versions::http2;
        world w(1, o);
        w.run([](world& in) -> task<> {
            h2_peer p(co_await in.connect());
            auto& m = p.get("/hello");
            co_await p.until_over(m);
            EXPECT_EQ(m.status, 200);
            peer old = co_await in.connect();
            co_await old.send(get("/hello"));
            const std::string all = co_await old.read_to_end();
            EXPECT_EQ(all.find("HTTP/1"), all.npos);
        });
    }
    {
        http::server_options o;
        o.versions = http::http_versions::http1;
        world w(1, o);
        w.run([](world& in) -> task<> {
            peer p = co_await in.connect();
            co_await p.send(std::string(http::h2::client_preface));
            const std::string all = co_await p.read_to_end();
            EXPECT_TRUE(all.starts_with("HTTP/1.1 ")) << all;
            EXPECT_EQ(in.counters().h2_connections, 0u);
        });
    }
}

TEST(h2_server, takes_a_preface_that_comes_byte_by_byte) {
    world w(1);
    w.run([](world& in) -> task<> {
        peer raw = co_await in.connect();
        for (const char c : http::h2::client_preface) {
            co_await raw.send(std::string(1, c));
            co_await sleep_for(10ms);
        }
        const std::string settings = co_await raw.read_exactly(http::h2::frame_header::size);
        EXPECT_EQ(settings[3], 4);
        raw.close();
        peer post_like = co_await in.connect();
        co_await post_like.send("P");
        co_await sleep_for(10ms);
        co_await post_like.send(
            post("/echo", "Content-Length: 1\r\nConnection: close\r\n", "x").substr(1));
        const std::string all = co_await post_like.read_to_end();
        EXPECT_TRUE(all.starts_with("HTTP/1.1 200 ")) << all;
    });
}
