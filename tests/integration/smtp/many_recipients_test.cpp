// Servers that take so many recipients of a mail and no more (RFC 5321 section 4.5.3.1.10).

#include "support/on_each_backend.hpp"
#include "support/plain_mail.hpp"

#include <coracle/runtime/event.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/smtp/client.hpp>
#include <coracle/testing/simulation.hpp>
#include <coracle/testing/smtp_sink.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <vector>

using namespace coracle;
using namespace coracle::testing;

namespace {

using names = std::vector<std::string>;

smtp::message to_all(const std::string& recipients) {
    smtp::message m;
    m.from("ada@example.org").to(recipients).subject("Hello").text("How are you?\n");
    return m;
}

/// The outcomes, in the order of the message: "a 250, b 452".
std::string told(const smtp::receipt& r) {
    std::string all;
    for (const smtp::recipient_result& one : r.recipients) {
        if (!all.empty()) all += ", ";
        all += one.address.substr(0, one.address.find('@')) + ' ' + std::to_string(one.reply.code);
        if (one.accepted != one.reply.positive()) all += '!';
    }
    return all;
}

std::string told(const std::vector<smtp::recipient_result>& all) {
    smtp::receipt r;
    r.recipients = all;
    return told(r);
}

/// The reason why there is no reply for a recipient.
std::error_code problem_of(const smtp::receipt& r, std::size_t recipient) {
    const auto& problem = r.recipients.at(recipient).problem;
    return problem ? problem->code() : std::error_code();
}

std::ptrdiff_t asked_for_recipients(const smtp_sink& sink) {
    const auto lines = sink.dialogue();
    return std::ranges::count_if(
        lines, [](const std::string& line) { return line.starts_with("C: RCPT"); });
}

std::vector<names> kept_by(const smtp_sink& sink) {
    std::vector<names> all;
    for (const sink_message& m : sink.messages()) all.push_back(m.recipients);
    return all;
}

class many_recipients : public on_each_backend {
protected:
    mail_outcome send(smtp_sink& sink, const smtp::message& m,
                      smtp::client_options o = plain_mail_options()) {
        mail_outcome outcome = std::unexpected(error());
        o.rcpt_allow_fails = true;
        run([&]() -> task<> {
            smtp::client mail(sink.url(), o);
            auto sending = mail.send(m);
            outcome = co_await as_result(sending);
        });
        return outcome;
    }

    static smtp_sink_options takes(std::size_t recipients) {
        smtp_sink_options o;
        o.recipients = recipients;
        return o;
    }
};

constexpr const char* five = "a@x.org, b@x.org, c@x.org, d@x.org, e@x.org";

}  // namespace

TEST_P(many_recipients, get_the_mail_in_several_transactions) {
    for (const bool chunking : {false, true}) {
        for (const bool pipelining : {false, true}) {
            smtp_sink_options so = takes(2);
            so.chunking = chunking;
            so.pipelining = pipelining;
            smtp_sink sink(so);
            const auto r = send(sink, to_all(five));
            ASSERT_TRUE(r) << r.error();
            EXPECT_EQ(told(*r), "a 250, b 250, c 250, d 250, e 250");
            EXPECT_TRUE(r->all_accepted());
            EXPECT_EQ(
                kept_by(sink),
                (std::vector<names>{{"a@x.org", "b@x.org"}, {"c@x.org", "d@x.org"}, {"e@x.org"}}));
            EXPECT_EQ(sink.connections(), 1U);
            const auto mails = sink.messages();
            for (const sink_message& m : mails) EXPECT_EQ(m.text, mails.front().text);
        }
    }
}

TEST_P(many_recipients, are_all_or_none_without_leave_for_less) {
    smtp_sink sink(takes(2));
    run([&]() -> task<> {
        smtp::client mail(sink.url(), plain_mail_options());
        auto sending = mail.send(to_all(five));
        const auto r = co_await as_result(sending);
        EXPECT_EQ(r.error(), make_error_code(smtp::errc::recipients_rejected));
    });
    EXPECT_EQ(sink.count(), 0U);
}

TEST_P(many_recipients, are_not_those_that_are_refused_for_themselves) {
    smtp_sink sink(takes(3));
    sink.misbehave({.command = "RCPT", .containing = "<b@", .text = "452 4.2.2 full"});
    sink.misbehave({.command = "RCPT", .containing = "<d@", .text = "550 5.1.1 nobody"});
    const auto r = send(sink, to_all("a@x.org, b@x.org, c@x.org, d@x.org, e@x.org, f@x.org"));
    ASSERT_TRUE(r) << r.error();
    EXPECT_EQ(told(*r), "a 250, b 452, c 250, d 550, e 250, f 250");
    EXPECT_EQ(sink.count(), 2U);
    const auto lines = sink.dialogue();
    EXPECT_EQ(std::ranges::count(lines, "C: RCPT TO:<b@x.org>"), 1);
}

TEST_P(many_recipients, are_believed_of_a_server_without_enhanced_codes) {
    for (const char* refusal : {"452 too many", "552 too many", "552 5.5.3 too many"}) {
        smtp_sink sink;
        sink.misbehave({.command = "RCPT", .containing = "<b@", .text = refusal, .times = 1});
        const auto r = send(sink, to_all("a@x.org, b@x.org"));
        ASSERT_TRUE(r) << r.error();
        EXPECT_EQ(told(*r), "a 250, b 250") << refusal;
    }
}

TEST_P(many_recipients, end_where_a_transaction_takes_none) {
    smtp_sink sink;
    sink.misbehave({.command = "RCPT", .containing = "<b@", .text = "452 4.5.3 too many"});
    run([&]() -> task<> {
        smtp::client mail(sink.url(), plain_mail_options());
        auto sending = mail.send(to_all("a@x.org, b@x.org")).allow_refused_recipients();
        const auto r = co_await as_result(sending);
        EXPECT_TRUE(r) << r.error();
        if (r) {
            EXPECT_EQ(told(*r), "a 250, b 452");
        }
        // The connection is in order.
        auto next = mail.send(to_all("c@x.org"));
        const auto then = co_await as_result(next);
        EXPECT_TRUE(then && then->reused);
    });
    const auto lines = sink.dialogue();
    EXPECT_EQ(std::ranges::count(lines, "C: RCPT TO:<b@x.org>"), 2);
}

// Some have the mail: nothing sends it to them again.
TEST_P(many_recipients, keep_what_others_got_when_a_later_transaction_fails) {
    struct {
        sink_rule rule;
        const char* told;
        std::error_code problem = {};  ///< of the second
    } const rows[] = {
        {{.command = "MAIL", .text = "451 4.3.0 later"}, "a 250, b 451, c 451"},
        {{.command = "DATA", .text = "451 4.3.0 later"}, "a 250, b 451, c 452"},
        {{.command = "end of data", .text = "554 5.6.0 no"}, "a 250, b 554, c 452"},
        {{.command = "end of data", .what = sink_rule::action::close},
         "a 250, b 0, c 452",
         make_error_code(smtp::errc::uncertain)},
        {{.command = "MAIL", .what = sink_rule::action::close},
         "a 250, b 0, c 0",
         make_error_code(errc::end_of_stream)},
        {{.command = "RCPT", .what = sink_rule::action::close},
         "a 250, b 0, c 0",
         make_error_code(errc::end_of_stream)},
    };
    for (const auto& row : rows) {
        std::atomic<smtp_sink*> of = nullptr;
        std::atomic<unsigned> delivered = 0;
        smtp_sink_options so = takes(1);
        so.chunking = false;
        so.deliver = [&](sink_message&) -> task<bool> {
            if (++delivered == 1) of.load()->misbehave(row.rule);
            co_return true;
        };
        smtp_sink sink(so);
        of = &sink;
        smtp::client_options o = plain_mail_options();
        o.retry.retries = 2;
        const auto r = send(sink, to_all("a@x.org, b@x.org, c@x.org"), o);
        ASSERT_TRUE(r) << row.rule.command << ": " << r.error();
        EXPECT_EQ(told(*r), row.told) << row.rule.command;
        EXPECT_EQ(problem_of(*r, 1), row.problem) << row.rule.command;
        EXPECT_FALSE(problem_of(*r, 0));
        EXPECT_EQ(delivered.load(), 1U);
    }
}

TEST_P(many_recipients, hear_why_a_later_transaction_was_cut_off) {
    std::atomic<smtp_sink*> of = nullptr;
    smtp_sink_options so = takes(1);
    so.chunking = false;
    so.deliver = [&](sink_message&) -> task<bool> {
        of.load()->misbehave(
            {.command = "DATA", .text = "354 go\r\n552 5.3.4 too large", .closes = true});
        co_return true;
    };
    smtp_sink sink(so);
    of = &sink;
    smtp::message m = to_all("a@x.org, b@x.org");
    m.text(std::string(40'000'000, 'x'));
    const auto r = send(sink, m);
    ASSERT_TRUE(r) << r.error();
    EXPECT_EQ(told(*r), "a 250, b 552");
}

TEST_P(many_recipients, keep_each_reply_of_lmtp_when_a_later_transaction_fails) {
    std::atomic<smtp_sink*> of = nullptr;
    smtp_sink_options so = takes(2);
    so.lmtp = true;
    so.deliver = [&](sink_message&) -> task<bool> {
        of.load()->misbehave(
            {.command = "end of data", .containing = "d@x.org", .what = sink_rule::action::close});
        co_return true;
    };
    smtp_sink sink(so);
    of = &sink;
    const auto r = send(sink, to_all("a@x.org, b@x.org, c@x.org, d@x.org, e@x.org"));
    ASSERT_TRUE(r) << r.error();
    EXPECT_EQ(told(*r), "a 250, b 250, c 250, d 0, e 452");
    EXPECT_EQ(problem_of(*r, 3), make_error_code(smtp::errc::uncertain));
    EXPECT_FALSE(problem_of(*r, 2));
}

TEST_P(many_recipients, are_not_asked_about_once_the_server_takes_no_more) {
    std::string all;
    for (int i = 0; i != 450; ++i) all += (i == 0 ? "r" : ", r") + std::to_string(i) + "@x.org";
    for (const bool pipelining : {false, true}) {
        const std::string these = pipelining ? all : all.substr(0, all.find(", r12@"));
        smtp_sink_options so = takes(pipelining ? 150 : 2);
        so.pipelining = pipelining;
        smtp_sink sink(so);
        const auto r = send(sink, to_all(these));
        ASSERT_TRUE(r) << r.error();
        EXPECT_TRUE(r->all_accepted()) << told(*r);
        // Each transaction meets the limit in a batch of a hundred, or three times in a row.
        EXPECT_EQ(asked_for_recipients(sink), pipelining ? 200 + 200 + 150 : 5 + 5 + 5 + 5 + 4 + 2);
    }
}

TEST(many_recipients_of_a_mail, are_no_reason_to_send_it_again_when_time_is_up) {
    for (const unsigned stands_still_after : {1U, 2U}) {
        simulation world;
        std::atomic<smtp_sink*> of = nullptr;
        std::atomic<unsigned> delivered = 0;
        smtp_sink_options so;
        so.listen = "127.0.0.1:2525";
        so.recipients = 1;
        so.deliver = [&](sink_message&) -> task<bool> {
            if (++delivered == stands_still_after)
                of.load()->misbehave({.command = "MAIL", .what = sink_rule::action::stall});
            co_return true;
        };
        smtp_sink sink(world.loop(), so);
        of = &sink;
        mail_outcome r = std::unexpected(error());
        world.run([&]() -> task<> {
            smtp::client_options o = plain_mail_options();
            o.rcpt_allow_fails = true;
            o.retry.retries = 2;
            o.total_timeout = std::chrono::seconds(10);
            smtp::client mail(sink.url(), o);
            auto sending = mail.send(to_all("a@x.org, b@x.org, c@x.org"));
            r = co_await as_result(sending);
            sink.stop();
            co_await sink.stopped();
        });
        ASSERT_FALSE(r);
        EXPECT_EQ(r.error(), smtp::errc::uncertain) << r.error();
        EXPECT_FALSE(r.error().safe_to_retry());
        EXPECT_EQ(delivered.load(), stands_still_after);
        ASSERT_NE(smtp::failure_of(r.error()), nullptr);
        EXPECT_EQ(told(smtp::failure_of(r.error())->recipients()),
                  stands_still_after == 1 ? "a 250, b 0, c 0" : "a 250, b 250, c 0");
    }
}

// Whoever cancels a mail, of a server or of MX hosts, learns who has it.
TEST(many_recipients_of_a_mail, are_known_when_it_is_cancelled) {
    for (const bool by_mx : {false, true}) {
        simulation world;
        event stalled;
        smtp_sink_options so;
        so.listen = "127.0.0.1:2525";
        so.recipients = 1;
        so.deliver = [&](sink_message& m) -> task<bool> {
            if (m.recipients[0].starts_with('b')) {
                stalled.set();
                co_await forever();
            }
            co_return true;
        };
        smtp_sink sink(world.loop(), so);
        mail_outcome r = std::unexpected(error());
        world.run([&]() -> task<> {
            smtp::client_options o = plain_mail_options();
            o.rcpt_allow_fails = true;
            smtp::client mail(by_mx ? "mx:2525" : sink.url(), o);
            const smtp::message m = to_all("a@[127.0.0.1], b@[127.0.0.1]");
            const auto send = [&]() -> task<> {
                auto sending = mail.send(m);
                r = co_await as_result(sending);
            };
            const auto cancel = [&]() -> task<> { co_await stalled.wait(); };
            auto either = when_any(send(), cancel());
            co_await std::move(either);
            sink.stop();
            co_await sink.stopped();
        });
        ASSERT_FALSE(r);
        EXPECT_EQ(r.error(), std::errc::operation_canceled) << r.error();
        const smtp::failure* const f = smtp::failure_of(r.error());
        ASSERT_NE(f, nullptr);
        EXPECT_EQ(f->command(), "end of data");
        EXPECT_EQ(told(f->recipients()), "a 250, b 0");
        EXPECT_EQ(*f->recipients().at(1).problem, smtp::errc::uncertain);
    }
}

// The mail that waits comes behind all of it.
TEST_P(many_recipients, let_no_other_mail_in_between) {
    smtp_sink sink(takes(2));
    run([&]() -> task<> {
        smtp::pool_options one;
        one.connections = 1;
        smtp::client_options o = plain_mail_options();
        o.rcpt_allow_fails = true;
        smtp::client mail(sink.url(), o, one);
        const auto send = [&mail](smtp::message m) -> task<> {
            auto sending = mail.send(m);
            const auto r = co_await as_result(sending);
            EXPECT_TRUE(r && r->all_accepted()) << (r ? told(*r) : r.error().message());
        };
        const auto all = [&send](task_group& g) -> task<> {
            for (int i = 0; i != 3; ++i) g.spawn([&send] { return send(to_all(five)); });
            co_return;
        };
        co_await with_task_group(all);
    });
    EXPECT_EQ(sink.count(), 9U);
    EXPECT_EQ(sink.connections(), 1U);
}

INSTANTIATE_TEST_SUITE_P(backends, many_recipients, system_backends(), backend_name);
