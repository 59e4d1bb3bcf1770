// Interceptors of the mail client, and the one that logs.

#include "support/heard_log.hpp"
#include "support/plain_mail.hpp"

#include <coracle/runtime/loop.hpp>
#include <coracle/smtp/client.hpp>
#include <coracle/smtp/log_mails.hpp>
#include <coracle/testing/smtp_sink.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <stdexcept>

namespace coracle::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

smtp::message a_message(std::string_view to = "bob@y.example") {
    smtp::message m;
    m.from("Ada <ada@x.example>")
        .to(to)
        .subject("geheim")
        .text("geheim\n")
        .message_id("1@x.example");
    return m;
}

class smtp_interceptors : public ::testing::Test {
protected:
    error failure(smtp::client& mail, const smtp::message& m) {
        try {
            mail.send(m).wait();
        } catch (const exception& e) {
            return e.error();
        }
        return {};
    }

    smtp_sink sink_;
    heard_log log_{log_level::info, log_layer::smtp};
    smtp::client mail_{sink_.url(), plain_mail_options(), {}, log_.options()};
};

}  // namespace

TEST_F(smtp_interceptors, are_called_in_order_and_may_change_the_mail_and_the_receipt) {
    std::string order;
    const auto named = [&order](char name) {
        return [&order, name](smtp::message& m,
                              const smtp::mail_handler& next) -> task<smtp::receipt> {
            order += name;
            m.header(std::string("X-") + name, "here");
            auto sending = next(m);
            smtp::receipt r = co_await std::move(sending);
            order += static_cast<char>(name | 0x20);
            r.server = name;
            co_return r;
        };
    };
    mail_.use(named('A')).use(named('B'));
    smtp::message m = a_message();
    const smtp::receipt r = mail_.send(m).wait();
    EXPECT_EQ(order, "ABba");
    EXPECT_EQ(r.server, "A");
    EXPECT_EQ(r.message_id, "1@x.example");
    ASSERT_EQ(sink_.count(), 1u);
    EXPECT_THAT(sink_.messages()[0].text, HasSubstr("X-A: here\r\nX-B: here\r\n"));
    const smtp::client_statistics s = mail_.statistics();
    EXPECT_EQ(s.mails, 1u);
    EXPECT_EQ(s.failed, 0u);
}

TEST_F(smtp_interceptors, may_send_nothing_or_another_mail_or_twice) {
    mail_.use([](smtp::message& m, const smtp::mail_handler& next) -> task<smtp::receipt> {
        if (m.recipients().front() == "nobody@y.example") {
            smtp::receipt own;
            own.message_id = "none";
            co_return own;
        }
        smtp::message copy = m;
        copy.message_id("2@x.example");
        auto first = next(m);
        co_await std::move(first);
        auto second = next(copy);
        co_return co_await std::move(second);
    });
    EXPECT_EQ(mail_.send(a_message("nobody@y.example")).wait().message_id, "none");
    EXPECT_EQ(sink_.count(), 0u);
    EXPECT_EQ(mail_.send(a_message()).wait().message_id, "2@x.example");
    ASSERT_EQ(sink_.count(), 2u);
    EXPECT_THAT(sink_.messages()[0].text, HasSubstr("<1@x.example>"));
    EXPECT_THAT(sink_.messages()[1].text, HasSubstr("<2@x.example>"));
}

TEST_F(smtp_interceptors, see_errors_and_may_throw_their_own) {
    std::string seen;
    mail_.use([&](smtp::message& m, const smtp::mail_handler& next) -> task<smtp::receipt> {
        if (m.recipients().size() == 2) throw std::runtime_error("mine");
        try {
            auto sending = next(m);
            co_return co_await std::move(sending);
        } catch (const exception& e) {
            seen = e.error().message();
            throw;
        }
    });
    sink_.misbehave({.command = "RCPT", .text = "550 5.1.1 nobody", .times = 1});
    EXPECT_EQ(failure(mail_, a_message()), smtp::errc::rejected);
    EXPECT_THAT(seen, HasSubstr("550 5.1.1 nobody"));
    EXPECT_THROW(mail_.send(a_message("a@y.example,b@y.example")).wait(), std::runtime_error);
    // Faults of a mail reach them, too.
    EXPECT_EQ(failure(mail_, smtp::message()), std::errc::invalid_argument);
    EXPECT_THAT(seen, HasSubstr("no sender"));
}

TEST_F(smtp_interceptors, log_a_line_for_each_mail) {
    mail_.use(smtp::log_mails());
    mail_.send(a_message()).wait();
    mail_.send(a_message("a@y.example,b@y.example,c@y.example,d@y.example,e@y.example")).wait();
    EXPECT_THAT(log_.lines(),
                ElementsAre(ContainsRegex(
                                "^mail ada@x.example > bob@y.example 250 2.0.0 [^,]*, [0-9.]+ ms, "
                                "<1@x.example>$"),
                            HasSubstr("> a@y.example, b@y.example, c@y.example and 2 more 250 ")));
}

TEST_F(smtp_interceptors, log_refused_recipients_and_failures) {
    mail_.use(smtp::log_mails());
    sink_.misbehave({.command = "RCPT", .containing = "<b@", .text = "550 5.1.1 nobody"});
    mail_.send(a_message("a@y.example,b@y.example")).allow_refused_recipients().wait();
    EXPECT_EQ(failure(mail_, a_message("b@y.example")), smtp::errc::rejected);
    sink_.misbehave({.command = "MAIL", .text = "451 4.3.0 later", .times = 1});
    mail_.send(a_message()).retry(2, std::chrono::milliseconds(1)).wait();
    const auto lines = log_.lines();
    ASSERT_EQ(lines.size(), 3u);
    EXPECT_THAT(lines[0], HasSubstr(" ms, 1 of 2 recipients refused, <1@"));
    EXPECT_THAT(lines[1],
                ContainsRegex("^mail ada@x.example > b@y.example failed: the server does not "
                              "accept it \\(550 5.1.1 nobody\\), [0-9.]+ ms, phase receive"));
    EXPECT_THAT(lines[2], HasSubstr(", attempt 2, <1@"));
}

TEST_F(smtp_interceptors, log_no_secret) {
    smtp_sink_options so;
    so.user = "joe";
    so.password = secret("other");
    const smtp_sink strict(so);
    std::string url = strict.url();
    url.insert(url.find("//") + 2, "joe:hunter2@");
    smtp::client_options o = plain_mail_options();
    o.authentication.in_clear = true;
    for (const char* mechanism : {"PLAIN", "LOGIN", "CRAM-MD5", "SCRAM-SHA-256"}) {
        o.authentication.mechanisms = mechanism;
        smtp::client mail(url, o, {}, log_.options());
        mail.use(smtp::log_mails());
        EXPECT_EQ(failure(mail, a_message()), smtp::errc::authentication_failed) << mechanism;
    }
    const auto lines = log_.lines();
    ASSERT_EQ(lines.size(), 4u);
    for (const std::string& line : lines) {
        EXPECT_THAT(line, HasSubstr("failed: the credentials were refused"));
        EXPECT_THAT(line, Not(HasSubstr("geheim")));
    }
    const std::string all = log_.all();
    for (const char* part : {"hunter2", "aHVudGVyMg", "AGpvZQBodW50ZXIy", "geheim"}) {
        EXPECT_THAT(all, Not(HasSubstr(part)));
    }
}

TEST_F(smtp_interceptors, log_no_token) {
    smtp_sink_options so;
    so.user = "joe";
    so.token = secret("other");
    const smtp_sink strict(so);
    smtp::client_options o = plain_mail_options();
    o.authentication = {.user = "joe", .token = secret("ya29.hunter2"), .in_clear = true};
    for (const bool verbose : {false, true}) {
        o.verbose = verbose;
        for (const char* mechanism : {"XOAUTH2", "OAUTHBEARER"}) {
            o.authentication.mechanisms = mechanism;
            smtp::client mail(strict.url(), o, {}, log_.options());
            mail.use(smtp::log_mails());
            EXPECT_EQ(failure(mail, a_message()), smtp::errc::authentication_failed) << mechanism;
            const auto lines = log_.lines();
            ASSERT_FALSE(lines.empty());
            EXPECT_THAT(lines.back(), HasSubstr("failed: the credentials were refused"));
            EXPECT_EQ(std::ranges::count(lines, "> AUTH " + std::string(mechanism) + " ***"),
                      verbose ? 1 : 0);
        }
    }
    const std::string all = log_.all();
    // Itself, and in base64 from each of the three places where it may begin.
    for (const char* part : {"hunter2", "aHVudGVyM", "h1bnRlcj", "odW50ZXIy"}) {
        EXPECT_THAT(all, Not(HasSubstr(part)));
    }
}

TEST_F(smtp_interceptors, log_the_subject_where_they_are_told_to) {
    mail_.use(smtp::log_mails({.level = log_level::info, .subject = true}));
    mail_.send(a_message()).wait();
    EXPECT_THAT(log_.lines(), ElementsAre(HasSubstr(", Subject: geheim")));
}

}  // namespace coracle::testing
