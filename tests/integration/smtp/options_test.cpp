// Options of the mail client that say how a server is reached and how long it may take: their
// effect.

#include "support/plain_mail.hpp"
#include "support/test_ca.hpp"

#include <coracle/smtp/client.hpp>
#include <coracle/testing/scripted_peer.hpp>
#include <coracle/testing/simulation.hpp>
#include <coracle/testing/smtp_sink.hpp>
#include <coracle/tls/context.hpp>
#include <coracle/tls/error.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

constexpr const char* here = "127.0.0.1:2525";

/// Options of which no timeout strikes by itself.
smtp::client_options patient_options() {
    smtp::client_options o;
    o.proxy_from_environment = false;
    o.starttls = smtp::starttls::off;
    o.connect_timeout = o.greeting_timeout = o.reply_timeout = o.idle_timeout = o.accept_timeout =
        1h;
    return o;
}

smtp::message a_message(std::size_t attached = 0) {
    smtp::message m;
    m.from("ada@x.org").to("b@y.org").subject("Hello").text("How are you?\n");
    if (attached != 0) m.attach("a.bin", std::string(attached, '\x01'));
    return m;
}

/// Runs a client of these options in a world that has begun, and gives the outcome of one mail.
mail_outcome send_in(simulation& world, const std::string& url, const smtp::client_options& o,
                     const smtp::message& m = a_message()) {
    mail_outcome r = std::unexpected(error());
    auto main = [&]() -> task<> {
        smtp::client mail(url, o);
        auto sending = mail.send(m);
        r = co_await as_result(sending);
    };
    world.run(main);
    return r;
}

std::string lines_of(std::size_t size) {
    const std::string line(79, 'x');
    std::string all;
    while (all.size() < size) all.append(line).append("\n");
    return all;
}

/// The side of a server until the mail itself is sent.
script up_to_the_mail(const std::string& greeting = "250 x\r\n") {
    script s;
    s.send("220 x\r\n").read_until("\r\n").send(greeting);
    s.read_until("MAIL FROM:<ada@x.org>\r\n").send("250 ok\r\n");
    s.read_until("\r\n").send("250 ok\r\n");
    return s;
}

/// The outcome of a mail to a server that does this, and when it came.
std::pair<mail_outcome, duration> send_by(const script& s, const smtp::client_options& o,
                                          const smtp::message& m) {
    simulation world;
    scripted_peer_options po;
    po.listen = here;
    scripted_peer peer(world.loop(), s, po);
    mail_outcome r = send_in(world, std::string("smtp://") + here, o, m);
    return {std::move(r), world.elapsed()};
}

smtp_sink_options at_home() {
    smtp_sink_options so;
    so.listen = here;
    return so;
}

/// A failure by a timeout, and when it came.
struct timed_failure {
    error why;
    duration after;
};

/// Sends a mail to a sink that breaks this rule.
timed_failure meet(const sink_rule& rule, const smtp::client_options& o,
                   const smtp::message& m = a_message()) {
    simulation world;
    smtp_sink_options so = at_home();
    so.chunking = rule.command == "BDAT";
    smtp_sink sink(world.loop(), so);
    sink.misbehave(rule);
    const mail_outcome r = send_in(world, sink.url(), o, m);
    EXPECT_FALSE(r) << rule.command;
    EXPECT_EQ(sink.count(), 0u);
    return {r ? error() : r.error(), world.elapsed()};
}

void expect_timeout(const timed_failure& f, std::string_view command, duration least,
                    duration most) {
    EXPECT_EQ(f.why, std::errc::timed_out) << f.why;
    EXPECT_TRUE(f.why.safe_to_retry()) << f.why;
    const smtp::failure* const about = smtp::failure_of(f.why);
    ASSERT_NE(about, nullptr) << f.why;
    EXPECT_TRUE(about->command().starts_with(command)) << f.why;
    EXPECT_GE(f.after, least) << f.why;
    EXPECT_LE(f.after, most) << f.why;
}

}  // namespace

TEST(smtp_options_in_use, are_refused_where_the_greeting_would_hold_more_than_a_name) {
    for (const char* hello : {"x\r\nNOOP", "my host", "h\xc3\xb6st"}) {
        simulation world;
        smtp_sink sink(world.loop(), at_home());
        smtp::client_options o = patient_options();
        o.hello = hello;
        const mail_outcome r = send_in(world, sink.url(), o);
        ASSERT_FALSE(r) << hello;
        EXPECT_EQ(r.error(), std::errc::invalid_argument) << r.error();
        EXPECT_NE(r.error().message().find("hello"), std::string::npos) << r.error();
        EXPECT_EQ(sink.connections(), 0U) << hello;
    }
}

TEST(smtp_options_in_use, reach_a_host_where_resolve_says) {
    for (const bool known : {false, true}) {
        simulation world;
        smtp_sink sink(world.loop(), at_home());
        smtp::client_options o = patient_options();
        if (known) o.resolve = {"mail.example:25:127.0.0.1"};
        // The port stays that of the URL: one that nothing listens on.
        mail_outcome r = send_in(world, "smtp://mail.example:25", o);
        ASSERT_FALSE(r);
        if (!known) {
            EXPECT_EQ(r.error().phase(), phase::resolve) << r.error();
            continue;
        }
        EXPECT_EQ(r.error(), std::errc::connection_refused) << r.error();
        simulation second;
        smtp_sink there(second.loop(), at_home());
        o.resolve = {"mail.example:2525:127.0.0.1"};
        r = send_in(second, "smtp://mail.example:2525", o);
        ASSERT_TRUE(r) << r.error();
        EXPECT_EQ(r->server, here);
        EXPECT_EQ(there.count(), 1u);
    }
}

TEST(smtp_options_in_use, keep_to_versions_of_tls) {
    using tls::version;
    const test_ca ca;
    const struct {
        version server_minimum;
        version server_maximum;
        version minimum;
        version maximum;
        bool sent;
    } rows[] = {
        {version::tls_1_2, version::tls_1_3, version::tls_1_3, version::tls_1_3, true},
        {version::tls_1_2, version::tls_1_3, version::tls_1_2, version::tls_1_2, true},
        {version::tls_1_2, version::tls_1_2, version::tls_1_2, version::tls_1_3, true},
        {version::tls_1_2, version::tls_1_2, version::tls_1_3, version::tls_1_3, false},
        {version::tls_1_3, version::tls_1_3, version::tls_1_2, version::tls_1_2, false},
    };
    for (const auto& row : rows) {
        for (const bool from_start : {false, true}) {
            simulation world;
            tls::server_options server;
            server.certificates.push_back(ca.issue({.names = {"127.0.0.1"}}));
            server.minimum = row.server_minimum;
            server.maximum = row.server_maximum;
            smtp_sink_options so = at_home();
            so.tls = std::make_shared<tls::server_context>(server);
            so.tls_from_start = from_start;
            smtp_sink sink(world.loop(), so);
            smtp::client_options o = patient_options();
            o.starttls = smtp::starttls::required;
            o.insecure = true;
            o.tls.minimum = row.minimum;
            o.tls.maximum = row.maximum;
            const mail_outcome r = send_in(world, sink.url(), o);
            EXPECT_EQ(r.has_value(), row.sent);
            EXPECT_EQ(sink.count(), row.sent ? 1u : 0u);
            if (!r) {
                EXPECT_EQ(r.error().phase(), phase::tls) << r.error();
                EXPECT_FALSE(r.error().safe_to_retry()) << r.error();
            }
        }
    }
}

TEST(smtp_options_in_use, limit_the_time_to_the_greeting) {
    smtp::client_options o = patient_options();
    o.greeting_timeout = 3s;
    const auto stall = sink_rule::action::stall;
    expect_timeout(meet({.command = "greeting", .what = stall}, o), "greeting", 3s, 4s);
}

TEST(smtp_options_in_use, limit_the_time_of_each_mail_by_its_own_options) {
    simulation world;
    smtp_sink sink(world.loop(), at_home());
    sink.misbehave({.command = "greeting", .what = sink_rule::action::stall});
    auto main = [&]() -> task<> {
        smtp::client mail(sink.url(), patient_options());
        const smtp::message m = a_message();
        for (const int seconds : {3, 7, 2}) {
            const time_point began = loop::current()->now();
            auto sending =
                mail.send(m).options("greeting_timeout=" + std::to_string(seconds) + "s");
            const auto sent = co_await as_result(sending);
            EXPECT_FALSE(sent);
            const duration took = loop::current()->now() - began;
            EXPECT_GE(took, seconds * 1s);
            EXPECT_LE(took, (seconds + 1) * 1s);
        }
        sink.stop();
        co_await sink.stopped();
    };
    world.run(main);
}

TEST(smtp_options_in_use, limit_the_time_of_each_reply) {
    smtp::client_options o = patient_options();
    o.reply_timeout = 7s;
    for (const bool pipelining : {false, true}) {
        o.pipelining = pipelining;
        for (const char* command : {"EHLO", "MAIL", "RCPT", "DATA"}) {
            const sink_rule rule{.command = command, .what = sink_rule::action::stall};
            expect_timeout(meet(rule, o), command, 7s, 8s);
        }
    }
}

TEST(smtp_options_in_use, limit_the_time_in_which_a_server_takes_nothing_of_a_mail) {
    smtp::client_options o = patient_options();
    o.idle_timeout = 5s;
    // Handed over block by block: what fits into one may have arrived with it.
    const smtp::message large = a_message(2'000'000);
    // A second is left for the server's last words.
    const sink_rule rule{.command = "BDAT", .what = sink_rule::action::stall};
    expect_timeout(meet(rule, o, large), "DATA", 5s, 7s);

    script s = up_to_the_mail();
    s.read_until("DATA\r\n").send("354 go\r\n").stall();
    const auto [r, after] = send_by(s, o, large);
    ASSERT_FALSE(r);
    expect_timeout({r.error(), after}, "DATA", 5s, 7s);
}

TEST(smtp_options_in_use, do_not_count_the_time_of_a_mail_that_goes_on) {
    // Slow, but each block is taken in time.
    smtp::client_options o = patient_options();
    o.idle_timeout = 5s;
    const std::string lines = lines_of(600'000);
    smtp::message text = a_message();
    text.text(lines);
    smtp::message raw;
    raw.raw("From: ada@x.org\nTo: b@y.org\n\n" + lines);
    for (const smtp::message& m : {a_message(500'000), text, raw}) {
        script s = up_to_the_mail();
        s.read_until("DATA\r\n").send("354 go\r\n");
        for (int i = 0; i != 8; ++i) s.pause(2s).read_exactly(64 * 1024);
        s.read_until("\r\n.\r\n").send("250 kept\r\n").read_to_end();
        const auto [r, after] = send_by(s, o, m);
        EXPECT_TRUE(r) << r.error();
        EXPECT_GE(after, 16s);
    }
}

TEST(smtp_options_in_use, leave_a_mail_that_breaks_off_safe_to_send_again) {
    smtp::message raw;
    raw.raw("From: ada@x.org\nTo: b@y.org\n\n" + lines_of(1'000'000));
    script s = up_to_the_mail("250-x\r\n250 CHUNKING\r\n");
    s.read_until("LAST\r\n").read_exactly(100'000).close();
    const auto [r, after] = send_by(s, patient_options(), raw);
    ASSERT_FALSE(r);
    EXPECT_TRUE(r.error().safe_to_retry()) << r.error();
}
