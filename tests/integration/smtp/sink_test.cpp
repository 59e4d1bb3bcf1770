// The sink itself: strict about lines, bounded in everything, and what it does with its mails.

#include "support/allocation_count.hpp"
#include "support/test_ca.hpp"
#include "testing/sink_store.hpp"

#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/smtp/client.hpp>
#include <coracle/testing/peer.hpp>
#include <coracle/testing/simulation.hpp>
#include <coracle/testing/smtp_sink.hpp>
#include <coracle/tls/context.hpp>
#include <coracle/tls/stream.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <string>
#include <vector>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

smtp::client_options test_options() {
    smtp::client_options o;
    o.proxy_from_environment = false;
    o.greeting_timeout = o.reply_timeout = o.accept_timeout = 10s;
    return o;
}

smtp::message a_message() {
    smtp::message m;
    m.from("ada@example.org").to("bob@example.net").subject("Hello").text("How are you?\n");
    return m;
}

std::expected<smtp::receipt, error> send(const std::string& url, const smtp::message& m,
                                         const smtp::client_options& o = test_options()) {
    return block_on([&]() -> task<std::expected<smtp::receipt, error>> {
        smtp::client mail(url, o);
        auto sending = mail.send(m);
        auto r = co_await as_result(sending);
        co_return std::move(r);
    });
}

/// Sends lines to a sink, and gives all that it says.
std::string talk(const smtp_sink& sink, const std::string& lines) {
    return block_on([&]() -> task<std::string> {
        auto s = co_await net::connect(sink.address());
        co_await s->send(lines);
        s->shutdown_output();
        std::string all;
        for (;;) {
            auto got = co_await as_result(s->receive());
            if (!got) break;
            all += got->view();
        }
        co_return all;
    });
}

/// A mail of so many bytes, as commands: with DATA, or in one chunk.
std::string mail_of(std::size_t bytes, bool chunk = false, const std::string& parameters = {}) {
    std::string lines = "MAIL FROM:<a@x>" + parameters + "\r\nRCPT TO:<b@x>\r\n";
    const std::string content = std::string(bytes - 2, 'x') + "\r\n";
    if (chunk) return lines + "BDAT " + std::to_string(bytes) + " LAST\r\n" + content;
    return lines + "DATA\r\n" + content + ".\r\n";
}

/// Runs `f(sink)` in virtual time.
void in_a_simulation(smtp_sink_options so, const std::function<task<>(smtp_sink&)>& f) {
    for (const std::uint64_t seed : seeds(3)) {
        simulation world(seed);
        SCOPED_TRACE(world.replay());
        so.listen = "127.0.0.1:2525";
        smtp_sink sink(world.loop(), so);
        auto main = [&]() -> task<> {
            auto working = f(sink);
            co_await std::move(working);
            sink.stop();
            co_await sink.stopped();
        };
        world.run(main);
    }
}

}  // namespace

TEST(smtp_sink_faults, lose_the_reply_to_what_came_before_a_cut) {
    for (const bool cut : {false, true}) {
        smtp_sink sink;
        if (cut) sink.cut_after_received(0, 8);
        const std::string all = talk(sink, "EHLO x\r\n");
        EXPECT_EQ(all.find("250") == std::string::npos, cut) << all;
        sink.stop();
    }
}

TEST(smtp_sink_faults, say_what_a_rule_says_for_any_command) {
    smtp_sink sink;
    sink.misbehave({.command = "VRFY", .text = "252 maybe"});
    sink.misbehave({.command = "NOOP", .text = "250 nothing done"});
    sink.misbehave({.command = "QUIT", .text = "221 farewell"});
    sink.misbehave({.command = "BDAT", .text = "250 in one piece"});
    const std::string all =
        talk(sink, "EHLO x\r\nVRFY a\r\nNOOP\r\n" + mail_of(10, true) + "QUIT\r\n");
    for (const char* said : {"252 maybe", "250 nothing done", "221 farewell", "250 in one piece"}) {
        EXPECT_NE(all.find(said), std::string::npos) << said << " is not in " << all;
    }
    sink.stop();
}

TEST(smtp_sink_faults, take_no_chunk_that_is_refused_for_commands) {
    const std::string hidden = "MAIL FROM:<a@x>\r\nRCPT TO:<c@x>\r\nBDAT 2 LAST\r\nhi";
    const std::string chunk = "BDAT " + std::to_string(hidden.size()) + " LAST\r\n" + hidden;
    smtp_sink sink;
    sink.misbehave({.command = "BDAT", .text = "452 4.3.1 full", .times = 1});
    const std::string all = talk(sink, "EHLO x\r\nMAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\n" + chunk +
                                           "RSET\r\n" + mail_of(10, true) + "QUIT\r\n");
    EXPECT_EQ(all.find("\r\n5"), std::string::npos) << all;
    const auto kept = sink.messages();
    ASSERT_EQ(kept.size(), 1u) << all;
    EXPECT_EQ(kept[0].recipients, std::vector<std::string>{"b@x"});
    sink.stop();
}

TEST(smtp_sink_faults, do_not_keep_a_sink_from_one_that_never_reads) {
    smtp_sink_options o;
    o.idle = 2s;
    in_a_simulation(o, [](smtp_sink& sink) -> task<> {
        peer p = co_await connect_peer(sink.address());
        std::string lines;
        for (int i = 0; i != 200'000; ++i) lines += "NOOP\r\n";
        const auto pour = [&] { return p.stream().send(lines); };
        const auto poured = co_await as_result(with_timeout(1min, pour));
        EXPECT_TRUE(!poured && poured.error() != std::errc::timed_out);
    });
}

TEST(smtp_sink, forgets_at_starttls_who_has_logged_in_in_clear) {
    const test_ca ca;
    tls::server_options server;
    server.certificates.push_back(ca.issue({.names = {"localhost"}}));
    smtp_sink_options so;
    so.tls = std::make_shared<tls::server_context>(server);
    so.user = "joe";
    so.password = secret("p");
    smtp_sink sink(so);
    tls::client_options t;
    t.system_authorities = false;
    t.authorities = ca.pem();
    tls::client_context context(t);
    block_on([&]() -> task<> {
        auto clear = co_await net::connect(sink.address());
        co_await clear->send("EHLO x\r\nAUTH PLAIN AGpvZQBw\r\nSTARTTLS\r\n");
        std::string said;
        while (said.find("220 2.0.0 go ahead\r\n") == std::string::npos) {
            said += (co_await clear->receive()).view();
        }
        EXPECT_NE(said.find("235 "), std::string::npos) << said;
        auto securing = tls::connect(context, std::move(clear), "localhost");
        const auto secured = co_await std::move(securing);
        co_await secured->send("EHLO x\r\nMAIL FROM:<a@b>\r\nQUIT\r\n");
        said.clear();
        while (said.find("221 ") == std::string::npos) {
            said += (co_await secured->receive()).view();
        }
        EXPECT_NE(said.find("530 "), std::string::npos) << said;
    });
}

TEST(smtp_sink, lets_nobody_smuggle_a_second_mail) {
    const std::string begin =
        "EHLO x\r\nMAIL FROM:<a@x.org>\r\nRCPT TO:<b@x.org>\r\nDATA\r\nSubject: 1\r\n\r\nfirst";
    const std::string second =
        "MAIL FROM:<evil@x.org>\r\nRCPT TO:<b@x.org>\r\nDATA\r\nsecond\r\n.\r\n";
    for (const char* end : {"\n.\n", "\n.\r\n", "\r\n.\n", "\r.\r\n", "\r.\r", "\r\n.\r",
                            "\r\r\n.\r\r\n", "\r\n.\r\r\n"}) {
        smtp_sink sink;
        block_on([&]() -> task<> {
            auto s = co_await net::connect(sink.address());
            const std::string all = begin + end + second + "QUIT\r\n";
            co_await s->send(all);
            for (;;) {
                auto got = co_await as_result(s->receive());
                if (!got) break;
            }
        });
        EXPECT_EQ(sink.count(), 0u) << end;
    }
    smtp_sink sink;
    block_on([&]() -> task<> {
        auto s = co_await net::connect(sink.address());
        const std::string all = begin + "\r\n.\r\n" + second + "QUIT\r\n";
        co_await s->send(all);
        for (;;) {
            auto got = co_await as_result(s->receive());
            if (!got) break;
        }
    });
    EXPECT_EQ(sink.count(), 2u);
}

TEST(smtp_sink, keeps_to_its_limits) {
    smtp_sink_options so;
    so.command_bytes = 100;
    so.errors = 3;
    so.recipients = 2;
    so.messages = 1;
    smtp_sink sink(so);
    EXPECT_NE(talk(sink, std::string(200, 'x')).find("500 5.5.2 line too long"), std::string::npos);
    EXPECT_NE(talk(sink, "X\r\nX\r\nX\r\nX\r\n").find("421 4.7.0"), std::string::npos);
    EXPECT_NE(talk(sink, "EHLO x\nMAIL").find("500 5.5.2"), std::string::npos);
    const std::string mail =
        "EHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<a@x>\r\nRCPT TO:<b@x>\r\nRCPT "
        "TO:<c@x>\r\nDATA\r\n.\r\n";
    EXPECT_NE(talk(sink, mail).find("452 4.5.3"), std::string::npos);
    EXPECT_EQ(sink.count(), 1u);
    EXPECT_NE(talk(sink, mail).find("452 4.3.1 full"), std::string::npos);
    EXPECT_EQ(sink.count(), 1u);
}

TEST(smtp_sink, takes_no_mail_beyond_its_size) {
    smtp_sink_options so;
    so.message_bytes = 1000;
    smtp_sink sink(so);
    EXPECT_NE(talk(sink, "EHLO x\r\n").find("250 SIZE 1000\r\n"), std::string::npos);
    for (const bool chunk : {false, true}) {
        const std::string all =
            "EHLO x\r\n" + mail_of(1001, chunk) + mail_of(1000, chunk) + "QUIT\r\n";
        const std::string said = talk(sink, all);
        const std::size_t refused = said.find("552 5.3.4 too large\r\n");
        ASSERT_NE(refused, std::string::npos) << said;
        EXPECT_NE(said.find("250 2.0.0 kept\r\n", refused), std::string::npos) << said;
    }
    ASSERT_EQ(sink.count(), 2u);
    EXPECT_EQ(sink.messages()[0].text.size(), 1000u);
    EXPECT_EQ(sink.messages()[1].text.size(), 1000u);
    // A declared size is refused before the mail comes.
    const std::string said = talk(sink, "EHLO x\r\nMAIL FROM:<a@x> SIZE=1001\r\nQUIT\r\n");
    EXPECT_NE(said.find("552 5.3.4 too large\r\n"), std::string::npos) << said;
    talk(sink, "EHLO x\r\n" + mail_of(900, false, " SIZE=1000"));
    EXPECT_EQ(sink.count(), 3u);
}

TEST(smtp_sink, refuses_a_mail_of_lmtp_for_each_of_its_recipients) {
    smtp_sink_options so;
    so.message_bytes = 1000;
    so.lmtp = true;
    smtp_sink sink(so);
    const auto lines_of = [&](const std::string& content) {
        return talk(sink, "LHLO x\r\nMAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\nRCPT TO:<c@x>\r\n" +
                              content + "NOOP\r\nQUIT\r\n");
    };
    const std::string refusal = "552 5.3.4 too large\r\n";
    const std::string both = refusal + refusal + "250 2.0.0 ok\r\n221";
    const std::string large = std::string(999, 'x') + "\r\n";
    EXPECT_NE(lines_of("DATA\r\n" + large + ".\r\n").find("go ahead\r\n" + both),
              std::string::npos);
    EXPECT_NE(lines_of("BDAT 1001 LAST\r\n" + large).find("2.1.5 ok\r\n" + both),
              std::string::npos);
    // A chunk that is not the last one has one reply.
    EXPECT_NE(lines_of("BDAT 1001\r\n" + large).find("2.1.5 ok\r\n" + refusal + "250 2.0.0 ok"),
              std::string::npos);
    EXPECT_EQ(sink.count(), 0u);
}

TEST(smtp_sink, ends_a_mail_of_lmtp_as_its_rules_say) {
    using action = sink_rule::action;
    const struct {
        sink_rule rule;
        const char* expected;  ///< behind "go ahead"
    } rows[] = {
        {{.command = "end of data", .containing = "c@x", .what = action::close},
         "250 2.0.0 kept\r\n"},
        {{.command = "end of data", .containing = "b@x", .text = "451 4.0.0 later", .closes = true},
         "451 4.0.0 later\r\n"},
        {{.command = "end of data", .containing = "c@x", .text = "250 mine"},
         "250 2.0.0 kept\r\n250 mine\r\n250 2.0.0 ok\r\n221"},
    };
    for (const auto& row : rows) {
        smtp_sink_options so;
        so.lmtp = true;
        smtp_sink sink(so);
        sink.misbehave(row.rule);
        const std::string said =
            talk(sink,
                 "LHLO x\r\nMAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\nRCPT TO:<c@x>\r\n"
                 "DATA\r\ntext\r\n.\r\nNOOP\r\nQUIT\r\n");
        const std::string behind = said.substr(said.find("go ahead\r\n") + 10);
        EXPECT_TRUE(behind.starts_with(row.expected)) << behind;
        EXPECT_EQ(behind.find("221") == behind.npos,
                  std::string(row.expected).find("221") == std::string::npos)
            << behind;
    }
}

TEST(smtp_sink, keeps_the_parameters_of_the_recipients_that_it_accepts) {
    smtp_sink_options so;
    so.lmtp = true;
    smtp_sink sink(so);
    sink.misbehave({.command = "end of data", .containing = "b@x", .text = "550 5.1.1 no"});
    talk(sink,
         "LHLO x\r\nMAIL FROM:<a@x>\r\nRCPT TO:<b@x> NOTIFY=NEVER\r\n"
         "RCPT TO:<c@x> NOTIFY=DELAY\r\nDATA\r\ntext\r\n.\r\nQUIT\r\n");
    const auto kept = sink.messages();
    ASSERT_EQ(kept.size(), 1U);
    EXPECT_EQ(kept[0].recipients, std::vector<std::string>{"c@x"});
    EXPECT_EQ(kept[0].recipient_parameters, std::vector<std::string>{"NOTIFY=DELAY"});
}

// RFC 5321 section 4.1.1.11: a sender that has not read what EHLO offers learns of it here.
TEST(smtp_sink, refuses_parameters_that_it_has_not_offered) {
    const struct {
        const char* parameters;
        const char* hello;
        const char* reply;
    } rows[] = {
        {"BODY=8BITMIME SIZE=10 RET=FULL ENVID=a SMTPUTF8", "EHLO me", "250 2.1.0"},
        {"BODY=8BITMIME", "HELO me", "555 5.5.4 no parameter BODY"},
        {"FOO=1", "EHLO me", "555 5.5.4 no parameter FOO"},
        {"XSIZE=1", "EHLO me", "555 5.5.4 no parameter XSIZE"},
        {"REQUIRETLS", "EHLO me", "555 5.5.4 no parameter REQUIRETLS"},
        {"size=1 SIZE=2", "EHLO me", "501 5.5.4"},
        {"SIZE=x", "EHLO me", "501 5.5.4"},
        {"SIZE", "EHLO me", "501 5.5.4"},
        {"SIZE=99999999999999999999", "EHLO me", "552 5.3.4"},
        {"BODY=9BIT", "EHLO me", "501 5.5.4"},
    };
    for (const auto& row : rows) {
        const smtp_sink sink;
        const std::string said = talk(sink, std::string(row.hello) + "\r\nMAIL FROM:<a@x.org> " +
                                                row.parameters + "\r\nQUIT\r\n");
        EXPECT_NE(said.find(std::string("\r\n") + row.reply), std::string::npos)
            << row.parameters << ": " << said;
    }
    smtp_sink_options so;
    so.eight_bit = so.binary = so.utf8 = so.dsn = false;
    const smtp_sink plain(so);
    for (const char* one : {"BODY=8BITMIME", "SMTPUTF8", "RET=FULL"}) {
        const std::string line = std::string("MAIL FROM:<a@x.org> ") + one + "\r\n";
        EXPECT_NE(talk(plain, "EHLO me\r\n" + line).find("555 5.5.4"), std::string::npos) << one;
    }
    so.binary = true;
    EXPECT_NE(talk(smtp_sink(so), "EHLO me\r\nMAIL FROM:<a@x.org> BODY=8BITMIME\r\n")
                  .find("555 5.5.4 no BODY=8BITMIME"),
              std::string::npos);
    const std::string rcpt = "EHLO me\r\nMAIL FROM:<>\r\nRCPT TO:<b@y.org> NOTIFY=NEVER\r\n";
    EXPECT_NE(talk(plain, rcpt).find("555 5.5.4 no parameter NOTIFY"), std::string::npos);
    EXPECT_NE(talk(smtp_sink(), rcpt).find("250 2.1.5"), std::string::npos);
}

TEST(smtp_sink, takes_commands_in_their_form_alone) {
    for (const char* line : {"EHLO", "EHLO me\r\nRSET now", "EHLO me\r\nQUIT now"}) {
        EXPECT_NE(talk(smtp_sink(), std::string(line) + "\r\n").find("\r\n501 5.5.4"),
                  std::string::npos)
            << line;
    }
    // RFC 3030 section 3.
    const std::string binary =
        "EHLO me\r\nMAIL FROM:<a@x.org> BODY=BINARYMIME\r\nRCPT TO:<b@y.org>\r\nDATA\r\n";
    EXPECT_NE(talk(smtp_sink(), binary).find("503 5.5.1 BINARYMIME"), std::string::npos);
    const std::string again =
        binary + "RSET\r\nMAIL FROM:<a@x.org>\r\nRCPT TO:<b@y.org>\r\nDATA\r\n";
    EXPECT_NE(talk(smtp_sink(), again).find("\r\n354 "), std::string::npos);
}

TEST(smtp_sink, carries_out_an_ehlo_whose_reply_is_that_of_a_rule) {
    smtp_sink sink;
    sink.misbehave({.command = "EHLO", .text = "250-x\r\n250 SIZE 10"});
    const std::string mail = "MAIL FROM:<a@x.org>\r\nRCPT TO:<b@y.org>\r\n";
    const std::string said =
        talk(sink, "EHLO me\r\n" + mail + "EHLO again\r\n" + mail + "DATA\r\n.\r\nQUIT\r\n");
    ASSERT_EQ(sink.count(), 1U) << said;
    EXPECT_EQ(sink.message(1).hello, "again");
    EXPECT_EQ(said.find("8BITMIME"), std::string::npos);
}

// RFC 4954 section 4: 12,288 bytes.
TEST(smtp_sink, takes_long_lines_of_a_login) {
    smtp_sink_options so;
    so.user = "joe";
    so.token = secret(std::string(6000, 't'));
    smtp_sink sink(so);
    smtp::client_options o = test_options();
    o.authentication.user = "joe";
    o.authentication.token = so.token;
    o.authentication.in_clear = true;
    const auto r = send(sink.url(), a_message(), o);
    EXPECT_TRUE(r) << r.error();
    const std::string mail = "MAIL FROM:<" + std::string(5000, 'a') + ">\r\n";
    EXPECT_NE(talk(sink, mail).find("500 5.5.2 line too long"), std::string::npos);
    for (const std::size_t size : {12'287U, 12'288U}) {  // and the CR
        const std::string login = "AUTH OAUTHBEARER " + std::string(size - 17, 'a');
        for (const char* hello : {"EHLO x\r\nAUTH OAUTHBEARER\r\n", "EHLO x\r\n"}) {
            const bool alone = std::string_view(hello).find("AUTH") != std::string_view::npos;
            const std::string line = alone ? std::string(size, 'a') : login;
            EXPECT_EQ(talk(sink, hello + line + "\r\n").find("500 5.5.2 line too long") ==
                          std::string::npos,
                      size == 12'287)
                << size << hello;
        }
    }
    const smtp_sink open;
    EXPECT_NE(talk(open, "EHLO x\r\nAUTH PLAIN " + std::string(5000, 'a') + "\r\n")
                  .find("500 5.5.2 line too long"),
              std::string::npos);
}

// RFC 5802 section 6: a client that says "y" could bind the channel, and has seen no -PLUS.
TEST(smtp_sink, sees_that_somebody_took_a_mechanism_out) {
    for (const char* offered : {"SCRAM-SHA-256 SCRAM-SHA-256-PLUS", "SCRAM-SHA-256"}) {
        smtp_sink_options so;
        so.self_signed = true;
        so.user = "joe";
        so.password = secret("secret");
        so.mechanisms = offered;
        smtp_sink sink(so);
        sink.misbehave(
            {.command = "EHLO", .text = "250-x\r\n250-STARTTLS\r\n250 AUTH SCRAM-SHA-256"});
        smtp::client_options o = test_options();
        o.starttls = smtp::starttls::wanted;
        o.insecure = true;
        o.authentication.user = "joe";
        o.authentication.password = secret("secret");
        const auto r = send(sink.url(), a_message(), o);
        EXPECT_EQ(r.has_value(), offered == std::string("SCRAM-SHA-256"));
    }
}

// RFC 5321 section 4.5.1.
TEST(smtp_sink, knows_its_postmaster_and_a_command_that_looks_one_up) {
    smtp_sink sink;
    const std::string said =
        talk(sink,
             "EHLO x\r\nVRFY bob\r\nVRFY\r\nMAIL FROM:<a@x>\r\nRCPT TO:<bob>\r\n"
             "RCPT TO:<Postmaster>\r\nDATA\r\ntext\r\n.\r\nQUIT\r\n");
    EXPECT_NE(said.find("252 "), said.npos) << said;
    EXPECT_NE(said.find("500 "), said.npos) << said;
    EXPECT_NE(said.find("501 "), said.npos) << said;
    ASSERT_EQ(sink.count(), 1U) << said;
    EXPECT_EQ(sink.messages()[0].recipients, std::vector<std::string>{"Postmaster"});
}

TEST(smtp_sink, keeps_the_reply_of_a_rule_for_its_command) {
    smtp_sink_options so;
    so.recipients = 1;
    smtp_sink sink(so);
    sink.misbehave({.command = "RCPT", .containing = "c@x", .text = "250 2.1.5 mine"});
    const std::string said = talk(sink,
                                  "EHLO x\r\nMAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\nRCPT TO:<c@x>\r\n"
                                  "DATA\r\ntext\r\n.\r\nQUIT\r\n");
    EXPECT_EQ(said.find("mine"), said.npos) << said;
    EXPECT_NE(said.find("\r\n354 "), said.npos) << said;
}

TEST(smtp_sink, keeps_no_more_bytes_than_it_may) {
    smtp_sink roomy;
    talk(roomy, "EHLO x\r\n" + mail_of(400) + "QUIT\r\n");
    ASSERT_EQ(roomy.count(), 1u);
    const std::size_t envelope = roomy.messages()[0].size() - 400;
    smtp_sink_options so;
    so.kept_bytes = 1000 + 2 * envelope;
    smtp_sink sink(so);
    const auto deliver = [&](std::size_t bytes) {
        return talk(sink, "EHLO x\r\n" + mail_of(bytes) + "QUIT\r\n").find("452 4.3.1 full") ==
               std::string::npos;
    };
    EXPECT_TRUE(deliver(400));
    EXPECT_TRUE(deliver(600));
    EXPECT_FALSE(deliver(3));
    EXPECT_EQ(sink.count(), 2u);
    sink.remove(1);
    EXPECT_FALSE(deliver(401));
    EXPECT_TRUE(deliver(400));
    sink.clear();
    EXPECT_TRUE(deliver(1000));
    sink.clear();
    const std::string named = "ORCPT=rfc822;" + std::string(1200, 'x');
    const std::string said = talk(
        sink, "EHLO x\r\nMAIL FROM:<a@x>\r\nRCPT TO:<b@x> " + named + "\r\nDATA\r\nx\r\n.\r\n");
    EXPECT_NE(said.find("452 4.3.1 full"), said.npos) << said;
}

TEST(smtp_sink, counts_no_mail_that_it_has_no_memory_for) {
    if (!coracle::testing::counts_allocations())
        GTEST_SKIP() << "no allocation fails in this build";
    smtp_sink_options so;
    coracle::testing::detail::sink_store store(so);
    bool failed = true;
    for (std::size_t n = 1; failed; ++n) {
        sink_message m;
        m.text = std::string(100, 'x');
        failed = coracle::testing::fails_at(n, [&] { store.add(std::move(m)); });
        EXPECT_EQ(store.count(), failed ? 0u : 1u);
        EXPECT_EQ(store.wait_for(1, 0s), !failed) << n;
    }
}

TEST(smtp_sink, takes_no_lone_line_end_behind_a_mail_that_is_too_large) {
    smtp_sink_options so;
    so.message_bytes = 10;
    smtp_sink sink(so);
    const std::string said = talk(sink, "EHLO x\r\nMAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\nDATA\r\n" +
                                            std::string(20, 'x') + "\nMAIL\r\n.\r\nQUIT\r\n");
    EXPECT_EQ(said.find("552 "), said.npos) << said;
    EXPECT_EQ(said.find("221 "), said.npos) << said;
}

TEST(smtp_sink, lets_connections_wait_beyond_so_many) {
    smtp_sink_options so;
    so.connections = 2;
    in_a_simulation(so, [](smtp_sink& sink) -> task<> {
        auto first = co_await connect_peer(sink.address());
        co_await first.read_until("220 sink.test ESMTP\r\n");
        auto second = co_await connect_peer(sink.address());
        co_await second.read_until("220 sink.test ESMTP\r\n");
        auto third = co_await connect_peer(sink.address());
        auto early = with_timeout(10s, third.stream().receive());
        const auto got = co_await as_result(early);
        EXPECT_FALSE(got) << "a third is served";
        EXPECT_EQ(sink.connections(), 2u);
        first.close();
        co_await third.read_until("220 sink.test ESMTP\r\n");
        EXPECT_EQ(sink.connections(), 3u);
    });
}

TEST(smtp_sink, closes_a_silent_connection) {
    smtp_sink_options so;
    so.idle = 5s;
    in_a_simulation(so, [](smtp_sink& sink) -> task<> {
        auto c = co_await connect_peer(sink.address());
        co_await c.read_until("220 sink.test ESMTP\r\n");
        const auto now = [] { return loop::current()->now(); };
        // A byte is enough to stay.
        for (const char* piece : {"N", "O", "OP\r\n"}) {
            co_await sleep_for(4s);
            co_await c.send(piece);
        }
        co_await c.read_until("250 2.0.0 ok\r\n");
        const time_point before = now();
        const std::string rest = co_await c.read_to_end();
        EXPECT_EQ(rest, "");
        EXPECT_GE(now() - before, 4s);
        EXPECT_LE(now() - before, 6s);
    });
}

TEST(smtp_sink, takes_external_from_those_with_a_certificate_alone) {
    smtp_sink_options so;
    so.user = "joe";
    so.mechanisms = "EXTERNAL";
    smtp_sink sink(so);
    const std::string said = block_on([&]() -> task<std::string> {
        auto c = co_await net::connect(sink.address());
        co_await c->send("EHLO x\r\nAUTH EXTERNAL am9l\r\nQUIT\r\n");
        std::string all;
        for (;;) {
            auto got = co_await as_result(c->receive());
            if (!got) break;
            all += got->view();
        }
        co_return all;
    });
    EXPECT_NE(said.find("504 5.5.4"), std::string::npos) << said;
}

TEST(smtp_sink, hands_its_mails_over) {
    for (const bool lmtp : {false, true}) {
        std::vector<sink_message> delivered;
        smtp_sink_options so;
        so.lmtp = lmtp;
        so.deliver = [&](sink_message& m) -> task<bool> {
            if (m.recipients.front() == "full@example.net") co_return false;
            delivered.push_back(std::move(m));
            co_return true;
        };
        smtp_sink sink(so);
        EXPECT_TRUE(send(sink.url(), a_message()));
        smtp::message refused = a_message();
        refused.envelope_to("full@example.net");
        const auto r = send(sink.url(), refused);
        ASSERT_FALSE(r);
        EXPECT_EQ(smtp::failure_of(r.error())->reply().code, 452) << r.error();
        EXPECT_TRUE(send(sink.url(), a_message()));
        EXPECT_TRUE(sink.wait_for(2));
        EXPECT_FALSE(sink.wait_for(3, 1ms));
        auto waiting =
            std::async(std::launch::async, [&sink] { return sink.wait_for(3, duration::max()); });
        EXPECT_EQ(waiting.wait_for(20ms), std::future_status::timeout);
        EXPECT_TRUE(send(sink.url(), a_message()));
        EXPECT_TRUE(waiting.get());
        EXPECT_EQ(sink.count(), 0u);
        sink.stop();
        ASSERT_EQ(delivered.size(), 3u);
        EXPECT_EQ(delivered[0].number, 1u);
        EXPECT_EQ(delivered[1].number, 3u);
        EXPECT_NE(delivered[1].text.find("How are you?\r\n"), std::string::npos);
        EXPECT_NE(delivered[1].unix_time, 0);
    }
}
