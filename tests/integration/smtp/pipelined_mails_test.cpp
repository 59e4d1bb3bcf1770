// Mails that wait for a connection: the commands of their envelopes go with the end of the mail
// before (RFC 2920 section 3.1).

#include "support/patient_mail_server.hpp"
#include "support/plain_mail.hpp"

#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/smtp/client.hpp>
#include <coracle/testing/simulation.hpp>
#include <coracle/testing/smtp_sink.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

using goes = std::vector<std::string>;

/// Mails that are sent at the same time, and what became of them.
struct mail_scene {
    mail_scene() {
        server.capabilities = "250-PIPELINING\r\n";
        pool.connections = 1;
    }

    void run() {
        simulation world;
        patient_mail_server peer(server);
        std::optional<smtp::client> mail;
        outcomes.resize(mails, std::unexpected(error()));
        auto send_one = [&](unsigned i) -> task<> {
            smtp::message m;
            m.from("ada@x.org").to("b@y.org").subject("Hello");
            m.text(std::string(i == large ? 100'000 : 10, 'x'));
            auto sending = mail->send(m);
            if (i == impatient) sending.timeout(patience);
            if (i == apart) sending.options("pipelining=0");
            outcomes[i] = co_await as_result(sending);
            ended.push_back(i);
        };
        auto send_all = [&](task_group& g) -> task<> {
            for (unsigned i = 0; i != mails; ++i) {
                g.spawn([&send_one, i] { return send_one(i); });
                co_await sleep_for(1ms);
            }
        };
        auto both = [&](task_group& g) -> task<> {
            g.spawn([&] { return peer.serve(connections); });
            mail.emplace("smtp://127.0.0.1:2525", options, pool);
            co_await with_task_group(send_all);
            statistics = mail->statistics();
            mail.reset();
        };
        world.run([&] { return with_task_group(both); });
        seen = peer.goes;
        std::erase(seen, "QUIT");
        taken = peer.taken;
    }

    /// Returns which mails were sent: "yes no yes".
    std::string sent() const {
        std::string all;
        for (const mail_outcome& r : outcomes)
            all.append(all.empty() ? "" : " ").append(r ? "yes" : "no");
        return all;
    }

    static constexpr unsigned none = 1000;
    patient_mail_options server;
    smtp::client_options options = plain_mail_options();
    smtp::pool_options pool;
    unsigned mails = 3;
    unsigned connections = 1;  ///< that are served
    unsigned large = none;
    unsigned impatient = none;
    duration patience{};
    unsigned apart = none;  ///< does without pipelining

    goes seen;
    unsigned taken = 0;
    std::vector<mail_outcome> outcomes;
    std::vector<unsigned> ended;  ///< in their order
    smtp::client_statistics statistics;
};

}  // namespace

TEST(mails_that_wait, send_their_envelopes_with_the_end_of_the_mail_before) {
    mail_scene s;
    s.run();
    EXPECT_EQ(s.seen, (goes{"EHLO", "MAIL RCPT", "DATA", "content MAIL RCPT", "DATA",
                            "content MAIL RCPT", "DATA", "content"}));
    EXPECT_EQ(s.sent(), "yes yes yes");
    EXPECT_EQ(s.taken, 3u);
    EXPECT_EQ(s.statistics.opened, 1u);
    EXPECT_EQ(s.statistics.reused, 2u);
    EXPECT_EQ(s.statistics.waiting, 0u);
    EXPECT_TRUE(s.outcomes[2]->reused);
}

TEST(mails_that_wait, take_one_round_trip_each_with_bdat) {
    mail_scene s;
    s.server.capabilities += "250-CHUNKING\r\n";
    s.mails = 4;
    s.run();
    EXPECT_EQ(s.seen, (goes{"EHLO", "MAIL RCPT", "BDAT MAIL RCPT", "BDAT MAIL RCPT",
                            "BDAT MAIL RCPT", "BDAT"}));
    EXPECT_EQ(s.taken, 4u);
}

TEST(mails_that_wait, send_nothing_ahead_where_pipelining_is_not_offered_or_off) {
    mail_scene s;
    s.mails = 2;
    s.options.pipelining = false;
    s.run();
    const goes expected{"EHLO", "MAIL", "RCPT", "DATA",   "content",
                        "MAIL", "RCPT", "DATA", "content"};
    EXPECT_EQ(s.seen, expected);
    mail_scene other;
    other.mails = 2;
    other.server.capabilities = "";
    other.run();
    EXPECT_EQ(other.seen, expected);
}

TEST(mails_that_wait, do_not_come_behind_a_large_mail) {
    mail_scene s;
    s.large = 1;
    s.run();
    EXPECT_EQ(s.seen, (goes{"EHLO", "MAIL RCPT", "DATA", "content MAIL RCPT", "DATA", "content",
                            "MAIL RCPT", "DATA", "content"}));
    EXPECT_EQ(s.taken, 3u);
}

TEST(mails_that_wait, count_against_the_mails_of_a_connection) {
    mail_scene s;
    s.pool.messages = 2;
    s.mails = 5;
    s.connections = 3;
    s.run();
    EXPECT_EQ(s.seen, (goes{"EHLO", "MAIL RCPT", "DATA", "content MAIL RCPT", "DATA", "content",
                            "EHLO", "MAIL RCPT", "DATA", "content MAIL RCPT", "DATA", "content",
                            "EHLO", "MAIL RCPT", "DATA", "content"}));
    EXPECT_EQ(s.taken, 5u);
    EXPECT_EQ(s.statistics.opened, 3u);
}

TEST(mails_that_wait, are_sent_though_the_mail_before_is_refused) {
    for (const char* chunking : {"", "250-CHUNKING\r\n"}) {
        mail_scene s;
        s.server.capabilities += chunking;
        s.server.refused_contents = 1;
        s.run();
        EXPECT_EQ(s.sent(), "no yes yes");
        EXPECT_EQ(s.outcomes[0].error(), make_error_code(smtp::errc::rejected));
        EXPECT_EQ(s.taken, 2u);
        EXPECT_EQ(s.statistics.opened, 1u);
    }
    mail_scene s;
    s.server.refused = 1;
    s.run();
    EXPECT_EQ(s.seen, (goes{"EHLO", "MAIL RCPT", "RSET MAIL RCPT", "DATA", "content MAIL RCPT",
                            "DATA", "content"}));
    EXPECT_EQ(s.sent(), "no yes yes");
}

TEST(mails_that_wait, reset_the_server_when_the_mail_before_is_refused_at_its_end) {
    for (const std::string chunking : {"", "250-CHUNKING\r\n"}) {
        mail_scene s;
        s.server.capabilities += chunking;
        s.server.refused_contents = 1;
        s.mails = 2;
        s.large = 0;
        s.run();
        goes expected{"EHLO", "MAIL RCPT", "DATA", "content", "RSET MAIL RCPT", "DATA", "content"};
        if (!chunking.empty()) expected = {"EHLO", "MAIL RCPT", "BDAT", "RSET MAIL RCPT", "BDAT"};
        EXPECT_EQ(s.seen, expected);
        EXPECT_EQ(s.sent(), "no yes");
    }
}

TEST(mails_that_wait, begin_anew_where_the_server_is_still_amid_the_mail_before) {
    mail_scene s;
    s.mails = 2;
    s.server.refused_contents = 1;
    s.server.nested = 1;
    s.run();
    EXPECT_EQ(s.seen, (goes{"EHLO", "MAIL RCPT", "DATA", "content MAIL RCPT", "RSET MAIL RCPT",
                            "DATA", "content"}));
    EXPECT_EQ(s.sent(), "no yes");
}

TEST(mails_that_wait, go_over_another_connection_where_the_server_cuts_this_one) {
    mail_scene s;
    s.server.last_content = 1;
    s.connections = 2;
    s.run();
    EXPECT_EQ(s.seen, (goes{"EHLO", "MAIL RCPT", "DATA", "content", "EHLO", "MAIL RCPT", "DATA",
                            "content", "MAIL RCPT", "DATA", "content"}));
    EXPECT_EQ(s.sent(), "no yes yes");
    EXPECT_EQ(s.outcomes[0].error(), make_error_code(smtp::errc::uncertain));
    EXPECT_FALSE(s.outcomes[0].error().safe_to_retry());
    EXPECT_EQ(s.outcomes[1]->attempts, 1u);
    EXPECT_EQ(s.taken, 2u);
}

TEST(mails_that_wait, are_made_anew_for_a_server_that_can_do_less) {
    mail_scene s;
    s.server.capabilities = "250-PIPELINING\r\n250-CHUNKING\r\n";
    s.server.later_capabilities = "250-PIPELINING\r\n";
    s.server.last_content = 1;
    s.connections = 2;
    s.run();
    EXPECT_EQ(s.seen, (goes{"EHLO", "MAIL RCPT", "BDAT", "EHLO", "MAIL RCPT", "DATA", "content",
                            "MAIL RCPT", "DATA", "content"}));
    EXPECT_EQ(s.sent(), "no yes yes");
    EXPECT_EQ(s.taken, 2u);
}

// The server takes a second for each go: the mail before ends at four seconds, and sends its end at
// three.
TEST(mails_that_wait, may_leave_before_their_envelopes_are_sent) {
    mail_scene s;
    s.impatient = 1;
    s.patience = 2500ms;
    s.run();
    EXPECT_EQ(s.seen,
              (goes{"EHLO", "MAIL RCPT", "DATA", "content", "MAIL RCPT", "DATA", "content"}));
    EXPECT_EQ(s.sent(), "yes no yes");
    EXPECT_EQ(s.outcomes[1].error(), std::errc::timed_out);
    EXPECT_TRUE(s.outcomes[1].error().safe_to_retry());
    EXPECT_EQ(s.statistics.opened, 1u);
}

TEST(mails_that_wait, may_leave_when_their_envelopes_are_sent) {
    mail_scene s;
    s.impatient = 1;
    s.patience = 3500ms;
    s.connections = 2;
    s.run();
    EXPECT_EQ(s.seen, (goes{"EHLO", "MAIL RCPT", "DATA", "content MAIL RCPT", "EHLO", "MAIL RCPT",
                            "DATA", "content"}));
    EXPECT_EQ(s.sent(), "yes no yes");
    EXPECT_TRUE(s.outcomes[1].error().safe_to_retry());
    EXPECT_EQ(s.statistics.opened, 2u);
    EXPECT_EQ(s.taken, 2u);
}

// Its replies come when the mail before is over, and nobody waits for them.
TEST(mails_that_wait, leave_no_replies_to_others) {
    mail_scene s;
    s.impatient = 1;
    s.patience = 3500ms;
    s.connections = 2;
    s.server.between_replies = 100ms;
    s.run();
    EXPECT_EQ(s.sent(), "yes no yes");
    EXPECT_EQ(s.statistics.opened, 2u);
    EXPECT_EQ(s.taken, 2u);
}

TEST(mails_that_wait, do_not_come_behind_another_when_they_do_without_pipelining) {
    mail_scene s;
    s.apart = 1;
    s.run();
    EXPECT_EQ(s.seen, (goes{"EHLO", "MAIL RCPT", "DATA", "content", "MAIL", "RCPT", "DATA",
                            "content", "MAIL RCPT", "DATA", "content"}));
    EXPECT_EQ(s.taken, 3u);
}

// Two stand behind the first; the large one lets nobody come behind it, and its connection takes
// the next of the line.
TEST(mails_that_wait, are_no_more_than_two_behind_a_connection) {
    mail_scene s;
    s.mails = 6;
    s.pool.connections = s.connections = 2;
    s.large = 1;
    s.run();
    EXPECT_EQ(s.taken, 6u);
    EXPECT_EQ(s.ended, (std::vector<unsigned>{0, 1, 2, 5, 3, 4}));
}

// The second comes behind the first, the third behind the second, and the next of the line goes
// over the other connection. When the first is cut the second opens a connection; the third does
// not wait for that, and goes before all others.
TEST(mails_that_wait, go_before_others_when_their_connection_is_lost) {
    mail_scene s;
    s.mails = 6;
    s.pool.connections = 2;
    s.connections = 3;
    s.large = 1;
    s.server.last_content = 1;
    s.run();
    EXPECT_EQ(s.sent(), "no yes yes yes yes yes");
    EXPECT_EQ(s.taken, 5u);
    EXPECT_EQ(s.ended, (std::vector<unsigned>{0, 1, 3, 2, 4, 5}));
}

// The first two end at the same time. The third goes on over the connection of the first, with the
// last behind it; the other connection is free for that.
TEST(mails_that_wait, go_over_a_connection_that_gets_free) {
    mail_scene s;
    s.mails = 4;
    s.pool.connections = s.connections = 2;
    s.large = 1;
    s.run();
    EXPECT_EQ(s.seen,
              (goes{"EHLO", "EHLO", "MAIL RCPT", "MAIL RCPT", "DATA", "DATA", "content MAIL RCPT",
                    "content", "DATA", "MAIL RCPT", "content", "DATA", "content"}));
    EXPECT_EQ(s.ended, (std::vector<unsigned>{0, 1, 2, 3}));
    EXPECT_EQ(s.taken, 4u);
}

// The large mail ends a little before the mail ahead of the last one.
TEST(mails_that_wait, stay_where_their_envelopes_are_sent) {
    mail_scene s;
    s.pool.connections = s.connections = 2;
    s.large = 0;
    s.run();
    EXPECT_EQ(s.seen, (goes{"EHLO", "EHLO", "MAIL RCPT", "MAIL RCPT", "DATA", "DATA", "content",
                            "content MAIL RCPT", "DATA", "content"}));
    EXPECT_EQ(s.ended, (std::vector<unsigned>{0, 1, 2}));
    EXPECT_EQ(s.taken, 3u);
}

// LMTP has a reply for each recipient of the mail before.
TEST(mails_that_wait, read_their_own_replies_over_lmtp) {
    simulation world;
    smtp_sink_options sinking;
    sinking.listen = "127.0.0.1:2525";
    sinking.lmtp = true;
    smtp_sink sink(world.loop(), sinking);
    std::vector<mail_outcome> outcomes;
    auto main = [&]() -> task<> {
        smtp::pool_options pool;
        pool.connections = 1;
        smtp::client mail(sink.url(), plain_mail_options(), pool);
        auto one = [&](int i) -> task<> {
            smtp::message m;
            m.from("ada@x.org").to("b@y.org, c@y.org, d@y.org").text("x");
            m.subject(std::to_string(i));
            auto sending = mail.send(m);
            outcomes.push_back(co_await as_result(sending));
        };
        auto all = [&](task_group& g) -> task<> {
            for (int i = 0; i != 5; ++i) g.spawn([&one, i] { return one(i); });
            co_return;
        };
        co_await with_task_group(all);
    };
    world.run(main);
    ASSERT_EQ(outcomes.size(), 5u);
    for (const mail_outcome& r : outcomes) {
        ASSERT_TRUE(r) << r.error();
        for (const smtp::recipient_result& one : r->recipients) EXPECT_TRUE(one.accepted);
    }
    EXPECT_EQ(sink.count(), 5u);
    const auto dialogue = sink.dialogue();
    EXPECT_EQ(std::ranges::count(dialogue, "C: LHLO [127.0.0.1]"), 1);
}
