// The mail client against the sink in a world where everything goes wrong: no mail is accepted
// twice, none that was reported sent is lost, none that is said to be safe to send again has
// arrived.

#include "support/plain_mail.hpp"
#include "support/simulated_seeds.hpp"
#include "testing/random.hpp"

#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/smtp/client.hpp>
#include <coracle/testing/simulation.hpp>
#include <coracle/testing/smtp_sink.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;
using coracle::testing::detail::random_source;

namespace {

struct mail_plan {
    std::string id;
    std::size_t size = 0;
    duration patience{};  ///< cancelled after this; zero: never
    bool sent = false;
    bool ended = false;
    std::optional<error> failure;
};

std::map<std::string, unsigned> accepted(const smtp_sink& sink) {
    std::map<std::string, unsigned> all;
    for (const sink_message& m : sink.messages()) {
        const std::size_t at = m.text.find("Message-ID: <") + 13;
        ++all[m.text.substr(at, m.text.find('>', at) - at)];
    }
    return all;
}

void expect_kept(const std::vector<mail_plan>& plans, const smtp_sink& sink,
                 const std::string& why) {
    const auto kept = accepted(sink);
    for (const mail_plan& p : plans) {
        const auto found = kept.find(p.id);
        const unsigned times = found == kept.end() ? 0 : found->second;
        EXPECT_TRUE(p.ended) << why;
        EXPECT_LE(times, 1u) << why << ": accepted twice";
        if (p.sent) {
            EXPECT_EQ(times, 1u) << why << ": lost";
        }
        if (p.failure && p.failure->safe_to_retry()) {
            EXPECT_EQ(times, 0u) << why << ": " << *p.failure;
        }
    }
}

smtp::client_options options_of(random_source& chance) {
    smtp::client_options o = plain_mail_options();
    o.insecure = true;
    o.connect_timeout = 5s;
    o.greeting_timeout = o.reply_timeout = o.idle_timeout = o.accept_timeout = 2s;
    o.retry.retries = static_cast<unsigned>(chance.next() % 4);
    o.retry.delay = 50ms;
    o.pipelining = chance.next() % 2 == 0;
    o.chunking = chance.next() % 2 == 0;
    if (chance.next() % 4 == 0) o.total_timeout = 3s;
    return o;
}

std::uint64_t run_world(std::uint64_t seed, bool faulty) {
    random_source chance(seed);
    simulation_options so;
    so.seed = seed;
    if (faulty) so.faults = fault_options::every();
    so.max_time = 3h;
    simulation world(so);
    smtp_sink_options sinking;
    sinking.listen = "127.0.0.1:2525";
    sinking.idle = 30s;
    smtp_sink sink(world.loop(), sinking);
    std::vector<mail_plan> plans(1 + chance.next() % 12);
    for (std::size_t i = 0; i != plans.size(); ++i) {
        plans[i].id = "m" + std::to_string(i) + "@example.org";
        plans[i].size = chance.next() % 8 == 0 ? chance.next() % 40'000 : chance.next() % 1000;
        if (faulty && chance.next() % 6 == 0)
            plans[i].patience = std::chrono::milliseconds(chance.next() % 500);
    }
    const smtp::client_options options = options_of(chance);
    // The sink is two hosts of a domain: what goes on to the next one must not arrive twice.
    const bool by_mx = chance.next() % 3 == 0;
    const std::uint64_t pace = chance.next() % 2 == 0 ? 300 : 2;
    if (by_mx) {
        const net::address here = net::address::v4({127, 0, 0, 1}, 0);
        world.backend().add_name("mx1.example.net", {here});
        world.backend().add_name("mx2.example.net", {here});
        world.backend().add_mail_hosts("example.net",
                                       {{10, "mx1.example.net"}, {10, "mx2.example.net"}});
    }
    smtp::pool_options pool;
    pool.connections = static_cast<unsigned>(1 + chance.next() % 3);
    pool.messages = static_cast<unsigned>(1 + chance.next() % 5);
    pool.idle_time = std::chrono::milliseconds(1 + chance.next() % 2000);
    auto main = [&]() -> task<> {
        smtp::client mail(by_mx ? "mx:2525" : sink.url(), options, pool);
        auto one = [&](mail_plan* p) -> task<> {
            smtp::message m;
            m.from("a@example.org").to("b@example.net").subject("x").message_id(p->id);
            m.text(std::string(p->size, '.') + "\n.\n");
            auto sending = [&]() -> task<std::expected<smtp::receipt, error>> {
                auto operation = mail.send(m);
                auto r = co_await as_result(operation);
                co_return std::move(r);
            };
            const duration patience = p->patience > duration::zero() ? p->patience : 2h;
            auto limited = with_timeout(patience, sending);
            auto r = co_await as_result(limited);
            p->ended = true;
            if (!r) co_return;  // cancelled: it may have arrived, or not
            p->sent = r->has_value();
            if (!*r) p->failure = r->error();
        };
        auto all = [&](task_group& g) -> task<> {
            for (mail_plan& p : plans) {
                g.spawn([&one, &p] { return one(&p); });
                co_await sleep_for(std::chrono::milliseconds(chance.next() % pace));
            }
        };
        co_await with_task_group(all);
        co_await sleep_for(1min);
        sink.stop();
        co_await sink.stopped();
    };
    const std::string why = replay(seed);
    try {
        world.run(main);
    } catch (const std::exception& e) {
        ADD_FAILURE() << why << ": " << e.what();
    }
    expect_kept(plans, sink, why);
    if (!faulty) {
        for (const mail_plan& p : plans) EXPECT_TRUE(p.sent || options.total_timeout > 0s) << why;
    }
    EXPECT_EQ(world.backend().open_descriptors(), 0u) << why;
    return world.trace();
}

}  // namespace

TEST(smtp_simulation, loses_nothing_and_sends_nothing_twice) {
    run_seeds(24, [](std::uint64_t seed) { return run_world(seed, true); });
}

TEST(smtp_simulation, sends_all_in_a_good_world) {
    run_seeds(6, [](std::uint64_t seed) { return run_world(seed, false); });
}

TEST(smtp_simulation, has_a_thousand_mails_in_flight_on_twenty_connections) {
    constexpr std::size_t mails = 1000;
    constexpr std::size_t connections = 20;
    simulation world;
    smtp_sink_options sinking;
    sinking.listen = "127.0.0.1:2525";
    smtp_sink sink(world.loop(), sinking);
    std::size_t most_waiting = 0;
    std::size_t most_open = 0;
    auto main = [&]() -> task<> {
        smtp::pool_options pool;
        pool.connections = connections;
        smtp::client mail(sink.url(), plain_mail_options(), pool);
        auto one = [&](std::size_t i) -> task<> {
            smtp::message m;
            m.from("a@example.org").to("b@example.net").text("x");
            m.message_id("m" + std::to_string(i) + "@example.org");
            co_await mail.send(m);
            most_open = std::max(most_open, mail.statistics().connections);
        };
        auto all = [&](task_group& g) -> task<> {
            for (std::size_t i = 0; i != mails; ++i) g.spawn([&one, i] { return one(i); });
            most_waiting = mail.statistics().waiting;
            co_return;
        };
        co_await with_task_group(all);
        EXPECT_EQ(mail.statistics().mails, mails);
    };
    world.run(main);
    EXPECT_EQ(most_waiting, mails - connections) << "all of them are under way at once";
    EXPECT_EQ(most_open, connections);
    const auto kept = accepted(sink);
    EXPECT_EQ(kept.size(), mails);
    EXPECT_EQ(sink.count(), mails) << "one of them twice";
}

namespace {

struct cut_connection {
    bool chunking = false;
    bool sent_by_sink = false;
    std::uint64_t bytes = 0;  ///< after which it is cut
    std::size_t mails = 1;    ///< of which all but one wait
};

/// Returns whether the connection was not cut before all mails were sent.
bool bears(const cut_connection& cut) {
    simulation world;
    smtp_sink_options sinking;
    sinking.listen = "127.0.0.1:2525";
    sinking.chunking = cut.chunking;
    smtp_sink sink(world.loop(), sinking);
    if (cut.sent_by_sink)
        sink.cut_after_sent(0, cut.bytes);
    else
        sink.cut_after_received(0, cut.bytes);
    std::vector<mail_plan> plans(cut.mails);
    bool whole = true;
    auto main = [&]() -> task<> {
        smtp::client_options o = plain_mail_options();
        o.retry.retries = 1;
        o.retry.delay = 1ms;
        smtp::pool_options pool;
        pool.connections = 1;
        smtp::client mail(sink.url(), o, pool);
        auto one = [&](mail_plan* p) -> task<> {
            p->id = "m" + std::to_string(p - plans.data()) + "@example.org";
            smtp::message m;
            m.from("a@example.org").to("b@example.net,c@example.net");
            m.message_id(p->id).text(".\n");
            auto sending = mail.send(m);
            const auto r = co_await as_result(sending);
            p->ended = true;
            p->sent = r.has_value();
            if (!r) p->failure = r.error();
            whole = whole && r && r->attempts == 1;
        };
        auto all = [&](task_group& g) -> task<> {
            for (mail_plan& p : plans) g.spawn([&one, &p] { return one(&p); });
            co_return;
        };
        co_await with_task_group(all);
        whole = whole && mail.statistics().opened == 1;
    };
    world.run(main);
    const std::string why = "cut at " + std::to_string(cut.bytes);
    expect_kept(plans, sink, why);
    for (const mail_plan& p : plans) {
        if (!p.failure) continue;
        EXPECT_EQ(*p.failure, make_error_code(smtp::errc::uncertain))
            << why << ": the second attempt is whole: " << *p.failure;
    }
    EXPECT_LE(std::ranges::count_if(plans, [](const mail_plan& p) { return !p.sent; }), 1) << why;
    return whole;
}

}  // namespace

namespace {

/// Sends a mail to three recipients, of whom the server takes one at a time, and expects that what
/// is said of each is so. Returns whether the connection was not cut before all had it.
bool bears_for_each_recipient(const cut_connection& cut, bool lmtp) {
    simulation world;
    smtp_sink_options sinking;
    sinking.listen = "127.0.0.1:2525";
    sinking.chunking = cut.chunking;
    sinking.recipients = lmtp ? 2 : 1;
    sinking.lmtp = lmtp;
    smtp_sink sink(world.loop(), sinking);
    if (cut.sent_by_sink)
        sink.cut_after_sent(0, cut.bytes);
    else
        sink.cut_after_received(0, cut.bytes);
    std::vector<smtp::recipient_result> results;
    bool whole = false;
    auto main = [&]() -> task<> {
        smtp::client_options o = plain_mail_options();
        o.rcpt_allow_fails = true;
        smtp::client mail(sink.url(), o);
        smtp::message m;
        m.from("a@example.org").to("b@example.net,c@example.net,d@example.net").text(".\n");
        auto sending = mail.send(m);
        auto r = co_await as_result(sending);
        whole = r && r->all_accepted();
        if (r) {
            results = r->recipients;
        } else if (r.error() != smtp::errc::uncertain) {
            EXPECT_EQ(sink.count(), 0U) << "cut at " << cut.bytes << ": " << r.error();
        }
    };
    world.run(main);
    std::map<std::string, unsigned> kept;
    for (const sink_message& m : sink.messages()) {
        for (const std::string& one : m.recipients) ++kept[one];
    }
    for (const auto& [address, times] : kept) EXPECT_EQ(times, 1U) << address;
    for (const smtp::recipient_result& one : results) {
        const bool uncertain = one.problem && *one.problem == smtp::errc::uncertain;
        EXPECT_FALSE(one.accepted && one.problem) << one.address;
        if (!uncertain) {
            EXPECT_EQ(kept.contains(one.address), one.accepted)
                << one.address << ", cut at " << cut.bytes;
        }
    }
    return whole;
}

}  // namespace

TEST(smtp_simulation, knows_who_has_a_mail_of_several_transactions_that_are_cut) {
    for (const bool lmtp : {false, true}) {
        for (const bool chunking : {false, true}) {
            for (const bool sent_by_sink : {false, true}) {
                cut_connection cut{.chunking = chunking, .sent_by_sink = sent_by_sink};
                while (!bears_for_each_recipient(cut, lmtp)) {
                    ++cut.bytes;
                    ASSERT_LT(cut.bytes, 5000u);
                    ASSERT_FALSE(HasFailure());
                }
            }
        }
    }
}

TEST(smtp_simulation, bears_a_cut_at_any_byte) {
    for (const std::size_t mails : {1u, 3u}) {
        for (const bool chunking : {false, true}) {
            for (const bool sent_by_sink : {false, true}) {
                cut_connection cut{.chunking = chunking, .sent_by_sink = sent_by_sink};
                cut.mails = mails;
                while (!bears(cut)) {
                    ++cut.bytes;
                    ASSERT_LT(cut.bytes, 5000u);
                    ASSERT_FALSE(HasFailure());
                }
            }
        }
    }
}
