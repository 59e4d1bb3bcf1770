// How long the mail client waits for a handshake, and how many mails wait for a connection.

#include "support/plain_mail.hpp"

#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/smtp/client.hpp>
#include <coracle/smtp/curlev.hpp>
#include <coracle/testing/scripted_peer.hpp>
#include <coracle/testing/simulation.hpp>
#include <coracle/testing/smtp_sink.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

smtp::message a_message() {
    smtp::message m;
    m.from("ada@example.org").to("bob@example.net").text("x");
    return m;
}

struct handshake_end {
    error why;
    duration took{};
};

/// The end of a mail to a server that never says a word of its handshake.
handshake_end shake_hands(bool from_start, duration limit) {
    simulation world;
    script silent;
    if (!from_start) {
        silent.send("220 x\r\n").read_until("\r\n").send("250-x\r\n250 STARTTLS\r\n");
        silent.read_until("STARTTLS\r\n").send("220 go\r\n");
    }
    scripted_peer peer(world.loop(), silent.stall());
    handshake_end end;
    world.run([&]() -> task<> {
        smtp::client_options o = plain_mail_options();
        o.starttls = smtp::starttls::required;
        o.insecure = true;
        o.tls_timeout = limit;
        const std::string scheme = from_start ? "smtps://" : "smtp://";
        smtp::client mail(scheme + peer.address().to_string(), o);
        const smtp::message m = a_message();
        const time_point begun = world.now();
        auto sending = mail.send(m);
        const auto r = co_await as_result(sending);
        EXPECT_FALSE(r);
        if (!r) end.why = r.error();
        end.took = world.now() - begun;
        peer.stop();
    });
    return end;
}

}  // namespace

TEST(smtp_waiting, for_a_handshake_ends_after_its_own_limit) {
    for (const bool from_start : {true, false}) {
        const handshake_end end = shake_hands(from_start, 3s);
        EXPECT_EQ(end.why, std::errc::timed_out) << from_start;
        EXPECT_EQ(end.why.phase(), phase::tls) << from_start;
        EXPECT_TRUE(end.why.safe_to_retry()) << from_start;
        EXPECT_GE(end.took, 3s) << from_start;
        EXPECT_LT(end.took, 3500ms) << from_start;
    }
}

TEST(smtp_waiting, for_a_handshake_may_be_left_to_the_limit_of_connecting) {
    const handshake_end end = shake_hands(true, 0s);
    EXPECT_EQ(end.why, std::errc::timed_out);
    EXPECT_GE(end.took, smtp::client_options().connect_timeout);
    EXPECT_LT(end.took, smtp::client_options().connect_timeout + 1s);
}

TEST(smtp_waiting, for_a_connection_has_a_limit) {
    simulation world;
    smtp_sink_options sinking;
    sinking.listen = "127.0.0.1:2525";
    smtp_sink sink(world.loop(), sinking);
    sink.misbehave({.command = "MAIL", .what = sink_rule::action::stall, .times = 1});
    world.run([&]() -> task<> {
        smtp::client_options o = plain_mail_options();
        o.pipelining = false;
        o.reply_timeout = 10s;
        smtp::pool_options p;
        p.connections = 1;
        p.waiting = 2;
        smtp::client mail(sink.url(), o, p);
        const smtp::message m = a_message();
        unsigned sent = 0;
        const auto one = [&]() -> task<> {
            auto sending = mail.send(m);
            const auto r = co_await as_result(sending);
            sent += r ? 1U : 0U;
        };
        const auto all = [&](task_group& g) -> task<> {
            for (int i = 0; i != 3; ++i) g.spawn(one);
            co_await sleep_for(1s);
            EXPECT_EQ(mail.statistics().waiting, 2u);
            const time_point begun = world.now();
            auto sending = mail.send(m);
            const auto refused = co_await as_result(sending);
            EXPECT_EQ(world.now(), begun);
            EXPECT_FALSE(refused);
            if (refused) co_return;
            EXPECT_EQ(refused.error(), errc::limit_exceeded);
            EXPECT_EQ(refused.error().subject(), "pool_options::waiting");
            EXPECT_TRUE(refused.error().safe_to_retry());
            EXPECT_EQ(smtp::curlev_code(refused.error()), 89);
        };
        co_await with_task_group(all);
        EXPECT_EQ(sent, 2u) << "those that waited had their turn";
    });
    EXPECT_EQ(sink.count(), 2u);
}
