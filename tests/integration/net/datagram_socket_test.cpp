// UDP and Unix datagrams over the loopback, on each backend of this machine, and simulated.

#include "support/allocation_count.hpp"
#include "support/backends.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/net/datagram_socket.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <new>
#include <string>
#include <tuple>
#include <vector>

using namespace coracle;
using namespace coracle::testing;
using net::datagram_batch;
using net::datagram_socket;
using std::chrono_literals::operator""s;

namespace {

net::address at(std::string_view text) {
    return net::address::parse(text).value();
}

datagram_socket open(std::string_view where, const datagram_options& o = {}) {
    auto s = datagram_socket::open(*loop::current(), at(where), o);
    if (!s) throw_exception(s.error());
    return *std::move(s);
}

/// The work for a backend of the system and for a simulated one.
task<> echo_in_batches(std::size_t count) {
    auto server = open("127.0.0.1:0");
    auto client = open("127.0.0.1:0");
    datagram_batch out(count, 32);
    for (std::size_t i = 0; i != count; ++i) {
        EXPECT_TRUE(out.add("message " + std::to_string(i), server.local()));
    }
    const std::size_t sent = co_await client.send_many(out);
    EXPECT_EQ(sent, count);
    datagram_batch in(64);
    for (std::size_t seen = 0; seen != count;) {
        const std::size_t n = co_await server.receive_many(in);
        EXPECT_EQ(n, in.size());
        EXPECT_LE(n, 64u);
        for (std::size_t i = 0; i != n; ++i, ++seen) {
            EXPECT_EQ(in[i], "message " + std::to_string(seen));
            EXPECT_EQ(in.peer(i), client.local());
            EXPECT_FALSE(in.info(i).truncated);
        }
        const std::size_t back = co_await server.send_many(in);
        EXPECT_EQ(back, n);
    }
    for (std::size_t i = 0; i != count; ++i) {
        const net::datagram d = co_await client.receive();
        EXPECT_EQ(d.view(), "message " + std::to_string(i));
        EXPECT_EQ(d.from, server.local());
    }
}

task<> cut_and_empty() {
    datagram_options small;
    small.largest = 4;
    auto s = open("127.0.0.1:0", small);
    co_await s.send_to("0123456789", s.local());
    co_await s.send_to("", s.local());
    co_await s.send_to("abcd", s.local());
    const net::datagram cut = co_await s.receive();
    EXPECT_EQ(cut.view(), "0123");
    EXPECT_TRUE(cut.truncated);
    const net::datagram empty = co_await s.receive();
    EXPECT_EQ(empty.view(), "");
    EXPECT_FALSE(empty.truncated);
    EXPECT_EQ(empty.segments().size(), 1u);
    co_await s.send_to("0123456789", s.local());
    datagram_batch both(2, 4);
    std::vector<std::string> seen;
    std::vector<bool> truncated;
    while (seen.size() != 2) {
        const std::size_t n = co_await s.receive_many(both);
        for (std::size_t i = 0; i != n; ++i) {
            seen.emplace_back(both[i]);
            truncated.push_back(both.info(i).truncated);
        }
    }
    EXPECT_EQ(seen[0] + '|' + seen[1], "abcd|0123");
    EXPECT_TRUE(!truncated[0] && truncated[1]);
}

task<> connected_late() {
    auto s = open("127.0.0.1:0");
    auto friendly = open("127.0.0.1:0");
    co_await friendly.send_to("one", s.local());
    co_await friendly.send_to("two", s.local());
    const net::datagram first = co_await s.receive();
    EXPECT_EQ(first.view(), "one");
    EXPECT_TRUE(s.connect(friendly.local()));
    const net::datagram second = co_await s.receive();
    EXPECT_EQ(second.view(), "two");
}

task<> refused_and_usable() {
    // They are opened first, or one of them could get the port that is left.
    auto s = open("127.0.0.1:0");
    auto friendly = open("127.0.0.1:0");
    net::address nobody;
    {
        auto gone = open("127.0.0.1:0");
        nobody = gone.local();
    }
    EXPECT_TRUE(s.connect(nobody));
    EXPECT_EQ(s.peer(), nobody);
    co_await s.send("anybody there?");
    auto none = co_await as_result(s.receive());
    EXPECT_FALSE(none);
    if (!none) {
        EXPECT_EQ(none.error(), std::errc::connection_refused);
        EXPECT_EQ(none.error().subject(), nobody.to_string());
    }
    EXPECT_TRUE(s.connect(friendly.local()));
    co_await s.send("hello");
    const net::datagram d = co_await friendly.receive();
    EXPECT_EQ(d.view(), "hello");
    // It hears its peer only.
    auto stranger = open("127.0.0.1:0");
    co_await stranger.send_to("psst", s.local());
    co_await friendly.reply(d, "yes");
    const net::datagram response = co_await s.receive();
    EXPECT_EQ(response.view(), "yes");
    EXPECT_TRUE(s.disconnect());
    EXPECT_EQ(s.peer().family(), net::family::none);
    auto unaddressed = co_await as_result(s.send("to whom?"));
    EXPECT_FALSE(unaddressed);
    if (!unaddressed) {
        EXPECT_EQ(unaddressed.error(), std::errc::destination_address_required);
    }
}

task<> segments_arrive(std::size_t size, datagram_options from_options,
                       datagram_options to_options) {
    auto to = open("127.0.0.1:0", to_options);
    auto from = open("127.0.0.1:0", from_options);
    std::string text;
    for (std::size_t i = 0; text.size() < size; ++i) text += std::to_string(i) + ' ';
    text.resize(size);
    const std::size_t sent = co_await from.send_segments(text, 1000, to.local());
    EXPECT_EQ(sent, size);
    std::string all;
    std::size_t count = 0;
    while (all.size() < size) {
        const net::datagram d = co_await to.receive();
        if (!to_options.join_segments) {
            EXPECT_LE(d.view().size(), 1000u);
        }
        for (const std::string_view s : d.segments()) {
            EXPECT_TRUE(s.size() == 1000 || all.size() + s.size() == size) << s.size();
            all += s;
            ++count;
        }
    }
    EXPECT_EQ(all, text);
    EXPECT_EQ(count, (size + 999) / 1000);
}

task<> replies_leave_from_where_it_came(std::string any, std::string one, std::string port_of) {
    datagram_options o;
    o.tell_destination = true;
    auto server = open(any, o);
    auto client = open(port_of);
    net::address to = at(one);
    to.set_port(server.local().port());
    // A connected client takes a response from there only.
    EXPECT_TRUE(client.connect(to));
    co_await client.send("where?");
    const net::datagram d = co_await server.receive();
    EXPECT_EQ(d.to, to);
    co_await server.reply(d, "here");
    const net::datagram here = co_await client.receive();
    EXPECT_EQ(here.view(), "here");
    co_await client.send("again?");
    datagram_batch b(2);
    co_await server.receive_many(b);
    EXPECT_EQ(b.info(0).to, to);
    co_await server.send_many(b);
    const net::datagram again = co_await client.receive();
    EXPECT_EQ(again.view(), "again?");
}

class datagram_socket_on : public ::testing::TestWithParam<backend_case> {
protected:
    loop_on on{GetParam()};
};

}  // namespace

TEST_P(datagram_socket_on, echoes_batches_of_every_size) {
    for (const std::size_t count : {1u, 2u, 63u, 64u, 65u, 130u}) {
        on.run([count] { return echo_in_batches(count); });
    }
}

TEST(a_batch_of_datagrams, is_not_larger_than_memory) {
    EXPECT_THROW(net::datagram_batch(2, SIZE_MAX / 2 + 2), std::bad_alloc);
}

TEST_P(datagram_socket_on, takes_no_batch_for_nothing) {
    const auto f = []() -> task<> {
        auto s = open("127.0.0.1:0");
        datagram_batch none(0);
        EXPECT_EQ(co_await s.receive_many(none), 0u);
        EXPECT_EQ(co_await s.send_many(none), 0u);
        EXPECT_FALSE(none.add("x", s.local()));
        datagram_batch unfilled(3, 4);
        EXPECT_EQ(co_await s.send_many(unfilled), 0u);
        EXPECT_FALSE(unfilled.add("12345", s.local()));
        EXPECT_TRUE(unfilled.add("1234", s.local()));
    };
    on.run(f);
}

TEST_P(datagram_socket_on, cuts_what_is_too_long_and_takes_what_is_empty) {
    on.run([] { return cut_and_empty(); });
}

TEST_P(datagram_socket_on, names_the_peer_that_refuses_and_stays_usable) {
    on.run([] { return refused_and_usable(); });
}

TEST_P(datagram_socket_on, receives_what_came_before_it_was_connected) {
    on.run([] { return connected_late(); });
}

TEST_P(datagram_socket_on, sends_segments_in_the_kernel_or_by_itself) {
    for (const bool cut : {false, true}) {
        for (const bool join : {false, true}) {
            datagram_options from;
            from.cut_segments = cut;
            datagram_options to;
            to.join_segments = join;
            to.receive_buffer = 1 << 20;
            for (const std::size_t size : {1u, 1000u, 1001u, 64'000u, 100'001u}) {
                on.run([=] { return segments_arrive(size, from, to); });
            }
        }
    }
}

TEST_P(datagram_socket_on, replies_from_the_address_that_was_asked) {
    on.run(
        [] { return replies_leave_from_where_it_came("0.0.0.0:0", "127.0.0.7:0", "127.0.0.1:0"); });
    on.run([] { return replies_leave_from_where_it_came("[::]:0", "[::1]:0", "[::1]:0"); });
}

TEST_P(datagram_socket_on, tells_of_both_families_on_one_socket) {
    const auto f = []() -> task<> {
        datagram_options o;
        o.tell_destination = o.tell_hops = o.tell_traffic_class = o.tell_time = true;
        auto server = open("[::]:0", o);
        datagram_options marked;
        marked.traffic_class = 0x2e << 2 | 1;
        marked.hops = 17;
        auto v4 = open("127.0.0.1:0", marked);
        auto v6 = open("[::1]:0", marked);
        net::address to = at("127.0.0.1:0");
        to.set_port(server.local().port());
        co_await v4.send_to("four", to);
        const net::datagram four = co_await server.receive();
        EXPECT_EQ(four.hops, 17);
        EXPECT_EQ(four.traffic_class, 0x2e << 2 | 1);
        EXPECT_EQ(four.ecn(), 1);
        EXPECT_GT(four.time_ns, std::int64_t{1'600'000'000} * 1'000'000'000);
        EXPECT_NE(four.interface, 0u);
        co_await server.reply(four, "back");
        const net::datagram back = co_await v4.receive();
        EXPECT_EQ(back.from, to);
        to = at("[::1]:0");
        to.set_port(server.local().port());
        co_await v6.send_to("six", to);
        const net::datagram six = co_await server.receive();
        EXPECT_EQ(six.to, to);
        EXPECT_EQ(six.hops, 17);
        EXPECT_EQ(six.traffic_class, 0x2e << 2 | 1);
    };
    on.run(f);
}

TEST_P(datagram_socket_on, sends_to_both_families_as_its_options_say) {
    const auto f = []() -> task<> {
        datagram_options o;
        o.tell_hops = o.tell_traffic_class = true;
        auto server = open("127.0.0.1:0", o);
        datagram_options marked;
        marked.traffic_class = 0x2e << 2;
        marked.hops = 17;
        auto both = open("[::]:0", marked);
        net::address to = at("[::ffff:127.0.0.1]:0");
        to.set_port(server.local().port());
        co_await both.send_to("four", to);
        const net::datagram four = co_await server.receive();
        EXPECT_EQ(four.hops, 17);
        EXPECT_EQ(four.traffic_class, 0x2e << 2);
        const unsigned lo = net::interface_index("lo").value_or(0);
        auto member = open("0.0.0.0:0", o);
        EXPECT_TRUE(both.multicast_hops(3));
        EXPECT_TRUE(both.multicast_loop(true));
        EXPECT_TRUE(both.multicast_interface(lo));
        auto joined = member.join(at("239.1.2.3:0"), lo);
        net::address group = at("[::ffff:239.1.2.3]:0");
        group.set_port(member.local().port());
        auto sent = co_await as_result(both.send_to("to all", group));
        if (!joined || !sent) {
            std::puts("[  SKIPPED ] no groups of IPv4 here");
            co_return;
        }
        const net::datagram all = co_await member.receive();
        EXPECT_EQ(all.hops, 3);
    };
    on.run(f);
}

TEST_P(datagram_socket_on, refuses_options_that_are_out_of_range) {
    const auto f = []() -> task<> {
        for (const char* const where : {"127.0.0.1:0", "[::1]:0"}) {
            for (const auto& [hops, traffic_class, name] :
                 {std::tuple(-1, -1, "hops"), std::tuple(256, -1, "hops"),
                  std::tuple(0, -2, "traffic_class"), std::tuple(0, 256, "traffic_class")}) {
                datagram_options o;
                o.hops = hops;
                o.traffic_class = traffic_class;
                const auto s = net::datagram_socket::open(*loop::current(), at(where), o);
                EXPECT_FALSE(s) << where << name;
                if (s) continue;
                EXPECT_EQ(s.error(), std::errc::invalid_argument);
                EXPECT_EQ(s.error().operation(), name);
            }
            auto s = open(where);
            EXPECT_FALSE(s.multicast_hops(-1));
            EXPECT_FALSE(s.multicast_hops(256));
            EXPECT_TRUE(s.multicast_hops(255));
        }
        co_return;
    };
    on.run(f);
}

TEST_P(datagram_socket_on, says_size_and_limit_of_what_is_too_large) {
    const auto f = []() -> task<> {
        auto s = open("127.0.0.1:0");
        const std::string fits(65'507, 'x');
        EXPECT_EQ(co_await s.send_to(fits, s.local()), fits.size());
        const std::string large(65'508, 'x');
        auto r = co_await as_result(s.send_to(large, s.local()));
        EXPECT_FALSE(r);
        if (r) co_return;
        EXPECT_EQ(r.error(), std::errc::message_size);
        EXPECT_EQ(r.error().subject(), s.local().to_string() + ": 65508 bytes, the limit is 65507");
        datagram_options o;
        o.path_mtu = path_mtu_mode::discover;
        auto strict = open("127.0.0.1:0", o);
        EXPECT_EQ(strict.path_mtu().error(), std::errc::not_connected);
        EXPECT_TRUE(strict.connect(s.local()));
        const auto mtu = strict.path_mtu();
        EXPECT_TRUE(mtu && *mtu >= 1280);
    };
    on.run(f);
}

TEST_P(datagram_socket_on, goes_on_behind_a_datagram_that_is_refused) {
    const auto f = []() -> task<> {
        auto s = open("127.0.0.1:0");
        datagram_batch b(5, 70'000);
        const std::string large(65'508, 'x');
        EXPECT_TRUE(b.add(large, s.local()));
        auto all = co_await as_result(s.send_many(b));
        EXPECT_FALSE(all);
        if (!all) {
            EXPECT_EQ(all.error(), std::errc::message_size);
        }
        EXPECT_TRUE(b.add("one", s.local()));
        EXPECT_TRUE(b.add("to six", at("[::1]:9")));
        EXPECT_TRUE(b.add("two", s.local()));
        EXPECT_EQ(co_await s.send_many(b), 2u);
        EXPECT_EQ(b.failure(0), EMSGSIZE);
        EXPECT_EQ(b.failure(1), 0);
        EXPECT_NE(b.failure(2), 0);
        EXPECT_EQ(b.failure(3), 0);
        const net::datagram one = co_await s.receive();
        const net::datagram two = co_await s.receive();
        EXPECT_EQ(one.view(), "one");
        EXPECT_EQ(two.view(), "two");
    };
    on.run(f);
}

TEST_P(datagram_socket_on, counts_what_the_kernel_dropped) {
    const auto f = []() -> task<> {
        datagram_options o;
        o.receive_buffer = 4096;
        auto s = open("127.0.0.1:0", o);
        EXPECT_EQ(s.dropped().value(), 0u);
        const std::string text(1000, 'x');
        datagram_batch b(64, 1000);
        while (b.add(text, s.local())) {
        }
        EXPECT_EQ(co_await s.send_many(b), 64u);
        std::size_t came = 0;
        for (datagram_batch in; came + s.dropped().value() != 64;) {
            came += co_await s.receive_many(in);
        }
        EXPECT_GT(came, 0u);
        EXPECT_GT(s.dropped().value(), 0u);
        EXPECT_GT(s.receive_buffer().value(), 0u);
    };
    on.run(f);
}

TEST_P(datagram_socket_on, joins_groups_and_leaves_them) {
    const auto f = []() -> task<> {
        const unsigned lo = net::interface_index("lo").value_or(0);
        EXPECT_NE(lo, 0u);
        EXPECT_EQ(net::interface_index("nosuchdevice0").error(), std::errc::no_such_device);
        for (const std::string_view host : {"239.1.2.3:0", "[ff01::1234]:0"}) {
            net::address group = at(host);
            datagram_options o;
            o.reuse_address = o.tell_destination = true;
            auto member = open(group.family() == net::family::v4 ? "0.0.0.0:0" : "[::]:0", o);
            auto joined = member.join(group, lo);
            auto sender = open(group.family() == net::family::v4 ? "127.0.0.1:0" : "[::1]:0");
            EXPECT_TRUE(sender.multicast_interface(lo));
            EXPECT_TRUE(sender.multicast_loop(true));
            EXPECT_TRUE(sender.multicast_hops(0));
            group.set_port(member.local().port());
            auto sent = co_await as_result(sender.send_to("to all", group));
            if (!joined || !sent) {
                const error& why = joined ? sent.error() : joined.error();
                std::printf("[  SKIPPED ] %s\n", why.message().c_str());
                continue;
            }
            const net::datagram d = co_await member.receive();
            EXPECT_EQ(d.view(), "to all");
            EXPECT_EQ(d.to, group);
            EXPECT_EQ(d.interface, lo);
            // A response does not leave from the group.
            co_await member.reply(d, "here");
            const net::datagram here = co_await sender.receive();
            EXPECT_EQ(here.view(), "here");
            EXPECT_TRUE(member.leave(group, lo));
            EXPECT_EQ(member.leave(group, lo).error().subject(), group.host());
            EXPECT_TRUE(member.join(group, sender.local(), lo));
            co_await sender.send_to("from one", group);
            const net::datagram from_one = co_await member.receive();
            EXPECT_EQ(from_one.view(), "from one");
            EXPECT_TRUE(member.leave(group, sender.local(), lo));
        }
    };
    on.run(f);
}

TEST_P(datagram_socket_on, shares_a_port_and_refuses_what_may_not_be) {
    const auto f = []() -> task<> {
        datagram_options shared;
        shared.reuse_port = true;
        auto a = open("127.0.0.1:0", shared);
        auto b = open(a.local().to_string(), shared);
        auto c = datagram_socket::open(*loop::current(), a.local());
        EXPECT_EQ(c.error(), std::errc::address_in_use);
        EXPECT_EQ(c.error().subject(), a.local().to_string());
        datagram_options nowhere;
        nowhere.device = "nosuchdevice0";
        auto d = datagram_socket::open(*loop::current(), at("127.0.0.1:0"), nowhere);
        EXPECT_EQ(d.error().operation(), "device");
        auto quiet = open("0.0.0.0:0");
        auto r = co_await as_result(quiet.send_to("all", at("255.255.255.255:9")));
        EXPECT_EQ(r.error(), std::errc::permission_denied);
    };
    on.run(f);
}

TEST_P(datagram_socket_on, moves_unix_datagrams_of_paths_abstract_and_unnamed) {
    const auto f = []() -> task<> {
        const temporary_directory dir;
        const std::string path = "unix:" + dir.path().string() + "/socket";
        {
            auto stale = open(path);
        }
        auto named = open(path);
        auto used = datagram_socket::open(*loop::current(), at(path));
        EXPECT_EQ(used.error(), std::errc::address_in_use);
        const std::string name = "unix:@coracle-test-" + std::to_string(::getpid());
        auto abstract = open(name);
        auto unnamed = datagram_socket::open(*loop::current(), {}).value();
        co_await abstract.send_to("hello", named.local());
        const net::datagram d = co_await named.receive();
        EXPECT_EQ(d.from.to_string(), name);
        co_await named.reply(d, "and you");
        const net::datagram back = co_await abstract.receive();
        EXPECT_EQ(back.from.to_string(), path);
        co_await unnamed.send_to("who am I", named.local());
        const net::datagram from_nobody = co_await named.receive();
        EXPECT_EQ(from_nobody.view(), "who am I");
        EXPECT_EQ(from_nobody.from.family(), net::family::none);
        auto lost = co_await as_result(unnamed.send_to("x", at("unix:/no/such/socket")));
        EXPECT_EQ(lost.error(), std::errc::no_such_file_or_directory);
    };
    on.run(f);
}

TEST_P(datagram_socket_on, tells_who_sent_a_unix_datagram) {
    const auto f = []() -> task<> {
        datagram_options o;
        o.tell_credentials = true;
        auto s = open("unix:@coracle-credentials-" + std::to_string(::getpid()), o);
        co_await s.send_to("me", s.local());
        const net::datagram d = co_await s.receive();
        EXPECT_EQ(d.sender, (process_credentials{::getpid(), ::geteuid(), ::getegid()}));
    };
    on.run(f);
}

TEST_P(datagram_socket_on, allocates_nothing_once_it_runs) {
    const auto f = []() -> task<> {
        auto s = open("127.0.0.1:0");
        datagram_batch b(64, 64);
        for (int i = 0; i != 64; ++i) EXPECT_TRUE(b.add("x", s.local()));
        std::size_t before = 0;
        for (int round = 0; round != 10; ++round) {
            if (round == 5) before = allocations();
            co_await s.send_many(b);
            for (std::size_t n = 0; n != 64;) n += co_await s.receive_many(b);
            const net::address to = s.local();
            co_await s.send_to("single", to);
            const net::datagram d = co_await s.receive();
            while (b.size() != 64) EXPECT_TRUE(b.add("x", to));
        }
        EXPECT_EQ(allocations() - before, 0u);
    };
    on.run(f);
}

TEST_P(datagram_socket_on, leaves_none_behind_when_a_batch_is_larger_than_a_call) {
    const auto f = []() -> task<> {
        auto s = open("127.0.0.1:0");
        datagram_batch b(100, 16);
        for (int i = 0; i != 100; ++i) EXPECT_TRUE(b.add("x", s.local()));
        co_await s.send_many(b);
        datagram_batch in(100, 16);
        for (std::size_t came = 0; came != 100;) came += co_await s.receive_many(in);
    };
    on.run(f);
}

TEST_P(datagram_socket_on, tells_nothing_of_one_datagram_that_another_was_told_of) {
    const auto f = []() -> task<> {
        datagram_options tell;
        tell.tell_time = true;
        tell.tell_hops = true;
        auto told = open("127.0.0.1:0", tell);
        auto untold = open("127.0.0.1:0");
        datagram_batch in(1, 16);
        co_await told.send_to("x", told.local());
        co_await told.receive_many(in);
        EXPECT_NE(in.info(0).hops, -1);
        co_await untold.send_to("y", untold.local());
        co_await untold.receive_many(in);
        EXPECT_EQ(in.info(0).hops, -1);
        EXPECT_EQ(in.info(0).time_ns, 0);
    };
    on.run(f);
}

TEST_P(datagram_socket_on, says_that_the_queue_of_another_unix_socket_is_full) {
    const auto f = []() -> task<> {
        const std::string name = "unix:@coracle-full-" + std::to_string(::getpid());
        auto receiver = open(name);
        auto sender = open(name + "-sender");
        const net::address to = receiver.local();
        std::size_t sent = 0;
        for (;;) {
            auto r = co_await as_result(sender.send_to("x", to));
            if (!r) {
                EXPECT_EQ(r.error(), std::errc::resource_unavailable_try_again);
                break;
            }
            ++sent;
        }
        for (; sent != 0; --sent) static_cast<void>(co_await receiver.receive());
        co_await sender.send_to("again", to);
    };
    on.run(f);
}

TEST_P(datagram_socket_on, moves_64_datagrams_in_one_system_call) {
    const auto f = []() -> task<> {
        auto s = open("127.0.0.1:0");
        struct {
            const tally& of = loop::current()->backend().counters().system_calls;
            std::uint64_t get() const { return of; }
        } const calls;
        datagram_batch b(65, 64);
        for (int i = 0; i != 64; ++i) EXPECT_TRUE(b.add("x", s.local()));
        std::uint64_t before = calls.get();
        co_await s.send_many(b);
        EXPECT_EQ(calls.get() - before, 1u);
        datagram_batch in(65, 64);
        before = calls.get();
        // The backend decides whether it had to wait first.
        EXPECT_EQ(co_await s.receive_many(in), 64u);
        EXPECT_LE(calls.get() - before, 2u);
        EXPECT_TRUE(b.add("x", s.local()));
        before = calls.get();
        co_await s.send_many(b);
        EXPECT_EQ(calls.get() - before, 2u);
        // Segments are one call where the kernel cuts them, and one each where we do.
        constexpr int udp_segment = 103;
        const int probe = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        const int size = 100;
        const bool cuts = ::setsockopt(probe, IPPROTO_UDP, udp_segment, &size, sizeof size) == 0;
        ::close(probe);
        const std::string text(6'400, 'x');
        before = calls.get();
        co_await s.send_segments(text, 100, s.local());
        EXPECT_EQ(calls.get() - before, cuts ? 1u : 65u);
    };
    on.run(f);
}

TEST_P(datagram_socket_on, loses_nothing_when_a_receive_is_cancelled) {
    const auto f = []() -> task<> {
        auto s = open("127.0.0.1:0");
        datagram_batch b;
        for (int i = 0; i != 20; ++i) {
            auto one = co_await as_result(with_timeout(std::chrono::microseconds(i), s.receive()));
            EXPECT_EQ(one.error(), std::errc::timed_out);
            auto many =
                co_await as_result(with_timeout(std::chrono::microseconds(i), s.receive_many(b)));
            EXPECT_EQ(many.error(), std::errc::timed_out);
        }
        co_await s.send_to("still here", s.local());
        const net::datagram d = co_await s.receive();
        EXPECT_EQ(d.view(), "still here");
    };
    on.run(f);
}

TEST_P(datagram_socket_on, lets_a_receive_be_cancelled_that_had_no_room_and_waits_for_its_turn) {
    const auto f = []() -> task<> {
        auto s = open("127.0.0.1:0");
        datagram_batch none(0);
        const auto receive_none = [&]() -> task<> {
            for (;;) co_await s.receive_many(none);
        };
        const auto first = co_await when_any(receive_none(), yield());
        EXPECT_EQ(first.index, 1u);
    };
    on.run(f);
}

INSTANTIATE_TEST_SUITE_P(each_backend, datagram_socket_on, ::testing::ValuesIn(each_backend()),
                         [](const auto& case_of) { return case_of.param.name; });

TEST(simulated_datagram_socket, behaves_like_one_of_the_system) {
    for (std::uint64_t seed = 1; seed != 20; ++seed) {
        simulation_options o;
        o.seed = seed;
        simulation(o).run([] { return echo_in_batches(65); });
        simulation(o).run([] { return cut_and_empty(); });
        simulation(o).run([] { return refused_and_usable(); });
        simulation(o).run([] { return segments_arrive(10'001, {}, {}); });
        simulation(o).run([] {
            return replies_leave_from_where_it_came("0.0.0.0:0", "127.0.0.1:0", "127.0.0.1:0");
        });
    }
}
