// The upgrade of a connection in clear to HTTP/2 (RFC 7540 section 3.2).

#include "integration/http/simulated_server.hpp"
#include "support/upgraded_client.hpp"
#include "wire/h2_frames.hpp"

namespace {

using namespace simulated;
using namespace coracle::http::h2::test;
using http::h2::error_code;
using http::h2::frame_header;
using http::h2::frame_type;
using http::h2::setting;
using http::h2::flag::end_stream;

http::server_options upgrading() {
    http::server_options o;
    o.h2c_upgrade = true;
    return o;
}

std::string preface() {
    return std::string(http::h2::client_preface) + settings_frame();
}

http::handler tells_what_it_got() {
    return [](http::request& req) {
        std::string text(to_string(req.version()));
        text.append(" ").append(req.target()).append(" ").append(req.path());
        for (const http::field& f : req.fields()) {
            text.append(" ").append(f.name).append("=").append(f.value);
        }
        return http::response(text);
    };
}

}  // namespace

TEST(h2c_upgrade, responds_on_stream_1_and_goes_on_in_http_2) {
    const auto both = [](world& w) -> task<> {
        upgraded_client c(co_await w.connect());
        co_await c.offer_and_switch(h2c_offer("/hello"));
        const std::string first = co_await c.response(1);
        EXPECT_TRUE(first.starts_with(":status: 200\n")) << first;
        EXPECT_TRUE(first.ends_with("\nhello")) << first;
        co_await c.send(preface() + headers(3, get_block("/big?n=50000")));
        const std::string second = co_await c.response(3);
        EXPECT_TRUE(second.ends_with(repeated(50'000, 'b')));
        EXPECT_EQ(w.counters().connections, 1u);
        EXPECT_EQ(w.counters().h2_connections, 1u);
        EXPECT_EQ(w.counters().requests, 2u);
        c.connection().close();
    };
    for_seeds(20, both, upgrading());
}

TEST(h2c_upgrade, takes_a_client_that_does_not_wait_for_the_101) {
    const auto at_once = [](world& w) -> task<> {
        upgraded_client c(co_await w.connect());
        co_await c.offer_and_switch(h2c_offer("/sleep?ms=1000&id=1") + preface() +
                                    headers(3, get_block("/hello")));
        EXPECT_TRUE((co_await c.response(3)).ends_with("\nhello"));
        EXPECT_TRUE((co_await c.response(1)).ends_with("\nslept 1"));
        c.connection().close();
    };
    for_seeds(20, at_once, upgrading());
}

TEST(h2c_upgrade, goes_on_behind_an_offer_that_fills_a_block) {
    const auto filling = [](world& w) -> task<> {
        upgraded_client c(co_await w.connect());
        std::string bytes = h2c_offer("/hello");
        const std::string name = "X-Padding: ";
        const std::size_t missing =
            buffer::default_capacity - bytes.size() - name.size() - std::string_view("\r\n").size();
        bytes.insert(bytes.size() - 2, name + repeated(missing) + "\r\n");
        EXPECT_EQ(bytes.size(), buffer::default_capacity);
        co_await c.offer_and_switch(bytes);
        EXPECT_TRUE((co_await c.response(1)).ends_with("\nhello"));
        co_await c.send(preface() + headers(3, get_block("/hello")));
        EXPECT_TRUE((co_await c.response(3)).ends_with("\nhello"));
        c.connection().close();
    };
    for_seeds(few, filling, upgrading());
}

TEST(h2c_upgrade, gives_the_handler_a_request_of_http_2) {
    world w(1, tells_what_it_got(), upgrading());
    w.run([](world& in) -> task<> {
        upgraded_client c(co_await in.connect());
        std::string bytes = h2c_offer("/a%20b?c");
        bytes.insert(bytes.size() - 2, "X-More: 1\r\n");
        co_await c.offer_and_switch(bytes);
        const std::string got = co_await c.response(1);
        EXPECT_TRUE(got.ends_with("\nHTTP/2 /a%20b?c /a b Host=x x-more=1")) << got;
        upgraded_client second(co_await in.connect());
        co_await second.offer_and_switch(h2c_offer("/", {}, "HEAD"));
        const std::string head = co_await second.response(1);
        EXPECT_TRUE(head.starts_with(":status: 200\n")) << head;
        EXPECT_FALSE(head.ends_with("host=x")) << head;
        c.connection().close();
        second.connection().close();
    });
}

TEST(h2c_upgrade, keeps_to_the_settings_of_the_offer) {
    world w(1, upgrading());
    w.run([](world& in) -> task<> {
        upgraded_client c(co_await in.connect());
        co_await c.offer_and_switch(
            h2c_offer("/big?n=100", setting_entry(setting::initial_window_size, 10)));
        co_await c.read_to(frame_type::data);
        EXPECT_EQ(c.payload, repeated(10, 'b'));
        co_await c.send(preface() + window_update(1, 90));
        EXPECT_TRUE((co_await c.response(1)).ends_with(repeated(100, 'b')));
        c.connection().close();
    });
}

TEST(h2c_upgrade, ends_a_connection_whose_settings_are_bad) {
    world w(1, upgrading());
    w.run([](world& in) -> task<> {
        upgraded_client c(co_await in.connect());
        co_await c.offer_and_switch(
            h2c_offer("/hello", setting_entry(setting::initial_window_size, 0x80000000)));
        co_await c.read_to(frame_type::goaway);
        EXPECT_EQ(c.payload.substr(4, 4),
                  u32(static_cast<std::uint32_t>(error_code::flow_control_error)));
        EXPECT_EQ(in.counters().requests, 0u);
        c.connection().close();
    });
}

TEST(h2c_upgrade, ends_a_client_that_does_not_go_on_in_http_2) {
    world w(1, upgrading());
    w.run([](world& in) -> task<> {
        upgraded_client c(co_await in.connect());
        co_await c.offer_and_switch(h2c_offer("/hello"));
        co_await c.response(1);
        co_await c.send(get("/hello"));
        co_await c.read_to(frame_type::goaway);
        EXPECT_EQ(c.payload.substr(4, 4),
                  u32(static_cast<std::uint32_t>(error_code::protocol_error)));
        c.connection().close();

        // Nor is one kept for ever that falls silent.
        upgraded_client silent(co_await in.connect());
        co_await silent.offer_and_switch(h2c_offer("/hello"));
        co_await silent.response(1);
        const time_point since = in.sim.now();
        co_await silent.read_to(frame_type::goaway);
        expect_about(in.since(since), 60s);
        EXPECT_EQ(in.counters().idle_timeouts, 1u);
        silent.connection().close();
    });
}

TEST(h2c_upgrade, responds_in_a_drain) {
    world w(1, upgrading());
    w.run([](world& in) -> task<> {
        upgraded_client c(co_await in.connect());
        co_await c.offer_and_switch(h2c_offer("/sleep?ms=2000&id=1"));
        in.server.stop();
        EXPECT_TRUE((co_await c.response(1)).ends_with("\nslept 1"));
        c.connection().close();
    });
}

TEST(h2c_upgrade, cancels_the_handler_of_a_client_that_leaves) {
    world w(1, upgrading());
    w.run([](world& in) -> task<> {
        {
            upgraded_client c(co_await in.connect());
            co_await c.offer_and_switch(h2c_offer("/sleep"));
            c.connection().close(true);
        }
        while (in.counters().open != 0) co_await sleep_for(10ms);
        EXPECT_EQ(in.destroyed, 1);
        EXPECT_EQ(in.counters().clients_gone, 1u);
    });
}

TEST(h2c_upgrade, is_not_accepted_by_default_nor_later_nor_where_there_is_no_http_2) {
    const auto stays = [](world& w) -> task<> {
        peer p = co_await w.connect();
        co_await p.send(h2c_offer("/hello"));
        EXPECT_TRUE((co_await read_response(p)).starts_with("HTTP/1.1 200 "));
        EXPECT_EQ(w.counters().h2_connections, 0u);
        p.close();
    };
    for_seeds(1, stays);
    http::server_options one = upgrading();
    one.versions = http::http_versions::http1;
    for_seeds(1, stays, one);
    const auto later = [](world& w) -> task<> {
        peer p = co_await w.connect();
        for (const std::string& bytes : {get("/hello"), h2c_offer("/hello"), get("/sleep?ms=1")}) {
            co_await p.send(bytes);
            EXPECT_TRUE((co_await read_response(p)).starts_with("HTTP/1.1 200 "));
        }
        co_await p.send(h2c_offer("/hello"));
        EXPECT_TRUE((co_await read_response(p)).starts_with("HTTP/1.1 200 "));
        EXPECT_EQ(w.counters().h2_connections, 0u);
        p.close();
    };
    for_seeds(few, later, upgrading());
}

TEST(h2c_upgrade, leaves_other_upgrades_to_the_handler) {
    world w(1, upgrading());
    w.run([](world& in) -> task<> {
        peer p = co_await in.connect();
        co_await p.send(get("/upgrade",
                            "Connection: Upgrade, HTTP2-Settings\r\n"
                            "Upgrade: echo, h2c\r\nHTTP2-Settings: \r\n"));
        const std::string head = co_await p.read_until("\r\n\r\n");
        EXPECT_TRUE(head.starts_with("HTTP/1.1 101 ")) << head;
        EXPECT_NE(head.find("Upgrade: echo"), std::string::npos) << head;
        co_await p.send("ping");
        EXPECT_EQ(co_await p.read_exactly(4), "ping");
        p.close();
    });
}
