// The mail client against the sink, on each backend.

#include "support/on_each_backend.hpp"
#include "support/plain_mail.hpp"
#include "support/temporary_directory.hpp"
#include "support/test_ca.hpp"

#include <coracle/io/memory.hpp>
#include <coracle/mime/date.hpp>
#include <coracle/mime/message_parser.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/smtp/client.hpp>
#include <coracle/smtp/launch.hpp>
#include <coracle/testing/smtp_sink.hpp>
#include <coracle/tls/context.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <string>
#include <vector>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

smtp::message a_message() {
    smtp::message m;
    m.from("Ada <ada@example.org>").to("bob@example.net").subject("Hello").text("How are you?\n");
    return m;
}

/// The parts of a mail: "type name: content", one behind the other.
std::vector<std::string> parts_of(std::string_view mail) {
    mime::message_parser parser;
    std::vector<std::string> all;
    using kind = mime::message_event::kind;
    const auto take = [&](const mime::message_event& e) {
        if (e.what == kind::part_begin) {
            const mime::message_part& p = parser.part();
            all.push_back(p.type.essence + ' ' + p.filename().value_or("-") + ": ");
        } else if (e.what == kind::data) {
            all.back() += e.data;
        }
    };
    for (auto e = parser.parse(mail); e.what != kind::need_more; e = parser.parse(mail)) {
        mail.remove_prefix(e.consumed);
        take(e);
    }
    for (auto e = parser.finish(); e.what != kind::end; e = parser.finish()) take(e);
    return all;
}

class smtp_client : public on_each_backend {};

}  // namespace

TEST_P(smtp_client, sends_a_mail_and_keeps_the_connection) {
    smtp_sink sink;
    run([&]() -> task<> {
        smtp::client mail(sink.url(), plain_mail_options());
        for (int i = 0; i != 3; ++i) {
            const smtp::message m = a_message();
            const smtp::receipt r = co_await mail.send(m);
            EXPECT_EQ(r.reused, i != 0);
            EXPECT_TRUE(r.all_accepted());
            EXPECT_EQ(r.reply.code, 250);
            EXPECT_TRUE(r.message_id.ends_with("@example.org"));
        }
        const smtp::client_statistics s = mail.statistics();
        EXPECT_EQ(s.mails, 3u);
        EXPECT_EQ(s.opened, 1u);
        EXPECT_EQ(s.reused, 2u);
        EXPECT_EQ(s.idle, 1u);
    });
    const auto kept = sink.messages();
    ASSERT_EQ(kept.size(), 3u);
    EXPECT_EQ(sink.connections(), 1u);
    EXPECT_EQ(kept[0].sender, "ada@example.org");
    EXPECT_EQ(kept[0].recipients, std::vector<std::string>{"bob@example.net"});
    EXPECT_EQ(kept[0].hello, "[127.0.0.1]");
    EXPECT_TRUE(kept[0].in_chunks);
    EXPECT_NE(kept[0].text.find("Subject: Hello\r\n"), std::string::npos);
    EXPECT_NE(kept[0].text.find("\r\n\r\nHow are you?\r\n"), std::string::npos);
    const std::string_view text = kept[0].text;
    ASSERT_TRUE(text.starts_with("Date: ")) << text;
    const auto written = mime::parse_date(text.substr(6, text.find("\r\n") - 6));
    ASSERT_TRUE(written);
    EXPECT_LE(written->unix_time, kept[0].unix_time);
    EXPECT_GE(written->unix_time, kept[0].unix_time - 60);
}

TEST_P(smtp_client, sends_dots_and_all_that_is_attached_byte_for_byte) {
    const temporary_directory folder;
    std::string bytes;
    for (int i = 0; i != 300'000; ++i) bytes += static_cast<char>(i * 31 + i / 251);
    std::ofstream(folder.path() / "file.bin", std::ios::binary) << bytes;
    const std::string text = ".\n..\n.x\nÜber\n\n.\n" + std::string(3000, 'y') + "\n";
    std::string lines = text;
    for (std::size_t at = 0; (at = lines.find('\n', at)) != std::string::npos; at += 2) {
        lines.insert(at, "\r");
    }
    for (const bool chunking : {true, false}) {
        for (const bool capable : {true, false}) {
            smtp_sink_options so;
            so.chunking = chunking;
            so.binary = so.eight_bit = so.pipelining = capable;
            smtp_sink sink(so);
            run([&]() -> task<> {
                smtp::client mail(sink.url(), plain_mail_options());
                smtp::message m = a_message();
                m.text(text).html("<img src=\"cid:logo\">\n");
                m.embed("logo", bytes.substr(0, 1000), "image/png");
                m.attach("mem ü.bin", bytes).attach_file((folder.path() / "file.bin").string());
                m.attach("lines.txt", "a\nb\rc\r\n").attach("empty.txt", "");
                m.attach_stream("stream.bin",
                                [&bytes] { return std::make_unique<io::memory_source>(bytes); });
                co_await mail.send(m);
            });
            const auto kept = sink.messages();
            ASSERT_EQ(kept.size(), 1u);
            EXPECT_EQ(kept[0].in_chunks, chunking);
            EXPECT_EQ(kept[0].parameters.find("BODY=BINARYMIME") != std::string::npos,
                      chunking && capable);
            const auto parts = parts_of(kept[0].text);
            ASSERT_EQ(parts.size(), 11u);
            EXPECT_EQ(parts[0], "multipart/mixed -: ");
            EXPECT_EQ(parts[1], "multipart/alternative -: ");
            EXPECT_EQ(parts[2], "text/plain -: " + lines);
            EXPECT_EQ(parts[3], "multipart/related -: ");
            EXPECT_EQ(parts[4], "text/html -: <img src=\"cid:logo\">\r\n");
            EXPECT_EQ(parts[5], "image/png -: " + bytes.substr(0, 1000));
            EXPECT_TRUE(parts[6] == "application/octet-stream mem ü.bin: " + bytes);
            EXPECT_TRUE(parts[7] == "application/octet-stream file.bin: " + bytes);
            EXPECT_EQ(parts[8], "text/plain lines.txt: a\nb\rc\r\n");
            EXPECT_EQ(parts[9], "text/plain empty.txt: ");
            EXPECT_TRUE(parts[10] == "application/octet-stream stream.bin: " + bytes);
        }
    }
}

TEST_P(smtp_client, goes_on_with_tls) {
    for (const bool from_start : {false, true}) {
        smtp_sink_options so;
        so.self_signed = true;
        so.tls_from_start = from_start;
        smtp_sink sink(so);
        run([&]() -> task<> {
            smtp::client_options o = plain_mail_options();
            o.starttls = smtp::starttls::required;
            tls::client_options t;
            t.system_authorities = false;
            t.authorities = sink.authorities();
            o.tls_context = std::make_shared<tls::client_context>(t);
            o.require_tls = true;
            smtp::client mail(sink.url(), o);
            const smtp::message m = a_message();
            const smtp::receipt r = co_await mail.send(m);
            EXPECT_TRUE(r.secure);
        });
        const auto kept = sink.messages();
        ASSERT_EQ(kept.size(), 1u);
        EXPECT_TRUE(kept[0].secure);
        EXPECT_NE(kept[0].parameters.find("REQUIRETLS"), std::string::npos);
    }
}

TEST_P(smtp_client, logs_in_by_the_best_way_there_is) {
    const struct {
        const char* offered;
        const char* wanted;
        bool tls;
        bool token = false;
        const char* only = "";
    } rows[] = {
        {"PLAIN LOGIN CRAM-MD5 SCRAM-SHA-256 SCRAM-SHA-256-PLUS", "SCRAM-SHA-256-PLUS", true},
        {"PLAIN LOGIN CRAM-MD5 SCRAM-SHA-256", "SCRAM-SHA-256", true},
        {"PLAIN LOGIN CRAM-MD5 SCRAM-SHA-256", "SCRAM-SHA-256", false},
        {"PLAIN LOGIN CRAM-MD5", "CRAM-MD5", false},
        {"LOGIN PLAIN", "PLAIN", true},
        {"LOGIN", "LOGIN", true},
        {"PLAIN LOGIN", "LOGIN", true, false, "login"},
        {"XOAUTH2 OAUTHBEARER", "OAUTHBEARER", true, true},
        {"XOAUTH2 PLAIN", "XOAUTH2", true, true},
    };
    for (const auto& row : rows) {
        smtp_sink_options so;
        so.self_signed = row.tls;
        so.user = "joe,=2C";
        so.password = secret("s3cret, =");
        so.token = secret("token");
        so.mechanisms = row.offered;
        smtp_sink sink(so);
        run([&]() -> task<> {
            smtp::client_options o = plain_mail_options();
            o.starttls = smtp::starttls::wanted;
            o.insecure = true;
            o.authentication.user = "joe,=2C";
            o.authentication.mechanisms = row.only;
            if (row.token)
                o.authentication.token = secret("token");
            else
                o.authentication.password = secret("s3cret, =");
            smtp::client mail(sink.url(), o);
            const smtp::message m = a_message();
            auto sending = mail.send(m);
            const auto r = co_await as_result(sending);
            EXPECT_TRUE(r) << r.error();
        });
        ASSERT_EQ(sink.count(), 1u) << row.offered;
        EXPECT_EQ(sink.messages()[0].mechanism, row.wanted);
    }
}

/// The mechanism by which a mail was let in, "" for none, and the attempts to log in.
struct login_seen {
    std::string mechanism;
    std::ptrdiff_t attempts = 0;
};

TEST_P(smtp_client, logs_in_without_a_binding_where_the_server_has_another_kind) {
    const auto log_in = [&](const char* offered, const char* only, const char* password,
                            bool verifies = true) {
        smtp_sink_options so;
        so.self_signed = true;
        so.user = "joe";
        so.password = secret("secret");
        so.mechanisms = offered;
        smtp_sink sink(so);
        sink.misbehave({.command = "AUTH", .containing = "-PLUS", .text = "535 5.7.8 not so"});
        run([&]() -> task<> {
            smtp::client_options o = plain_mail_options();
            o.starttls = smtp::starttls::wanted;
            o.insecure = !verifies;
            const temporary_directory folder;
            o.certificates.authorities = folder.write("ca.pem", sink.authorities()).string();
            o.authentication.user = "joe";
            o.authentication.mechanisms = only;
            o.authentication.password = secret(password);
            smtp::client mail(sink.url(), o);
            const smtp::message m = a_message();
            auto sending = mail.send(m);
            const auto r = co_await as_result(sending);
            if (!r) {
                EXPECT_EQ(r.error(), smtp::errc::authentication_failed) << r.error();
            }
        });
        login_seen found;
        const auto lines = sink.dialogue();
        found.attempts = std::ranges::count_if(
            lines, [](const std::string& line) { return line.starts_with("C: AUTH"); });
        if (sink.count() != 0) found.mechanism = sink.messages()[0].mechanism;
        return found;
    };
    const auto both = log_in("PLAIN SCRAM-SHA-256 SCRAM-SHA-256-PLUS", "", "secret");
    EXPECT_EQ(both.mechanism, "SCRAM-SHA-256");
    EXPECT_EQ(both.attempts, 3);
    const auto wrong = log_in("PLAIN SCRAM-SHA-256 SCRAM-SHA-256-PLUS", "", "wrong");
    EXPECT_EQ(wrong.mechanism, "");
    EXPECT_EQ(wrong.attempts, 3);
    // Nothing weaker, and nothing that was not named.
    EXPECT_EQ(log_in("PLAIN SCRAM-SHA-256-PLUS", "", "secret").attempts, 2);
    EXPECT_EQ(log_in("SCRAM-SHA-256 SCRAM-SHA-256-PLUS", "SCRAM-SHA-256-PLUS", "secret").attempts,
              2);
    // The refusal may come from whoever ends the TLS: the second attempt is bound too.
    const auto unverified = log_in("SCRAM-SHA-256 SCRAM-SHA-256-PLUS", "", "secret", false);
    EXPECT_EQ(unverified.mechanism, "");
    EXPECT_EQ(unverified.attempts, 2);
}

// The first message begins with "p=tls-exporter,," or "p=tls-server-end-point,,", in base64.
TEST_P(smtp_client, binds_a_login_to_the_connection_as_its_version_can) {
    constexpr const char* exporter = "cD10bHMtZXhwb3J0ZXIs";
    constexpr const char* end_point = "cD10bHMtc2VydmVyLWVuZC1wb2ludCws";
    struct {
        tls::version most;
        bool knows_exporter;
        bool verifies;
        std::vector<const char*> tried;
    } const rows[] = {
        {tls::version::tls_1_3, true, false, {exporter}},
        {tls::version::tls_1_3, false, false, {exporter, end_point}},
        {tls::version::tls_1_3, false, true, {exporter, end_point}},
        {tls::version::tls_1_2, true, false, {end_point}},
    };
    for (const auto& row : rows) {
        smtp_sink_options so;
        so.self_signed = true;
        so.user = "joe";
        so.password = secret("secret");
        smtp_sink sink(so);
        if (!row.knows_exporter)
            sink.misbehave({.command = "AUTH", .containing = exporter, .text = "535 5.7.8 no"});
        run([&]() -> task<> {
            smtp::client_options o = plain_mail_options();
            o.starttls = smtp::starttls::wanted;
            o.insecure = !row.verifies;
            const temporary_directory folder;
            o.certificates.authorities = folder.write("ca.pem", sink.authorities()).string();
            o.tls.maximum = row.most;
            o.authentication.user = "joe";
            o.authentication.password = secret("secret");
            smtp::client mail(sink.url(), o);
            const smtp::message m = a_message();
            auto sending = mail.send(m);
            const auto r = co_await as_result(sending);
            EXPECT_TRUE(r) << r.error();
        });
        ASSERT_EQ(sink.count(), 1U);
        EXPECT_EQ(sink.messages()[0].mechanism, "SCRAM-SHA-256-PLUS");
        std::vector<std::string> tried;
        for (const std::string& line : sink.dialogue()) {
            if (line.starts_with("C: AUTH")) tried.push_back(line);
        }
        ASSERT_EQ(tried.size(), row.tried.size());
        for (std::size_t i = 0; i != tried.size(); ++i) {
            EXPECT_NE(tried[i].find(row.tried[i]), std::string::npos) << tried[i];
        }
    }
}

// RFC 4954 section 4: a command has 512 bytes, a response 12,288.
TEST_P(smtp_client, sends_what_makes_a_command_too_long_behind_it) {
    // Base64 has four bytes for three: the command is 511 bytes long, or 515.
    for (const std::size_t size : {349U, 350U, 1800U}) {
        smtp_sink_options so;
        so.user = "joe";
        so.token = secret(std::string(size, 't'));
        so.mechanisms = "XOAUTH2";
        smtp_sink sink(so);
        run([&]() -> task<> {
            smtp::client_options o = plain_mail_options();
            o.authentication = {
                .user = "joe", .token = secret(std::string(size, 't')), .in_clear = true};
            smtp::client mail(sink.url(), o);
            const smtp::message m = a_message();
            auto sending = mail.send(m);
            const auto r = co_await as_result(sending);
            EXPECT_TRUE(r) << r.error();
        });
        EXPECT_EQ(sink.count(), 1U) << size;
        for (const std::string& line : sink.dialogue()) {
            if (line.starts_with("C: AUTH")) {
                EXPECT_EQ(line == "C: AUTH XOAUTH2", size != 349U) << size;
            }
        }
    }
}

TEST_P(smtp_client, logs_in_by_its_certificate_where_external_is_named) {
    const test_ca ca;
    smtp_sink_options so;
    tls::server_options server;
    server.certificates.push_back(ca.issue({.names = {"127.0.0.1"}}));
    server.clients = tls::client_certificates::optional;
    server.client_authorities = ca.pem();
    so.tls = std::make_shared<tls::server_context>(server);
    so.user = "joe";
    so.password = secret("p");
    so.mechanisms = "EXTERNAL PLAIN";
    smtp_sink sink(so);
    const auto log_in = [&](const char* only, bool certificate) {
        bool sent = false;
        run([&]() -> task<> {
            smtp::client_options o = plain_mail_options();
            o.starttls = smtp::starttls::required;
            tls::client_options t;
            t.system_authorities = false;
            t.authorities = ca.pem();
            if (certificate) t.identity = ca.issue({.names = {"joe"}});
            o.tls_context = std::make_shared<tls::client_context>(t);
            o.authentication.user = "joe";
            o.authentication.password = secret("p");
            o.authentication.mechanisms = only;
            smtp::client mail(sink.url(), o);
            const smtp::message m = a_message();
            auto sending = mail.send(m);
            const auto r = co_await as_result(sending);
            sent = r.has_value();
            if (!r) {
                EXPECT_EQ(r.error(), smtp::errc::no_mechanism) << r.error();
            }
        });
        const auto kept = sink.messages();
        sink.clear();
        return sent && kept.size() == 1 ? kept[0].mechanism : std::string();
    };
    EXPECT_EQ(log_in("EXTERNAL", true), "EXTERNAL");
    EXPECT_EQ(log_in("PLAIN EXTERNAL", true), "EXTERNAL");
    // Only where it is named, and with a certificate.
    EXPECT_EQ(log_in("", true), "PLAIN");
    EXPECT_EQ(log_in("EXTERNAL PLAIN", false), "PLAIN");
    EXPECT_EQ(log_in("EXTERNAL", false), "");
}

TEST_P(smtp_client, shows_no_password_in_clear) {
    smtp_sink_options so;
    so.user = "joe";
    so.password = secret("secret");
    so.mechanisms = "PLAIN LOGIN";
    smtp_sink sink(so);
    run([&]() -> task<> {
        smtp::client_options o = plain_mail_options();
        o.authentication = {.user = "joe", .password = secret("secret")};
        smtp::client mail(sink.url(), o);
        const smtp::message m = a_message();
        auto sending = mail.send(m);
        const auto r = co_await as_result(sending);
        EXPECT_EQ(r.error(), make_error_code(smtp::errc::no_mechanism));
        o.authentication.in_clear = true;
        mail.set_defaults(o);
        auto again = mail.send(m);
        const auto second = co_await as_result(again);
        EXPECT_TRUE(second) << second.error();
        o.authentication.password = secret("wrong");
        mail.set_defaults(o);
        auto third = mail.send(m);
        const auto wrong = co_await as_result(third);
        EXPECT_EQ(wrong.error(), make_error_code(smtp::errc::authentication_failed));
        EXPECT_FALSE(wrong.error().safe_to_retry());
        EXPECT_EQ(wrong.error().message().find("wrong"), std::string::npos);
    });
    EXPECT_EQ(sink.count(), 1u);
    std::size_t masked = 0;
    for (const std::string& line : sink.dialogue()) {
        EXPECT_EQ(line.find("AGpvZQ"), std::string::npos) << line;
        if (line.ends_with("AUTH PLAIN ***")) ++masked;
    }
    EXPECT_EQ(masked, 2u);
}

TEST_P(smtp_client, shows_no_token_in_clear) {
    for (const char* mechanism : {"XOAUTH2", "OAUTHBEARER"}) {
        smtp_sink_options so;
        so.user = "joe";
        so.token = secret("token");
        so.mechanisms = mechanism;
        smtp_sink sink(so);
        run([&]() -> task<> {
            smtp::client_options o = plain_mail_options();
            o.authentication = {.user = "joe", .token = secret("token")};
            smtp::client mail(sink.url(), o);
            const smtp::message m = a_message();
            auto sending = mail.send(m);
            const auto r = co_await as_result(sending);
            EXPECT_FALSE(r) << "the token was shown";
            if (r) co_return;
            EXPECT_EQ(r.error(), make_error_code(smtp::errc::no_mechanism));
            for (const std::string& line : sink.dialogue())
                EXPECT_FALSE(line.starts_with("C: AUTH"));
            o.authentication.in_clear = true;
            mail.set_defaults(o);
            auto again = mail.send(m);
            const auto second = co_await as_result(again);
            EXPECT_TRUE(second) << second.error();
        });
        ASSERT_EQ(sink.count(), 1u);
        EXPECT_EQ(sink.messages()[0].mechanism, mechanism);
    }
}

TEST_P(smtp_client, says_what_became_of_each_recipient) {
    smtp_sink sink;
    sink.misbehave({.command = "RCPT", .containing = "<bad@", .text = "550 5.1.1 nobody"});
    sink.misbehave({.command = "RCPT", .containing = "<busy@", .text = "450 4.2.0 later"});
    run([&]() -> task<> {
        smtp::client mail(sink.url(), plain_mail_options());
        smtp::message m = a_message();
        m.cc("bad@x.org, busy@x.org").bcc("hidden@x.org");
        auto sending = mail.send(m);
        const auto r = co_await as_result(sending);
        EXPECT_FALSE(r);
        if (r) co_return;
        EXPECT_EQ(r.error(), make_error_code(smtp::errc::recipients_rejected));
        EXPECT_FALSE(r.error().safe_to_retry());
        const smtp::failure* const f = smtp::failure_of(r.error());
        EXPECT_EQ(f->command(), "RCPT TO:<bad@x.org>");
        EXPECT_EQ(f->reply().enhanced.to_string(), "5.1.1");
        EXPECT_EQ(f->recipients().size(), 4u);
        EXPECT_EQ(sink.count(), 0u);

        auto allowed = mail.send(m).allow_refused_recipients();
        const auto second = co_await as_result(allowed);
        EXPECT_TRUE(second) << second.error();
        EXPECT_FALSE(second->all_accepted());
        EXPECT_TRUE(second->reused) << "with RSET";
        EXPECT_EQ(second->recipients[1].reply.code, 550);
    });
    const auto kept = sink.messages();
    ASSERT_EQ(kept.size(), 1u);
    EXPECT_EQ(kept[0].recipients, (std::vector<std::string>{"bob@example.net", "hidden@x.org"}));
    EXPECT_EQ(kept[0].text.find("hidden"), std::string::npos);
    EXPECT_EQ(kept[0].text.find("Bcc"), std::string::npos);
}

TEST_P(smtp_client, speaks_lmtp) {
    smtp_sink_options so;
    so.lmtp = true;
    smtp_sink sink(so);
    sink.misbehave({.command = "end of data", .containing = "full@", .text = "452 4.2.2 full"});
    run([&]() -> task<> {
        smtp::client mail(sink.url(), plain_mail_options());
        smtp::message m = a_message();
        m.to("full@x.org");
        auto strict = mail.send(m);
        const auto r = co_await as_result(strict);
        EXPECT_EQ(r.error(), make_error_code(smtp::errc::recipients_rejected));
        EXPECT_FALSE(r.error().safe_to_retry()) << "bob has it";
        auto allowed = mail.send(m).allow_refused_recipients();
        const auto second = co_await as_result(allowed);
        EXPECT_TRUE(second) << second.error();
        EXPECT_TRUE(second->recipients[0].accepted);
        EXPECT_FALSE(second->recipients[1].accepted);
        EXPECT_EQ(second->recipients[1].reply.enhanced.to_string(), "4.2.2");
    });
    EXPECT_EQ(sink.count(), 2u);
}

TEST_P(smtp_client, works_without_coroutines) {
    smtp_sink sink;
    smtp::client mail(sink.url(), plain_mail_options());
    EXPECT_TRUE(mail.send(a_message()).wait().all_accepted());
    auto future = mail.send(a_message()).launch();
    EXPECT_EQ(future.get().reply.code, 250);
    std::string heard;
    auto call = mail.send(a_message()).start([&](std::expected<smtp::receipt, error> r) {
        heard = r ? "sent" : "failed";
    });
    call.wait();
    EXPECT_EQ(heard, "sent");
    EXPECT_THROW(mail.send(smtp::message()).wait(), exception);
    EXPECT_EQ(mail.statistics().mails, 4u);
    EXPECT_EQ(mail.statistics().failed, 1u);
    EXPECT_GE(mail.statistics().peak, 1u);
    EXPECT_FALSE(mail.stop());
    EXPECT_THROW(mail.send(a_message()).wait(), exception);
    EXPECT_EQ(sink.count(), 3u);
}

TEST_P(smtp_client, cancels_what_is_under_way_when_its_time_is_up) {
    smtp_sink sink;
    sink.misbehave({.command = "MAIL", .what = sink_rule::action::stall});
    smtp::client mail(sink.url(), plain_mail_options());
    std::atomic<int> heard{0};
    error why;
    mail.send(a_message()).start([&](std::expected<smtp::receipt, error> r) {
        if (!r) why = r.error();
        ++heard;
    });
    EXPECT_TRUE(mail.stop(1ms));
    EXPECT_EQ(heard, 1);
    EXPECT_EQ(why, std::errc::operation_canceled);
    EXPECT_EQ(mail.statistics().active, 0u);
    EXPECT_EQ(sink.count(), 0u);
}

TEST_P(smtp_client, keeps_to_its_connections) {
    smtp_sink sink;
    run([&]() -> task<> {
        smtp::pool_options p;
        p.connections = 3;
        p.messages = 10;
        smtp::client mail(sink.url(), plain_mail_options(), p);
        const smtp::message m = a_message();
        auto one = [&]() -> task<> {
            auto sending = mail.send(m);
            const auto r = co_await as_result(sending);
            EXPECT_TRUE(r) << r.error();
            EXPECT_LE(mail.statistics().connections, 3u);
        };
        auto all = [&](task_group& g) -> task<> {
            for (int i = 0; i != 60; ++i) g.spawn(one);
            co_return;
        };
        co_await with_task_group(all);
        EXPECT_GE(mail.statistics().opened, 6u);
        EXPECT_LE(mail.statistics().opened, 8u);
    });
    EXPECT_EQ(sink.count(), 60u);
    EXPECT_LE(sink.connections(), 8u);
}

TEST_P(smtp_client, asks_for_reports_and_size) {
    smtp_sink sink;
    run([&]() -> task<> {
        smtp::client mail(sink.url(), plain_mail_options());
        const smtp::message m = a_message();
        auto sending = mail.send(m).options(
            "reports_on_success=1, reports_on_delay=yes, reports_envelope_id=\"a b+c\"");
        const auto r = co_await as_result(sending);
        EXPECT_TRUE(r) << r.error();
        auto bad = mail.send(m).options("reports_on_succes=1");
        const auto wrong = co_await as_result(bad);
        EXPECT_EQ(wrong.error(), errc::unknown_option);
    });
    const auto kept = sink.messages();
    ASSERT_EQ(kept.size(), 1u);
    EXPECT_EQ(kept[0].parameters,
              "SIZE=" + std::to_string(kept[0].text.size()) + " RET=HDRS ENVID=a+20b+2Bc");
    EXPECT_EQ(kept[0].recipient_parameters[0], "NOTIFY=SUCCESS,DELAY");
}

TEST_P(smtp_client, asks_for_reports_of_failures_with_the_mail_or_for_none) {
    struct row {
        const char* options;
        bool dsn;
        const char* of_mail;
        const char* of_recipient;
    };
    const row rows[] = {
        {"reports_on_failure=1, reports_with_content=1", true, " RET=FULL", "NOTIFY=FAILURE"},
        {"reports_on_failure=1", true, " RET=HDRS", "NOTIFY=FAILURE"},
        {"reports_never=1", true, "", "NOTIFY=NEVER"},
        {"reports_never=1, reports_on_success=1", true, "", "NOTIFY=NEVER"},
        {"", true, "", ""},
        {"reports_on_failure=1, reports_with_content=1", false, "", ""},
        {"reports_never=1", false, "", ""},
    };
    for (const row& row : rows) {
        smtp_sink_options so;
        so.dsn = row.dsn;
        smtp_sink sink(so);
        run([&]() -> task<> {
            smtp::client mail(sink.url(), plain_mail_options());
            const smtp::message m = a_message();
            co_await mail.send(m).options(row.options);
        });
        const auto kept = sink.messages();
        ASSERT_EQ(kept.size(), 1u);
        const std::string size = "SIZE=" + std::to_string(kept[0].text.size());
        EXPECT_EQ(kept[0].parameters, size + row.of_mail) << row.options;
        EXPECT_EQ(kept[0].recipient_parameters[0], row.of_recipient) << row.options;
    }
}

TEST_P(smtp_client, writes_addresses_as_the_server_can_take_them) {
    for (const bool utf8 : {true, false}) {
        smtp_sink_options so;
        so.utf8 = utf8;
        smtp_sink sink(so);
        run([&]() -> task<> {
            smtp::client mail(sink.url(), plain_mail_options());
            smtp::message m = a_message();
            m.to("x@bücher.example");
            auto sending = mail.send(m);
            const auto r = co_await as_result(sending);
            EXPECT_TRUE(r) << r.error();
            m.to("jörg@bücher.example");
            auto second = mail.send(m);
            const auto s = co_await as_result(second);
            EXPECT_EQ(s.has_value(), utf8);
            if (!s) {
                EXPECT_EQ(s.error(), make_error_code(smtp::errc::needs_smtputf8));
            }
        });
        const auto kept = sink.messages();
        ASSERT_EQ(kept.size(), utf8 ? 2u : 1u);
        EXPECT_EQ(kept[0].recipients[1], "x@xn--bcher-kva.example");
        if (!utf8) continue;
        EXPECT_EQ(kept[1].recipients[2], "jörg@bücher.example");
        EXPECT_NE(kept[1].parameters.find("SMTPUTF8"), std::string::npos);
        EXPECT_NE(kept[1].text.find("jörg@bücher.example"), std::string::npos);
    }
}

INSTANTIATE_TEST_SUITE_P(backends, smtp_client, system_backends(), backend_name);
