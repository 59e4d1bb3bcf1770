// Each thing that a server can refuse, and each thing that it can do wrong: an error that says the
// command, the reply, and whether to try again.

#include <coracle/runtime/runtime.hpp>
#include <coracle/smtp/client.hpp>
#include <coracle/testing/scripted_peer.hpp>
#include <coracle/testing/simulation.hpp>
#include <coracle/testing/smtp_sink.hpp>
#include <coracle/tls/error.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

smtp::client_options test_options() {
    smtp::client_options o;
    o.proxy_from_environment = false;
    o.insecure = true;
    o.greeting_timeout = o.reply_timeout = o.accept_timeout = 10s;
    return o;
}

smtp::message a_message() {
    smtp::message m;
    m.from("ada@example.org").to("bob@example.net").subject("Hello").text("How are you?\n");
    return m;
}

std::expected<smtp::receipt, error> send(const std::string& url, const smtp::client_options& o,
                                         const smtp::message& m = a_message(),
                                         smtp::client_statistics* counted = nullptr) {
    return block_on([&]() -> task<std::expected<smtp::receipt, error>> {
        smtp::client mail(url, o);
        auto sending = mail.send(m);
        auto r = co_await as_result(sending);
        if (counted != nullptr) *counted = mail.statistics();
        co_return std::move(r);
    });
}

/// Returns the failure of a mail that is sent to a server with this script.
error meet(script s, const smtp::client_options& o = test_options()) {
    scripted_peer peer(std::move(s));
    auto r = send("smtp://" + peer.address().to_string(), o);
    return r ? error() : r.error();
}

script greeted(std::string_view capabilities = "") {
    script s;
    s.send("220 x\r\n")
        .read_until("\r\n")
        .send("250-x\r\n" + std::string(capabilities) + "250 SIZE\r\n");
    return s;
}

}  // namespace

TEST(smtp_refusals, name_the_command_and_the_reply) {
    struct row {
        const char* command;
        const char* shown;
        bool chunking;
        const char* unknown = nullptr;  ///< a command that the server does not know
    };
    const row rows[] = {
        {"greeting", "greeting", true},
        {"EHLO", "EHLO [127.0.0.1]", true},
        {"HELO", "HELO [127.0.0.1]", true, "EHLO"},
        {"STARTTLS", "STARTTLS", true},
        {"AUTH", "AUTH PLAIN ***", true},
        {"MAIL", "MAIL FROM:<ada@example.org>", true},
        {"RCPT", "RCPT TO:<bob@example.net>", true},
        {"DATA", "DATA", false},
        {"end of data", "end of data", false},
        {"end of data", "end of data", true},
    };
    for (const row& row : rows) {
        for (const bool later : {false, true}) {
            for (const bool closes : {false, true}) {
                // Refused for good, EHLO is followed by HELO: the next row.
                const bool goes_on = row.command == std::string_view("EHLO");
                if (goes_on && !later && !closes) continue;
                smtp_sink_options so;
                so.self_signed = true;
                so.user = "joe";
                so.password = secret("x");
                so.mechanisms = "PLAIN";
                so.chunking = row.chunking;
                smtp_sink sink(so);
                const std::string text = closes  ? "421 4.3.2 shutting down"
                                         : later ? "451 4.3.0 not now"
                                                 : "554 5.7.1 never";
                if (row.unknown != nullptr)
                    sink.misbehave({.command = row.unknown, .text = "502 5.5.1 not known"});
                sink.misbehave({.command = row.command, .text = text, .closes = closes});
                smtp::client_options o = test_options();
                o.starttls = smtp::starttls::required;
                o.authentication = {.user = "joe", .password = secret("x")};
                const auto r = send(sink.url(), o);
                ASSERT_FALSE(r) << row.command;
                const smtp::failure* const f = smtp::failure_of(r.error());
                ASSERT_NE(f, nullptr) << r.error();
                EXPECT_TRUE(f->command().starts_with(row.shown)) << f->command();
                EXPECT_EQ(f->reply().to_string(), text);
                EXPECT_EQ(r.error().safe_to_retry(), later || closes) << r.error();
                EXPECT_EQ(sink.count(), 0u);
            }
        }
    }
}

TEST(smtp_refusals, say_good_bye_to_a_server_that_is_not_the_right_one) {
    smtp::client_options o = test_options();
    o.starttls = smtp::starttls::required;
    scripted_peer peer(greeted().read_until("QUIT\r\n"));
    const auto r = send("smtp://" + peer.address().to_string(), o);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error(), make_error_code(smtp::errc::starttls_unavailable));
    EXPECT_TRUE(peer.wait_for_end());
    EXPECT_EQ(peer.record().failure, "");
    EXPECT_EQ(peer.record().received, "EHLO [127.0.0.1]\r\nQUIT\r\n");
}

TEST(smtp_refusals, are_no_end_without_close_notify_before_the_mail) {
    script cut;
    cut.send("220 x\r\n").read_until("\r\n").cut();
    const scripted_peer peer(cut, {.self_signed = true});
    const auto r = send("smtps://" + peer.address().to_string(), test_options());
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error(), make_error_code(tls::errc::truncated));
    EXPECT_TRUE(r.error().safe_to_retry());
}

TEST(smtp_refusals, go_back_to_helo_where_ehlo_is_not_known) {
    smtp_sink_options so;
    so.extended = false;
    smtp_sink sink(so);
    const auto r = send(sink.url(), test_options());
    ASSERT_TRUE(r) << r.error();
    EXPECT_FALSE(sink.messages()[0].in_chunks);
    EXPECT_EQ(sink.messages()[0].parameters, "");
}

TEST(smtp_refusals, never_go_on_without_tls_where_it_is_required) {
    smtp::client_options o = test_options();
    o.starttls = smtp::starttls::required;
    // Somebody in between has taken STARTTLS out of the reply.
    EXPECT_EQ(meet(greeted(), o), make_error_code(smtp::errc::starttls_unavailable));
    script refuses = greeted("250-STARTTLS\r\n");
    refuses.read_until("\r\n").send("454 4.7.0 not now\r\n");
    EXPECT_EQ(meet(refuses, o), make_error_code(smtp::errc::starttls_unavailable));
    // A reply in clear is none under TLS.
    script injects = greeted("250-STARTTLS\r\n");
    injects.read_until("STARTTLS\r\n").send("220 go\r\n250 injected\r\n").read_to_end();
    EXPECT_EQ(meet(injects, o), make_error_code(smtp::errc::bytes_before_tls));
    o.starttls = smtp::starttls::wanted;
    EXPECT_EQ(meet(injects, o), make_error_code(smtp::errc::bytes_before_tls));
    smtp_sink sink;
    o.require_tls = true;
    const auto r = send(sink.url(), o);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error(), make_error_code(smtp::errc::requiretls_unavailable));
    EXPECT_EQ(sink.count(), 0u);
    // A server that is not verified cannot promise it.
    smtp_sink_options so;
    so.self_signed = true;
    smtp_sink stranger(so);
    o.insecure = true;
    const auto over_tls = send(stranger.url(), o);
    ASSERT_FALSE(over_tls);
    EXPECT_EQ(over_tls.error(), make_error_code(smtp::errc::requiretls_unavailable));
    EXPECT_EQ(stranger.count(), 0u);
}

TEST(smtp_refusals, refuse_a_certificate_for_somebody_else) {
    smtp_sink_options so;
    so.self_signed = true;
    smtp_sink sink(so);
    smtp::client_options o = test_options();
    o.insecure = false;
    const auto r = send(sink.url(), o);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code().category(), tls::category()) << r.error();
    EXPECT_FALSE(r.error().safe_to_retry());
    EXPECT_EQ(sink.count(), 0u);
}

TEST(smtp_refusals, bound_what_a_server_may_say) {
    const auto malformed = make_error_code(smtp::errc::malformed_reply);
    EXPECT_EQ(meet(script().send("SSH-2.0-x\r\n").read_to_end()), malformed);
    EXPECT_EQ(meet(script().send_endlessly("220-x\r\n", 1 << 20)), malformed);
    EXPECT_EQ(meet(script().send_endlessly("x", 1 << 20)), malformed);
    std::string lines = "220 x\r\n";
    EXPECT_EQ(meet(script().send(lines).read_until("\r\n").send_endlessly("250-A\r\n", 7000)),
              malformed);
    smtp::client_options o = test_options();
    o.reply_lines_limit = 2000;
    std::string many;
    for (int i = 0; i != 1000; ++i) many += "250-X" + std::to_string(i) + "\r\n";
    script s;
    s.send(lines).read_until("\r\n").send_slowly(many + "250 ok\r\n", 997, 0ms);
    s.read_until("MAIL").send("550 no\r\n").send("550 no\r\n").read_to_end();
    EXPECT_EQ(meet(s, o), make_error_code(smtp::errc::rejected));
}

TEST(smtp_refusals, say_when_nobody_knows_what_became_of_it) {
    for (const bool chunking : {false, true}) {
        smtp_sink_options so;
        so.chunking = chunking;
        smtp_sink sink(so);
        sink.misbehave({.command = "end of data", .what = sink_rule::action::close});
        smtp::client_options o = test_options();
        o.retry.retries = 3;
        o.retry.delay = 1ms;
        const auto r = send(sink.url(), o);
        ASSERT_FALSE(r);
        EXPECT_EQ(r.error(), make_error_code(smtp::errc::uncertain)) << r.error();
        EXPECT_FALSE(r.error().safe_to_retry());
        EXPECT_EQ(sink.connections(), 1u) << "it was tried again";
        sink.behave();
        sink.misbehave({.command = "end of data", .what = sink_rule::action::stall});
        o.accept_timeout = 20ms;
        const auto late = send(sink.url(), o);
        ASSERT_FALSE(late);
        EXPECT_EQ(late.error(), make_error_code(smtp::errc::uncertain)) << late.error();
        o.accept_timeout = 10s;
        o.total_timeout = 3s;
        const auto whole = send(sink.url(), o);
        ASSERT_FALSE(whole);
        EXPECT_EQ(whole.error(), make_error_code(smtp::errc::uncertain)) << whole.error();
    }
    smtp_sink sink;
    sink.misbehave({.command = "RCPT", .what = sink_rule::action::stall});
    smtp::client_options o = test_options();
    o.total_timeout = 50ms;
    const auto r = send(sink.url(), o);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error(), std::errc::timed_out);
    EXPECT_TRUE(r.error().safe_to_retry());
}

TEST(smtp_refusals, try_again_where_that_is_safe) {
    smtp_sink sink;
    sink.misbehave({.command = "MAIL", .text = "451 4.3.0 not now", .times = 1});
    sink.misbehave({.command = "RCPT", .what = sink_rule::action::close, .times = 1});
    smtp::client_options o = test_options();
    o.pipelining = false;
    o.retry.retries = 2;
    o.retry.delay = 1ms;
    smtp::client_statistics s;
    const auto r = send(sink.url(), o, a_message(), &s);
    ASSERT_TRUE(r) << r.error();
    EXPECT_EQ(r->attempts, 3u);
    EXPECT_EQ(sink.count(), 1u);
    EXPECT_EQ(s.retries, 2u);
    EXPECT_EQ(s.failed, 0u);
    sink.misbehave({.command = "MAIL", .text = "451 4.3.0 not now"});
    EXPECT_FALSE(send(sink.url(), o, a_message(), &s));
    EXPECT_EQ(s.retries, 2u);
    EXPECT_EQ(s.failed, 1u);
}

TEST(smtp_refusals, wait_twice_as_long_before_each_further_attempt) {
    const auto time_of = [](unsigned retries, duration delay, duration longest) {
        simulation world;
        smtp_sink_options sinking;
        sinking.listen = "127.0.0.1:2525";
        smtp_sink sink(world.loop(), sinking);
        sink.misbehave({.command = "MAIL", .text = "451 4.3.0 not now"});
        duration took{};
        world.run([&]() -> task<> {
            smtp::client_options o = test_options();
            o.retry.retries = retries;
            o.retry.delay = delay;
            o.retry.longest_delay = longest;
            smtp::client mail(sink.url(), o);
            const smtp::message m = a_message();
            const time_point begun = world.now();
            auto sending = mail.send(m);
            const auto r = co_await as_result(sending);
            EXPECT_FALSE(r);
            took = world.now() - begun;
        });
        return took;
    };
    const duration took = time_of(4, 1s, 3s);
    EXPECT_GE(took, 1s + 2s + 3s + 3s);
    EXPECT_LT(took, 9500ms);
    EXPECT_LT(time_of(4, 5s, 1s), 4500ms) << "never longer than the longest";
}

TEST(smtp_refusals, notice_a_connection_that_was_closed_while_it_waited) {
    smtp_sink sink;
    block_on([&]() -> task<> {
        smtp::client mail(sink.url(), test_options());
        const smtp::message m = a_message();
        co_await mail.send(m);
        sink.misbehave({.command = "MAIL", .text = "421 4.4.2 idle", .closes = true, .times = 1});
        const smtp::receipt r = co_await mail.send(m);
        EXPECT_FALSE(r.reused);
        EXPECT_EQ(r.attempts, 1u);
        sink.misbehave({.command = "MAIL", .what = sink_rule::action::close, .times = 1});
        co_await mail.send(m);
    });
    EXPECT_EQ(sink.count(), 3u);
    EXPECT_EQ(sink.connections(), 3u);
}

TEST(smtp_refusals, come_before_anything_is_sent_where_they_can) {
    smtp_sink_options so;
    so.message_bytes = 1000;
    smtp_sink sink(so);
    smtp::message large = a_message();
    large.attach("a.bin", std::string(2000, '\0'));
    auto r = send(sink.url(), test_options(), large);
    EXPECT_EQ(r.error(), make_error_code(smtp::errc::too_large));
    smtp::message missing = a_message();
    missing.attach_file("/nonexistent/file");
    r = send(sink.url(), test_options(), missing);
    EXPECT_EQ(r.error(), std::errc::no_such_file_or_directory);
    for (const char* url : {"http://x", "smtp://", "x"}) {
        EXPECT_FALSE(send(url, test_options())) << url;
    }
    for (const std::string& line : sink.dialogue()) EXPECT_EQ(line.find("MAIL"), std::string::npos);
}
