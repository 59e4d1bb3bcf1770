#include "support/allocation_count.hpp"
#include "support/dns_server.hpp"
#include "support/eventually.hpp"
#include "support/no_more_descriptors.hpp"
#include "support/open_descriptors.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/net/resolver.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <set>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::dns_a;
using coracle::testing::dns_aaaa;
using coracle::testing::dns_query;
using coracle::testing::dns_reply;
using coracle::testing::dns_server;
using coracle::testing::eventually;
using net::resolve_errc;

namespace {

using addresses = std::vector<net::address>;
using replies = std::vector<std::string>;

/// Nothing of this machine: only the given servers.
net::resolver_options only(std::vector<net::address> servers) {
    net::resolver_options o = coracle::testing::asking(std::move(servers));
    o.timeout = 20s;
    return o;
}

/// Waits a short time only, for servers that are silent.
net::resolver_options for_silence(std::vector<net::address> servers) {
    net::resolver_options o = only(std::move(servers));
    o.timeout = 200ms;
    o.attempts = 100;
    return o;
}

replies boats(const dns_query& q) {
    dns_reply r(q);
    if (q.type == dns_a) r.a(q.name, "192.0.2.7");
    if (q.type == dns_aaaa) r.aaaa(q.name, "2001:db8::7");
    return {r};
}

std::string text(const addresses& all) {
    std::string s;
    for (const auto& a : all) s += a.to_string() + ' ';
    return s;
}

/// Returns the addresses of `host`, or the error.
std::expected<addresses, error> resolved(const net::resolver_options& o, std::string host,
                                         net::family only_family = net::family::none) {
    return block_on([&]() -> task<std::expected<addresses, error>> {
        net::resolver r(*loop::current(), o);
        auto result = co_await as_result(r.resolve(host, 80, only_family));
        co_return result;
    });
}

}  // namespace

TEST(resolver, ends_only_what_there_is_no_memory_for) {
    if (!coracle::testing::counts_allocations()) {
        GTEST_SKIP() << "no allocation fails in this build";
    }
    dns_server server(boats);
    const coracle::testing::temporary_directory folder;
    net::resolver_options o = for_silence({server.at()});
    o.hosts = folder.write("hosts", "192.0.2.1 other.test\n");
    o.attempts = 3;
    const std::size_t descriptors = coracle::testing::open_descriptors();
    bool failed = true;
    std::size_t n = 1;
    for (; failed && !::testing::Test::HasFailure(); ++n) {
        SCOPED_TRACE("allocation " + std::to_string(n));
        block_on([&]() -> task<> {
            // A socket that cannot be watched is found out by the time it takes.
            net::resolver r(*loop::current(), o);
            coracle::testing::fail_allocation(n);
            try {
                const auto first = co_await as_result(r.resolve("boat.test", 80));
                EXPECT_TRUE(first || first.error() == std::errc::not_enough_memory ||
                            first.error() == resolve_errc::server_unreachable ||
                            first.error() == resolve_errc::timed_out)
                    << "another error";
            } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): ends that one
            }
            failed = !coracle::testing::allocation_will_fail();
            coracle::testing::fail_allocation(0);
            const auto second = co_await as_result(r.resolve("boat.test", 80));
            EXPECT_TRUE(second);
            EXPECT_EQ(second ? second->size() : 0, 2U);
        });
    }
    EXPECT_GT(n, 20U);
    EXPECT_EQ(coracle::testing::open_descriptors(), descriptors);
}

TEST(resolver, gives_both_families_of_a_name) {
    dns_server server(boats);
    const auto found = resolved(only({server.at()}), "boats.example");
    ASSERT_TRUE(found) << found.error();
    EXPECT_EQ(text(*found), "[2001:db8::7]:80 192.0.2.7:80 ");
    EXPECT_EQ(server.asked(), 2u);
}

TEST(resolver, gives_one_family_when_asked_for_one) {
    dns_server server(boats);
    const auto found = resolved(only({server.at()}), "Boats.EXAMPLE.", net::family::v4);
    ASSERT_TRUE(found) << found.error();
    EXPECT_EQ(text(*found), "192.0.2.7:80 ");
    EXPECT_EQ(server.asked("boats.example", dns_aaaa), 0u);
}

TEST(resolver, follows_aliases_within_a_response) {
    dns_server server([](const dns_query& q) -> replies {
        dns_reply r(q);
        r.cname("b.example", "c.example").cname(q.name, "b.example");
        if (q.type == dns_a) r.a("c.example", "192.0.2.9").a("other.example", "192.0.2.66");
        return {r};
    });
    const auto found = resolved(only({server.at()}), "a.example");
    ASSERT_TRUE(found) << found.error();
    EXPECT_EQ(text(*found), "192.0.2.9:80 ");
}

TEST(resolver, does_not_follow_aliases_in_a_circle) {
    dns_server server([](const dns_query& q) -> replies {
        return {dns_reply(q).cname(q.name, "b.example").cname("b.example", q.name)};
    });
    const auto found = resolved(only({server.at()}), "a.example");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), resolve_errc::malformed_response);
}

TEST(resolver, says_that_a_host_does_not_exist) {
    dns_server server([](const dns_query& q) -> replies { return {dns_reply(q).code(3)}; });
    const auto found = resolved(only({server.at()}), "boats.example");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), resolve_errc::no_such_host);
    EXPECT_EQ(found.error().message(), "resolve boats.example: no such host, phase resolve");
}

TEST(resolver, says_that_a_host_has_no_such_address) {
    dns_server server([](const dns_query& q) -> replies { return {dns_reply(q)}; });
    const auto found = resolved(only({server.at()}), "boats.example");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), resolve_errc::no_addresses);
}

TEST(resolver, is_content_with_one_family) {
    dns_server server([](const dns_query& q) -> replies {
        if (q.type == dns_aaaa) return {dns_reply(q).code(2)};
        return {dns_reply(q).a(q.name, "192.0.2.7")};
    });
    const auto found = resolved(only({server.at()}), "boats.example");
    ASSERT_TRUE(found) << found.error();
    EXPECT_EQ(text(*found), "192.0.2.7:80 ");
}

TEST(resolver, says_that_the_server_failed_and_which) {
    dns_server server([](const dns_query& q) -> replies { return {dns_reply(q).code(2)}; });
    const auto found = resolved(only({server.at()}), "boats.example");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().message(), "resolve boats.example (queried " + server.at().to_string() +
                                           "): the name server failed, phase resolve, "
                                           "safe to retry");
    EXPECT_EQ(server.asked("boats.example", dns_a), 3u);
}

TEST(resolver, says_that_the_server_refused) {
    dns_server server([](const dns_query& q) -> replies { return {dns_reply(q).code(5)}; });
    const auto found = resolved(only({server.at()}), "boats.example");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), resolve_errc::refused);
}

TEST(resolver, says_that_nothing_listens_at_the_server) {
    net::address gone;
    {
        dns_server server(boats);
        gone = server.at();
    }
    const auto found = resolved(only({gone}), "boats.example");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), resolve_errc::server_unreachable);
}

TEST(resolver, asks_the_next_server_when_one_fails) {
    dns_server bad([](const dns_query& q) -> replies { return {dns_reply(q).code(2)}; });
    dns_server silent([](const dns_query&) -> replies { return {}; });
    dns_server good(boats);
    const auto found = resolved(for_silence({bad.at(), silent.at(), good.at()}), "boats.example");
    ASSERT_TRUE(found) << found.error();
    EXPECT_GE(bad.asked(), 2u);
    EXPECT_GE(silent.asked(), 2u);
}

TEST(resolver, does_not_ask_another_server_what_one_has_denied) {
    dns_server first([](const dns_query& q) -> replies { return {dns_reply(q).code(3)}; });
    dns_server second(boats);
    const auto found = resolved(only({first.at(), second.at()}), "boats.example");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), resolve_errc::no_such_host);
    EXPECT_EQ(second.asked(), 0u);
}

TEST(resolver, asks_again_when_a_question_was_lost) {
    dns_server server(
        [](const dns_query& q) -> replies { return q.nth == 1 ? replies() : boats(q); });
    const auto found = resolved(for_silence({server.at()}), "boats.example");
    ASSERT_TRUE(found) << found.error();
    EXPECT_GE(server.asked("boats.example", dns_a), 2u);
}

TEST(resolver, gives_up_after_its_attempts) {
    dns_server server([](const dns_query&) -> replies { return {}; });
    auto o = only({server.at()});
    o.timeout = 20ms;
    o.attempts = 4;
    const auto found = resolved(o, "boats.example");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error(), std::errc::timed_out);
    EXPECT_EQ(found.error().code(), resolve_errc::timed_out);
    // It may not have been there to read the last ones.
    EXPECT_TRUE(eventually([&] { return server.asked("boats.example", dns_a) == 4U; }));
}

TEST(resolver, asks_by_tcp_when_the_response_was_cut) {
    dns_server server([](const dns_query& q) -> replies {
        if (!q.tcp) return {dns_reply(q).truncated()};
        dns_reply r(q);
        for (int i = 0; i != 60 && q.type == dns_a; ++i) r.a(q.name, "10.0.0." + std::to_string(i));
        return {r};
    });
    const auto found = resolved(only({server.at()}), "boats.example");
    ASSERT_TRUE(found) << found.error();
    EXPECT_EQ(found->size(), 60u);
    EXPECT_EQ(server.asked("boats.example", dns_a), 2u);
}

TEST(resolver, takes_only_so_many_addresses_of_a_response) {
    dns_server server([](const dns_query& q) -> replies {
        if (!q.tcp) return {dns_reply(q).truncated()};
        dns_reply r(q);
        for (int i = 0; i != 4000 && q.type == dns_a; ++i) r.a(q.name, "10.0.0.1");
        return {r};
    });
    const auto found = resolved(only({server.at()}), "boats.example");
    ASSERT_TRUE(found) << found.error();
    EXPECT_EQ(found->size(), 64u);
}

TEST(resolver, ignores_responses_to_other_questions) {
    dns_server server([](const dns_query& q) -> replies {
        dns_reply forged(q);
        forged.a(q.name, "203.0.113.66").aaaa(q.name, "2001:db8::66");
        const std::string good = boats(q).front();
        dns_reply other(q);
        other.question("evil.example").a("evil.example", "203.0.113.66");
        return {dns_reply(forged).other_id(), other, good.substr(0, 7), "", good};
    });
    const auto found = resolved(only({server.at()}), "boats.example");
    ASSERT_TRUE(found) << found.error();
    EXPECT_EQ(text(*found), "[2001:db8::7]:80 192.0.2.7:80 ");
}

TEST(resolver, says_that_a_response_is_garbage) {
    dns_server server([](const dns_query& q) -> replies {
        std::string good = boats(q).front();
        good.resize(good.size() - 3);
        return {good};
    });
    const auto found = resolved(only({server.at()}), "boats.example");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), resolve_errc::malformed_response);
}

TEST(resolver, looks_into_the_search_domains) {
    dns_server server([](const dns_query& q) -> replies {
        if (q.name == "www.two.example") return boats(q);
        return {dns_reply(q).code(3)};
    });
    auto o = only({server.at()});
    o.search.assign({"one.example", "two.example"});
    const auto found = resolved(o, "www", net::family::v4);
    ASSERT_TRUE(found) << found.error();
    EXPECT_EQ(server.asked(), 2u);
    EXPECT_EQ(server.asked("www", dns_a), 0u);
}

TEST(resolver, looks_into_search_domains_however_they_are_written) {
    dns_server server(boats);
    for (const char* domain : {"one.example", "One.Example", "one.example."}) {
        auto o = only({server.at()});
        o.search.assign({"no domain", domain});
        const auto found = resolved(o, "www", net::family::v4);
        ASSERT_TRUE(found) << found.error();
    }
    EXPECT_EQ(server.asked("www.one.example", dns_a), 3u);
    EXPECT_EQ(server.asked(), 3u);
}

TEST(resolver, tries_a_name_with_dots_as_it_stands_first) {
    dns_server server(boats);
    auto o = only({server.at()});
    o.search.assign({"one.example"});
    ASSERT_TRUE(resolved(o, "www.boats", net::family::v4));
    EXPECT_EQ(server.asked("www.boats", dns_a), 1u);
    EXPECT_EQ(server.asked(), 1u);
}

TEST(resolver, does_not_search_for_a_name_with_a_dot_at_its_end) {
    dns_server server([](const dns_query& q) -> replies { return {dns_reply(q).code(3)}; });
    auto o = only({server.at()});
    o.search.assign({"one.example"});
    ASSERT_FALSE(resolved(o, "www.", net::family::v4));
    EXPECT_EQ(server.asked("www", dns_a), 1u);
    EXPECT_EQ(server.asked(), 1u);
}

TEST(resolver, tries_each_search_domain_once_and_only_so_many) {
    dns_server server([](const dns_query& q) -> replies { return {dns_reply(q).code(3)}; });
    auto o = only({server.at()});
    for (int i = 0; i != 50; ++i) {
        o.search.emplace_back("same.example");
        o.search.emplace_back("d" + std::to_string(i) + ".example");
    }
    ASSERT_FALSE(resolved(o, "www", net::family::v4));
    EXPECT_EQ(server.asked("www.same.example", dns_a), 1u);
    EXPECT_EQ(server.asked(), 6u);
}

TEST(resolver, reports_a_search_domain_that_failed) {
    dns_server server([](const dns_query& q) -> replies {
        return {dns_reply(q).code(q.name == "www.one.example" ? 2 : 3)};
    });
    auto o = only({server.at()});
    o.search.assign({"one.example"});
    const auto found = resolved(o, "www", net::family::v4);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), resolve_errc::server_failure);
    EXPECT_EQ(server.asked("www", dns_a), 1u);
}

TEST(resolver, never_asks_for_what_is_no_name) {
    dns_server server(boats);
    const std::string nul("boats\0.example", 14);
    std::string long_label(64, 'a');
    long_label.append(".example");
    for (const std::string& name :
         {std::string(), std::string("."), std::string("a..b"), std::string(".a"), nul,
          std::string(300, 'a'), long_label, std::string("a b"), std::string("1.2.3"),
          std::string("0x7f.1"), std::string("b\xc3\xb6\x61t.example"), std::string("a\\.b"),
          std::string("fe80::1%no_such_zone"), std::string("boats:80")}) {
        const auto found = resolved(only({server.at()}), name);
        ASSERT_FALSE(found) << name;
        EXPECT_EQ(found.error().code(), resolve_errc::malformed_name) << name;
        EXPECT_EQ(found.error(), std::errc::invalid_argument) << name;
    }
    EXPECT_EQ(server.asked(), 0u);
}

TEST(resolver, never_asks_for_addresses_and_special_names) {
    dns_server server(boats);
    const auto o = only({server.at()});
    EXPECT_EQ(text(*resolved(o, "192.0.2.1")), "192.0.2.1:80 ");
    EXPECT_EQ(text(*resolved(o, "2001:db8::1")), "[2001:db8::1]:80 ");
    EXPECT_EQ(text(*resolved(o, "[::1]")), "[::1]:80 ");
    EXPECT_EQ(text(*resolved(o, "fe80::1%7")), "[fe80::1%7]:80 ");
    EXPECT_EQ(text(*resolved(o, "localhost")), "[::1]:80 127.0.0.1:80 ");
    EXPECT_EQ(text(*resolved(o, "Boats.Localhost.", net::family::v4)), "127.0.0.1:80 ");
    EXPECT_EQ(resolved(o, "192.0.2.1", net::family::v6).error().code(), resolve_errc::no_addresses);
    EXPECT_EQ(resolved(o, "boats.invalid").error().code(), resolve_errc::no_such_host);
    EXPECT_EQ(server.asked(), 0u);
}

TEST(resolver, reads_the_files_of_the_system_and_notices_changes) {
    const coracle::testing::temporary_directory directory;
    dns_server server(boats);
    auto o = only({server.at()});
    o.hosts = directory.path() / "hosts";
    o.configuration = directory.path() / "resolv.conf";
    o.recheck = 0ns;
    std::ofstream(o.hosts) << "# comment\n192.0.2.20 Pier jetty # more\n2001:db8::20\tpier\n";
    block_on([&]() -> task<> {
        net::resolver r(*loop::current(), o);
        EXPECT_EQ(text(co_await r.resolve("pier", 1)), "[2001:db8::20]:1 192.0.2.20:1 ");
        const auto v6 = co_await as_result(r.resolve("jetty", 1, net::family::v6));
        EXPECT_EQ(v6.error().code(), resolve_errc::no_addresses);
        EXPECT_EQ(server.asked(), 0u);
        co_await r.resolve("www", 1, net::family::v4);
        std::ofstream(o.hosts) << "192.0.2.21 pier\n";
        std::ofstream(o.configuration) << "search harbour.example\noptions ndots:2\n";
        EXPECT_EQ(text(co_await r.resolve("pier", 1, net::family::v4)), "192.0.2.21:1 ");
        co_await r.resolve("www.north", 1, net::family::v4);
        EXPECT_EQ(server.asked("www.north.harbour.example", dns_a), 1u);
    });
}

// The other family of the first candidate may have the name of another host.
TEST(resolver, gives_no_addresses_of_two_hosts_for_one_name) {
    for (const unsigned code : {0U, 2U}) {
        dns_server server([code](const dns_query& q) -> replies {
            dns_reply r(q);
            const bool is_first = q.name == "www.one.example";
            if (is_first && q.type == dns_a) return {r.a(q.name, "192.0.2.7")};
            if (is_first) return {r.code(code)};
            if (q.name != "www.two.example") return {r.code(3)};
            if (q.type == dns_a) return {r.a(q.name, "192.0.2.8")};
            return {r.aaaa(q.name, "2001:db8::8")};
        });
        net::resolver_options o = only({server.at()});
        o.search = {"one.example", "two.example"};
        const auto all = resolved(o, "www");
        ASSERT_TRUE(all) << all.error();
        EXPECT_EQ(text(*all), "192.0.2.7:80 ");
        EXPECT_FALSE(resolved(o, "www", net::family::v6));
        o.search = {"none.example", "two.example"};
        const auto second = resolved(o, "www");
        ASSERT_TRUE(second) << second.error();
        EXPECT_EQ(second->size(), 2U);
    }
}

TEST(resolver, keeps_what_it_knows_while_a_file_cannot_be_read) {
    const coracle::testing::temporary_directory directory;
    auto o = only({});
    o.hosts = directory.path() / "hosts";
    o.recheck = 0ns;
    std::ofstream(o.hosts) << "192.0.2.20 pier\n";
    block_on([&]() -> task<> {
        net::resolver r(*loop::current(), o);
        EXPECT_EQ(text(co_await r.resolve("pier", 1, net::family::v4)), "192.0.2.20:1 ");
        std::ofstream(o.hosts) << "192.0.2.210 pier\n";
        {
            const coracle::testing::no_more_descriptors none;
            EXPECT_EQ(text(co_await r.resolve("pier", 1, net::family::v4)), "192.0.2.20:1 ");
        }
        EXPECT_EQ(text(co_await r.resolve("pier", 1, net::family::v4)), "192.0.2.210:1 ");
    });
}

TEST(resolver, says_that_it_lacks_descriptors) {
    dns_server server(boats);
    block_on([&]() -> task<> {
        net::resolver r(*loop::current(), only({server.at()}));
        {
            const coracle::testing::no_more_descriptors none;
            const auto lacking = co_await as_result(r.resolve("boat.test", 1, net::family::v4));
            EXPECT_FALSE(lacking);
            EXPECT_EQ(lacking.error(), std::errc::too_many_files_open) << lacking.error();
        }
        EXPECT_EQ(text(co_await r.resolve("boat.test", 1, net::family::v4)), "192.0.2.7:1 ");
    });
}

TEST(resolver, asks_once_for_all_who_ask_at_the_same_time) {
    dns_server server(boats);
    block_on([&]() -> task<> {
        net::resolver r(*loop::current(), only({server.at()}));
        std::vector<task<addresses>> all;
        const auto one = [&]() -> task<addresses> {
            auto found = co_await r.resolve("boats.example", 80);
            co_return found;
        };
        for (int i = 0; i != 50; ++i) all.push_back(one());
        const auto found = co_await when_all(std::move(all));
        for (const auto& f : found) EXPECT_EQ(f.size(), 2u);
        EXPECT_EQ(server.asked(), 2u);
        EXPECT_EQ(r.counters().shared, 98u);
        co_await r.resolve("boats.example", 80);
        EXPECT_EQ(server.asked(), 2u);
        EXPECT_EQ(r.counters().hits, 2u);
        r.clear_cache();
        co_await r.resolve("boats.example", 80);
        EXPECT_EQ(server.asked(), 4u);
    });
}

TEST(resolver, keeps_asking_for_others_when_one_is_cancelled) {
    dns_server server(
        [](const dns_query& q) -> replies { return q.nth == 1 ? replies() : boats(q); });
    block_on([&]() -> task<> {
        net::resolver r(*loop::current(), for_silence({server.at()}));
        auto impatient = [&]() -> task<bool> {
            auto op = r.resolve("boats.example", 80);
            const auto found = co_await as_result(with_timeout(10ms, std::move(op)));
            co_return found.has_value();
        };
        const auto patient = [&]() -> task<addresses> {
            auto found = co_await r.resolve("boats.example", 80);
            co_return found;
        };
        auto [gave_up, found] = co_await when_all(impatient(), patient());
        EXPECT_FALSE(gave_up);
        EXPECT_EQ(found.size(), 2u);
    });
}

TEST(resolver, gives_up_what_nobody_waits_for_and_can_be_asked_again) {
    dns_server server(
        [](const dns_query& q) -> replies { return q.nth == 1 ? replies() : boats(q); });
    block_on([&]() -> task<> {
        auto o = only({server.at()});
        o.timeout = 1h;
        net::resolver r(*loop::current(), o);
        const auto cancelled =
            co_await as_result(with_timeout(10ms, r.resolve("boats.example", 80)));
        EXPECT_EQ(cancelled.error(), std::errc::timed_out);
        const auto found = co_await r.resolve("boats.example", 80);
        EXPECT_EQ(found.size(), 2u);
        // A question that is left must not keep the loop when it ends.
        const auto left = co_await as_result(with_timeout(10ms, r.resolve("b.example", 80)));
        EXPECT_FALSE(left);
    });
}

TEST(resolver, gives_up_a_question_that_waits_for_its_turn) {
    dns_server server(boats);
    block_on([&]() -> task<> {
        net::resolver r(*loop::current(), only({server.at()}));
        // Results that the backend has at once then come in the next turn only.
        while (loop::current()->may_complete_inline()) {
        }
        const auto at_once = []() -> task<> { co_return; };
        const auto first = co_await when_any(r.resolve("boats.example", 80), at_once());
        EXPECT_EQ(first.index, 1u);
        const auto found = co_await r.resolve("boats.example", 80);
        EXPECT_EQ(found.size(), 2u);
    });
}

TEST(resolver, has_so_many_questions_out_at_a_time) {
    dns_server server([](const dns_query& q) -> replies {
        return q.name == "third.example" ? boats(q) : replies();
    });
    auto o = for_silence({server.at()});
    o.attempts = 1;
    o.questions = 2;
    block_on([&]() -> task<> {
        net::resolver r(*loop::current(), o);
        int ended = 0;
        const auto find = [&](std::string host) -> task<bool> {
            auto asking = r.resolve(host, 80, net::family::v4);
            const auto found = co_await as_result(asking);
            ++ended;
            co_return found.has_value();
        };
        const auto look = [&]() -> task<bool> {
            for (int i = 0; i != 10; ++i) co_await yield();
            // On a machine that is too slow for this the others are over by now.
            co_return ended != 0 || r.counters().questions == 2;
        };
        const auto [first, second, third, waits] = co_await when_all(
            find("first.example"), find("second.example"), find("third.example"), look());
        EXPECT_FALSE(first);
        EXPECT_FALSE(second);
        EXPECT_TRUE(waits);
        EXPECT_EQ(r.counters().questions, 3U) << third;
    });
}

TEST(resolver, may_be_destroyed_while_somebody_waits) {
    dns_server server([](const dns_query&) -> replies { return {}; });
    block_on([&]() -> task<> {
        auto r = std::make_unique<net::resolver>(*loop::current(), only({server.at()}));
        bool cancelled = false;
        spawn([&]() -> task<> {
            const auto found = co_await as_result(r->resolve("boats.example", 80));
            cancelled = found.error() == std::errc::operation_canceled;
        });
        r.reset();
        co_await sleep_for(1ms);
        EXPECT_TRUE(cancelled);
    });
}

TEST(resolver, ends_with_its_loop_in_the_midst_of_a_question) {
    dns_server server([](const dns_query&) -> replies { return {}; });
    auto o = only({server.at()});
    o.timeout = 1h;
    std::unique_ptr<net::resolver> r;
    block_on([&]() -> task<> {
        r = std::make_unique<net::resolver>(*loop::current(), o);
        for (int i = 0; i != 20; ++i) {
            spawn([&, i]() -> task<> {
                co_await r->resolve("n" + std::to_string(i) + ".example", 80);
            });
        }
        while (server.asked() == 0) co_await sleep_for(1ms);
        r.reset();
    });
}

TEST(resolver, resolves_a_thousand_names_at_once) {
    dns_server server(boats);
    block_on([&]() -> task<> {
        auto o = only({server.at()});
        o.timeout = 5s;
        net::resolver r(*loop::current(), o);
        std::vector<task<addresses>> all;
        const auto one = [&](int i) -> task<addresses> {
            const std::string host = "n" + std::to_string(i) + ".example";
            auto found = co_await r.resolve(host, 80);
            co_return found;
        };
        for (int i = 0; i != 1000; ++i) all.push_back(one(i));
        const auto found = co_await when_all(std::move(all));
        for (const auto& f : found) EXPECT_EQ(f.size(), 2u);
        EXPECT_EQ(r.counters().cached, 2000u);
    });
    EXPECT_GE(server.asked(), 2000u);
    // One that wants to slip in responses must guess the port anew now and then.
    EXPECT_GE(server.ports(), 10u);
}

namespace {

/// Returns the hosts that take the mail of `domain` as text, or the error.
std::string mail_of(const net::resolver_options& o, std::string domain) {
    return block_on([&]() -> task<std::string> {
        net::resolver r(*loop::current(), o);
        auto asking = r.mail_hosts(domain);
        const auto found = co_await as_result(asking);
        if (!found) co_return found.error().code().message();
        std::string text;
        for (const net::mail_host& h : *found) {
            text += std::to_string(h.preference) + ' ' + h.name + ',';
        }
        co_return text;
    });
}

}  // namespace

TEST(resolver, gives_the_hosts_for_mail_by_preference) {
    dns_server server([](const dns_query& q) -> replies {
        dns_reply r(q);
        if (q.name == "boats.example" && q.type == coracle::testing::dns_mx) {
            r.mx(q.name, 20, "b.example").mx(q.name, 10, "a.example").mx(q.name, 20, "c.example");
        } else if (q.name == "null.example") {
            r.mx(q.name, 0, "");
        } else if (q.name == "mixed.example") {
            r.mx(q.name, 0, "").mx(q.name, 5, "a.example");
        } else if (q.name == "nowhere.example") {
            r.code(3);
        } else if (q.name == "broken.example") {
            r.code(2);
        }
        return {r};
    });
    const auto o = only({server.at()});
    EXPECT_EQ(mail_of(o, "Boats.Example"), "10 a.example,20 b.example,20 c.example,");
    EXPECT_EQ(mail_of(o, "null.example"), "0 ,");
    EXPECT_EQ(mail_of(o, "mixed.example"), "5 a.example,") << "RFC 7505: \".\" stands alone";
    EXPECT_EQ(mail_of(o, "plain.example"), "");
    EXPECT_EQ(mail_of(o, "nowhere.example"), "no such host");
    EXPECT_EQ(mail_of(o, "broken.example"), "the name server failed");
    EXPECT_EQ(mail_of(o, "localhost"), "");
    EXPECT_EQ(mail_of(o, "x.invalid"), "no such host");
    EXPECT_EQ(mail_of(o, "192.0.2.1"), "this is no host name");
    EXPECT_EQ(mail_of(o, "a b"), "this is no host name");
    EXPECT_EQ(server.asked("boats.example", coracle::testing::dns_mx), 1u);
    EXPECT_EQ(server.asked("boats.example", dns_a), 0u);
}

TEST(resolver, looks_for_no_mail_in_search_domains_and_caches_what_it_found) {
    dns_server server([](const dns_query& q) -> replies {
        dns_reply r(q);
        if (q.name == "boats") r.mx(q.name, 1, "a.example");
        return {r};
    });
    auto o = only({server.at()});
    o.search = {"example"};
    block_on([&]() -> task<> {
        net::resolver r(*loop::current(), o);
        for (int i = 0; i != 3; ++i) {
            auto asking = r.mail_hosts("boats");
            const auto found = co_await as_result(asking);
            EXPECT_TRUE(found && found->size() == 1);
        }
        EXPECT_EQ(r.counters().hits, 2u);
    });
    EXPECT_EQ(server.asked(), 1u);
}
