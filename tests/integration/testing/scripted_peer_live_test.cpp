#include <coracle/runtime/runtime.hpp>
#include <coracle/testing/scripted_peer.hpp>
#include <coracle/tls/error.hpp>
#include <coracle/tls/stream.hpp>

#include <gtest/gtest.h>

#include <thread>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;

/// The bytes that a client which sends `request` receives until the end, and how that end was.
struct heard {
    std::string text;
    ending how = ending::finished;
};

heard talk(const scripted_peer& p, std::string request) {
    return block_on([&]() -> task<heard> {
        testing::peer c = co_await connect_peer(p.address());
        co_await c.send(request);
        std::string text = co_await c.read_to_end();
        co_return heard{std::move(text), c.ended()};
    });
}

task<testing::peer> connect_securely(tls::client_context& trust, net::address to) {
    auto plain = co_await net::connect(to);
    auto secured = co_await tls::connect(trust, std::move(plain), "localhost");
    co_return testing::peer(std::move(secured));
}

scripted_peer_options with_tls() {
    scripted_peer_options o;
    o.self_signed = true;
    return o;
}

TEST(scripted_peer_on_a_thread, responds_and_can_be_waited_for) {
    scripted_peer p(script().read_head().respond("hello"));
    EXPECT_EQ(p.url("/a"), "http://127.0.0.1:" + std::to_string(p.port()) + "/a");
    EXPECT_FALSE(p.wait_for_connections(1, 1ms));
    EXPECT_THROW(p.record(), std::out_of_range);
    const heard h = talk(p, "GET / HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(h.text.ends_with("\r\n\r\nhello"));
    EXPECT_EQ(h.how, ending::finished);
    EXPECT_TRUE(p.wait_for_connections(1));
    EXPECT_TRUE(p.wait_for_end());
    EXPECT_EQ(p.record().received, "GET / HTTP/1.1\r\n\r\n");
    EXPECT_EQ(p.record().peer_ended, ending::finished);
}

TEST(scripted_peer_on_a_thread, resets) {
    const scripted_peer p(script().read_head().send("HTTP/1.1 200 OK\r\n").reset());
    EXPECT_EQ(talk(p, "GET / HTTP/1.1\r\n\r\n").how, ending::reset);
}

TEST(scripted_peer_on_a_thread, cuts_in_the_midst_of_a_body) {
    const scripted_peer p(script().read_head().respond_claiming(100, "short").cut());
    const heard h = talk(p, "GET / HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(h.text.ends_with("Content-Length: 100\r\n\r\nshort"));
    EXPECT_EQ(h.how, ending::finished);
}

TEST(scripted_peer_on_a_thread, stalls_until_the_test_opens_the_gate) {
    const gate g;
    const scripted_peer p(script().read_head().stall(g).send("late"));
    std::string got;
    std::thread client([&] { got = talk(p, "GET\r\n\r\n").text; });
    EXPECT_TRUE(p.wait_for_stall());
    EXPECT_EQ(p.record().bytes_sent, 0U);
    g.open();
    client.join();
    EXPECT_EQ(got, "late");
}

TEST(scripted_peer_on_a_thread, notices_a_client_that_hangs_up_while_it_stalls) {
    const scripted_peer p(script().read_head().stall());
    block_on([&]() -> task<> {
        testing::peer c = co_await connect_peer(p.address());
        co_await c.send("GET\r\n\r\n");
    });
    EXPECT_TRUE(p.wait_until(
        [](const scripted_peer::records& all) { return !all.empty() && all[0].hung_up; }));
    EXPECT_FALSE(p.record().closed);
}

TEST(scripted_peer_on_a_thread, sends_until_the_client_has_gone) {
    const scripted_peer p(script().send_endlessly("X-Filler: 1\r\n"));
    block_on([&]() -> task<> {
        testing::peer c = co_await connect_peer(p.address());
        co_await c.read_exactly(1'000'000);
        c.close(true);
    });
    EXPECT_TRUE(p.wait_for_end());
    EXPECT_GE(p.record().bytes_sent, 1'000'000U);
    EXPECT_EQ(p.record().peer_ended, ending::reset);
    EXPECT_EQ(p.record().failure, "");
}

TEST(scripted_peer_on_a_thread, ends_at_once_whatever_it_does) {
    scripted_peer p({script().stall(), script().send_endlessly("x"), script().pause(1h),
                     script().read_head(), script().never_accept()});
    block_on([&]() -> task<> {
        std::vector<testing::peer> all;
        for (int i = 0; i != 5; ++i) all.push_back(co_await connect_peer(p.address()));
        co_await all[1].read_exactly(100'000);
        EXPECT_TRUE(p.wait_for_connections(4));
        p.stop();
        for (testing::peer& c : all) co_await c.read_to_end();
    });
    EXPECT_EQ(p.connections(), 4U);
    for (std::size_t i = 0; i != 4; ++i) EXPECT_TRUE(p.record(i).closed);
    p.stop();
}

TEST(scripted_peer_on_a_thread, speaks_tls_and_ends_it_in_good_order) {
    scripted_peer p(script().read_head().respond("hello"), with_tls());
    EXPECT_TRUE(p.url().starts_with("https://127.0.0.1:"));
    tls::client_context trust(p.client_tls());
    block_on([&]() -> task<> {
        testing::peer c = co_await connect_securely(trust, p.address());
        co_await c.send("GET\r\n\r\n");
        const std::string all = co_await c.read_to_end();
        EXPECT_TRUE(all.ends_with("hello"));
    });
    EXPECT_TRUE(p.wait_for_end());
    EXPECT_EQ(p.record().received, "GET\r\n\r\n");
    EXPECT_EQ(p.record().failure, "");
}

TEST(scripted_peer_on_a_thread, cuts_tls_without_close_notify) {
    scripted_peer p(script().read_head().respond_claiming(10, "short").cut(), with_tls());
    tls::client_context trust(p.client_tls());
    block_on([&]() -> task<> {
        testing::peer c = co_await connect_securely(trust, p.address());
        co_await c.send("GET\r\n\r\n");
        co_await c.read_until("short");
        const auto more = co_await as_result(c.stream().receive());
        EXPECT_FALSE(more.has_value());
        EXPECT_EQ(more.error().code(), tls::make_error_code(tls::errc::truncated));
    });
}

TEST(scripted_peer_on_a_thread, begins_tls_where_the_script_says_so) {
    const scripted_peer p(script().expect("go").send("ok").start_tls().send("secret"), with_tls());
    tls::client_context trust(p.client_tls());
    block_on([&]() -> task<> {
        auto plain = co_await net::connect(p.address());
        co_await plain->send("go");
        const buffer ok = co_await plain->receive();
        EXPECT_EQ(ok.view(), "ok");
        testing::peer c(co_await tls::connect(trust, std::move(plain), "localhost"));
        EXPECT_EQ(co_await c.read_to_end(), "secret");
    });
}

TEST(scripted_peer_on_a_thread, says_that_a_handshake_has_failed) {
    const scripted_peer p(script().send("never sent"), with_tls());
    talk(p, "GET / HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(p.wait_for_end());
    EXPECT_NE(p.record().failure, "");
    EXPECT_EQ(p.record().steps, 0U);
    const scripted_peer plain(script().start_tls());
    talk(plain, "x");
    EXPECT_TRUE(plain.wait_for_end());
    EXPECT_EQ(plain.record().failure, "start_tls without a certificate");
}

}  // namespace
}  // namespace coracle::testing
