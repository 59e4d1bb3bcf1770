// The contract of every backend, whatever its means.

#include "support/backends.hpp"
#include "support/content.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/runtime/datagram_operation.hpp>
#include <coracle/runtime/task_group.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <latch>
#include <optional>
#include <thread>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

class backend_contract : public ::testing::TestWithParam<backend_case> {
protected:
    loop_on on{GetParam()};
};

bool is(const error& e, int number) {
    return e.code() == std::error_code(number, std::generic_category());
}

struct gone_flag : hangup_watch {
    gone_flag() noexcept
        : hangup_watch{[](hangup_watch& w) noexcept { ++static_cast<gone_flag&>(w).calls; }} {}
    int calls = 0;
};

/// Many turns, but ended by the first in which `f` is true.
template <class F>
task<> until(const F& f) {
    for (int i = 0; i != 20'000 && !f(); ++i) co_await yield();
    EXPECT_TRUE(f());
}

}  // namespace

/// Ends that nobody is told of keep their descriptors: since 6.14 one call of a ring that puts its
/// work off tells of 20.
TEST_P(backend_contract, tells_of_all_ends_in_one_turn) {
    constexpr std::size_t count = 100;
    const auto f = [&]() -> task<> {
        std::vector<connection_pair> all;
        for (std::size_t i = 0; i != count; ++i) all.push_back(co_await connected());
        std::size_t ended = 0;
        const auto wait_for_ends = [&](task_group& g) -> task<> {
            for (auto& both : all) {
                g.spawn([&ended, &s = *both.server]() -> task<> {
                    static_cast<void>(co_await as_result(s.receive()));
                    ++ended;
                });
            }
            co_await turns(3);
            for (auto& both : all) both.client->close();
            // The turn in which they close, and the next one.
            co_await turns(2);
            EXPECT_EQ(ended, count);
        };
        co_await with_task_group(wait_for_ends);
    };
    on.run(f);
}

TEST_P(backend_contract, bytes_come_in_order_in_both_directions) {
    const auto f = [&]() -> task<> {
        auto both = co_await connected();
        for (int i = 0; i != 300; ++i) {
            const std::string text = pattern(static_cast<std::size_t>(i * 37 + 1));
            co_await both.client->send(text);
            const std::string there = co_await read_exactly(*both.server, text.size());
            EXPECT_EQ(there, text);
            co_await both.server->send(there);
            const std::string back = co_await read_exactly(*both.client, text.size());
            EXPECT_EQ(back, text);
        }
    };
    on.run(f);
}

TEST_P(backend_contract, a_read_takes_no_more_than_it_has_room_for) {
    const auto f = [&]() -> task<> {
        auto both = co_await connected();
        const std::string text = pattern(1000);
        const auto reader = [&]() -> task<std::string> {
            std::string all;
            while (all.size() != text.size()) {
                const buffer b = co_await both.server->receive(64);
                EXPECT_LE(b.size(), 64u);
                all += b.view();
            }
            co_return all;
        };
        const auto writer = [&]() -> task<> {
            co_await turns(5);
            co_await both.client->send(text);
        };
        auto [all, nothing] = co_await when_all(reader(), writer());
        EXPECT_EQ(all, text);
    };
    on.run(f);
}

TEST_P(backend_contract, a_read_adds_to_what_the_caller_has) {
    const auto f = [&]() -> task<> {
        auto both = co_await connected();
        buffer b(256);
        b.append("before ");
        const auto writer = [&]() -> task<> {
            co_await turns(5);
            co_await both.client->send("behind");
        };
        auto [whole, nothing] =
            co_await when_all(both.server->receive_into(std::move(b)), writer());
        EXPECT_EQ(whole.view(), "before behind");
    };
    on.run(f);
}

TEST_P(backend_contract, ordinary_and_bulk_reads_take_turns) {
    const auto f = [&]() -> task<> {
        auto both = co_await connected();
        const std::string text = pattern(3'000'000);
        const auto reader = [&]() -> task<std::string> {
            std::string all;
            for (std::size_t i = 0; all.size() != text.size(); ++i) {
                const std::size_t most = i % 3 == 0 ? 65536 : 16384;
                const buffer b = co_await both.server->receive(most);
                all += b.view();
                if (i % 5 == 0) co_await turns(3);
            }
            co_return all;
        };
        auto [all, sent] = co_await when_all(reader(), both.client->send(text));
        EXPECT_TRUE(all == text);
    };
    on.run(f);
}

TEST_P(backend_contract, the_end_comes_behind_the_bytes_and_stays) {
    const auto f = [&]() -> task<> {
        auto both = co_await connected();
        co_await both.client->send("last words");
        both.client->close();
        co_await turns(5);
        const std::string words = co_await read_exactly(*both.server, 10);
        EXPECT_EQ(words, "last words");
        for (int i = 0; i != 2; ++i) {
            auto end = co_await as_result(both.server->receive());
            EXPECT_FALSE(end);
            EXPECT_TRUE(end.error() == errc::end_of_stream) << end.error();
        }
    };
    on.run(f);
}

TEST_P(backend_contract, a_reset_is_an_error_for_who_reads) {
    const auto f = [&]() -> task<> {
        auto both = co_await connected();
        const auto resets = [&]() -> task<> {
            co_await turns(5);
            both.client->close(true);
        };
        auto [read, nothing] = co_await when_all(as_result(both.server->receive()), resets());
        EXPECT_FALSE(read);
        EXPECT_TRUE(is(read.error(), ECONNRESET)) << read.error();
    };
    on.run(f);
}

TEST_P(backend_contract, a_half_closed_stream_still_sends) {
    const auto f = [&]() -> task<> {
        auto both = co_await connected();
        both.client->shutdown_output();
        auto end = co_await as_result(both.server->receive());
        EXPECT_FALSE(end);
        co_await both.server->send("still here");
        const std::string response = co_await read_exactly(*both.client, 10);
        EXPECT_EQ(response, "still here");
    };
    on.run(f);
}

TEST_P(backend_contract, a_large_send_waits_for_a_slow_reader) {
    const auto f = [&]() -> task<> {
        auto both = co_await connected();
        const std::string text = pattern(8'000'000);
        const auto reader = [&]() -> task<std::string> {
            std::string all;
            while (all.size() != text.size()) {
                const buffer b = co_await both.server->receive();
                all += b.view();
                co_await yield();
            }
            co_return all;
        };
        auto [all, sent] = co_await when_all(reader(), both.client->send(text));
        EXPECT_EQ(sent, text.size());
        EXPECT_TRUE(all == text);
    };
    on.run(f);
}

TEST_P(backend_contract, a_large_file_waits_for_a_slow_reader) {
    const temporary_directory directory;
    const std::string text = pattern(9'000'000);
    const int file = ::open(directory.write("file", text).c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_GE(file, 0);
    const auto f = [&]() -> task<> {
        auto both = co_await connected();
        const auto reader = [&]() -> task<std::string> {
            std::string all;
            while (all.size() != text.size() - 10) {
                const buffer b = co_await both.server->receive(65536);
                all += b.view();
                if (all.size() % 7 == 0) co_await yield();
            }
            co_return all;
        };
        auto [all, sent] =
            co_await when_all(reader(), both.client->send_file(file, 10, text.size() - 10));
        EXPECT_TRUE(all == text.substr(10));
        auto more = co_await as_result(both.client->send_file(file, text.size() - 1, 2));
        EXPECT_FALSE(more);
        EXPECT_TRUE(is(more.error(), ENODATA)) << more.error();
    };
    on.run(f);
    ::close(file);
}

TEST_P(backend_contract, who_does_not_read_stops_who_sends) {
    const auto f = [&]() -> task<> {
        auto both = co_await connected();
        const std::string text = pattern(64 * 1024 * 1024);
        net::send sending = both.client->send(text);
        const std::int64_t& sent = sending.progress();
        const auto reader = [&]() -> task<> {
            // One read, so that the backend has begun to receive, and then none for long.
            std::size_t read = (co_await both.server->receive()).size();
            std::int64_t before = -1;
            int quiet = 0;
            while (quiet != 500) {
                quiet = before == sent ? quiet + 1 : 0;
                before = sent;
                co_await yield();
            }
            // The bytes under way are in the kernel: in the buffers of both sockets, which it
            // bounds.
            EXPECT_LT(sent, 32 * 1024 * 1024);
            while (read != text.size()) {
                const buffer b = co_await both.server->receive();
                EXPECT_TRUE(b.view() == std::string_view(text).substr(read, b.size()));
                read += b.size();
            }
        };
        co_await when_all(as_result(sending), reader());
    };
    on.run(f);
}

TEST_P(backend_contract, a_cancelled_read_loses_nothing) {
    const auto f = [&]() -> task<> {
        auto both = co_await connected();
        for (int waited = 0; waited != 6; ++waited) {
            auto r = co_await as_result(with_timeout(1us, both.server->receive()));
            EXPECT_FALSE(r);
            co_await turns(waited);
            co_await both.client->send("some bytes");
            co_await turns(waited % 3);
            const std::string bytes = co_await read_exactly(*both.server, 10);
            EXPECT_EQ(bytes, "some bytes");
        }
        // The bytes are on their way in the turn in which the wait ends.
        for (int i = 0; i != 100; ++i) {
            co_await both.client->send("0123456789");
            auto r = co_await as_result(with_timeout(0us, both.server->receive()));
            std::string bytes(r ? r->view() : std::string_view());
            if (bytes.size() != 10) {
                bytes += co_await read_exactly(*both.server, 10 - bytes.size());
            }
            EXPECT_EQ(bytes, "0123456789");
        }
    };
    on.run(f);
}

TEST_P(backend_contract, a_cancelled_accept_loses_nothing) {
    const auto f = [&]() -> task<> {
        auto l = net::listener::open(*loop::current(), loopback());
        for (int i = 0; i != 4; ++i) {
            auto r = co_await as_result(with_timeout(1us, l->accept()));
            EXPECT_FALSE(r);
            auto both = co_await connect_to(*l);
            co_await both.client->send("hello");
            const std::string text = co_await read_exactly(*both.server, 5);
            EXPECT_EQ(text, "hello");
        }
    };
    on.run(f);
}

TEST_P(backend_contract, a_cancelled_send_leaves_the_stream_fit_to_be_closed) {
    const auto f = [&]() -> task<> {
        const std::string text = pattern(16 * 1024 * 1024);
        for (int waited = 0; waited != 6; ++waited) {
            auto both = co_await connected();
            const auto waits = [&]() -> task<> { co_await turns(waited); };
            co_await when_any(both.client->send(text), waits());
            both.client->close(true);
            co_await turns(waited % 2);
        }
    };
    on.run(f);
}

TEST_P(backend_contract, a_number_that_is_used_again_gets_no_strangers_bytes) {
    const auto f = [&]() -> task<> {
        auto l = net::listener::open(*loop::current(), loopback());
        auto old = co_await connect_to(*l);
        for (int i = 0; i != 50; ++i) {
            // A receive is armed, or about to be, when its socket is closed.
            auto r = co_await as_result(with_timeout(1us, old.server->receive()));
            EXPECT_FALSE(r);
            if (i % 2 == 0) co_await old.client->send("not for you");
            old.server->close(i % 3 == 0);
            old.client->close();
            auto fresh = co_await connect_to(*l);
            const std::string mine = "message " + std::to_string(i);
            co_await fresh.client->send(mine);
            const std::string got = co_await read_exactly(*fresh.server, mine.size());
            EXPECT_EQ(got, mine);
            old = std::move(fresh);
        }
    };
    on.run(f);
}

TEST_P(backend_contract, a_closed_listener_is_closed_at_once) {
    const auto f = [&]() -> task<> {
        auto l = net::listener::open(*loop::current(), loopback());
        auto r = co_await as_result(with_timeout(1us, l->accept()));
        EXPECT_FALSE(r);
        const net::address at = l->local();
        l->close();
        auto refused = co_await as_result(net::connect(at));
        EXPECT_FALSE(refused);
        EXPECT_TRUE(is(refused.error(), ECONNREFUSED)) << refused.error();
    };
    on.run(f);
}

TEST_P(backend_contract, a_watch_hears_that_the_peer_is_gone) {
    const auto f = [&]() -> task<> {
        for (const bool reset : {false, true}) {
            for (const bool reads_first : {false, true}) {
                auto both = co_await connected();
                if (reads_first) {
                    co_await both.client->send("one");
                    const std::string one = co_await read_exactly(*both.server, 3);
                    co_await turns(3);
                    // More than one buffer that nobody reads.
                    co_await both.client->send(pattern(100'000));
                    co_await turns(5);
                }
                gone_flag gone;
                EXPECT_TRUE(both.server->watch_hangup(&gone));
                co_await turns(10);
                EXPECT_EQ(gone.calls, 0);
                both.client->close(reset);
                co_await until([&] { return gone.calls != 0; });
                co_await turns(5);
                EXPECT_EQ(gone.calls, 1);
                EXPECT_FALSE(both.server->watch_hangup(&gone)) << "it knows already";
            }
        }
    };
    on.run(f);
}

TEST_P(backend_contract, a_watch_may_pass_over_the_end_and_wait_for_a_reset) {
    const auto f = [&]() -> task<> {
        for (const bool ends_before : {false, true}) {
            auto both = co_await connected();
            gone_flag gone;
            gone.ignores_end = true;
            if (ends_before) both.client->shutdown_output();
            co_await turns(20);
            EXPECT_TRUE(both.server->watch_hangup(&gone));
            if (!ends_before) both.client->shutdown_output();
            co_await turns(50);
            EXPECT_EQ(gone.calls, 0);
            EXPECT_EQ(both.server->try_send("still"), 5);
            const std::string still = co_await read_exactly(*both.client, 5);
            EXPECT_EQ(still, "still");
            both.client->close(true);
            co_await until([&] { return gone.calls != 0; });
            co_await turns(5);
            EXPECT_EQ(gone.calls, 1);
            EXPECT_FALSE(both.server->watch_hangup(&gone)) << "it knows already";
        }
    };
    on.run(f);
}

TEST_P(backend_contract, a_watch_hears_the_end_behind_one_that_passes_over_it) {
    const auto f = [&]() -> task<> {
        for (const bool ignores_first : {true, false}) {
            auto both = co_await connected();
            gone_flag gone;
            gone.ignores_end = ignores_first;
            EXPECT_TRUE(both.server->watch_hangup(&gone));
            co_await turns(3);
            both.server->watch_hangup(nullptr);
            gone.ignores_end = !ignores_first;
            EXPECT_TRUE(both.server->watch_hangup(&gone));
            co_await turns(3);
            both.client->shutdown_output();
            if (ignores_first) {
                co_await until([&] { return gone.calls != 0; });
            } else {
                co_await turns(30);
                EXPECT_EQ(gone.calls, 0);
            }
        }
    };
    on.run(f);
}

TEST_P(backend_contract, a_watch_that_was_taken_back_is_not_called) {
    const auto f = [&]() -> task<> {
        auto both = co_await connected();
        gone_flag gone;
        EXPECT_TRUE(both.server->watch_hangup(&gone));
        co_await turns(5);
        both.server->watch_hangup(nullptr);
        both.client->close();
        co_await turns(50);
        EXPECT_EQ(gone.calls, 0);
    };
    on.run(f);
}

TEST_P(backend_contract, an_end_that_came_with_the_last_bytes_is_known_with_them) {
    const auto f = [&]() -> task<> {
        for (int i = 0; i != 20; ++i) {
            auto both = co_await connected();
            gone_flag gone;
            bool could_watch = true;
            const auto reader = [&]() -> task<> {
                const buffer b = co_await both.server->receive();
                could_watch = both.server->watch_hangup(&gone);
            };
            const auto writer = [&]() -> task<> {
                co_await turns(5);
                EXPECT_EQ(both.client->try_send("bytes"), 5);
                both.client->shutdown_output();
            };
            co_await when_all(reader(), writer());
            EXPECT_FALSE(could_watch);
        }
    };
    on.run(f);
}

TEST_P(backend_contract, hundreds_that_send_at_once_are_all_read) {
    const auto f = [&]() -> task<> {
        auto l = net::listener::open(*loop::current(), loopback());
        std::vector<connection_pair> all;
        for (int i = 0; i != 300; ++i) all.push_back(co_await connect_to(*l));
        const std::string text = pattern(40'000);
        for (int round = 0; round != 2; ++round) {
            std::vector<task<>> reads;
            const auto read = [&](net::socket& s) -> task<> {
                const std::string got = co_await read_exactly(s, text.size());
                EXPECT_TRUE(got == text);
            };
            for (auto& pair : all) reads.push_back(read(*pair.server));
            const auto writes = [&]() -> task<> {
                co_await turns(3);
                for (auto& pair : all) EXPECT_EQ(pair.client->try_send(text), 40'000);
            };
            reads.push_back(writes());
            co_await when_all(std::move(reads));
        }
    };
    on.run(f);
}

TEST_P(backend_contract, an_accept_storm_is_accepted_whole) {
    const auto f = [&]() -> task<> {
        auto l = net::listener::open(*loop::current(), loopback());
        std::vector<task<>> both;
        int accepted = 0;
        const auto connects = [&]() -> task<> {
            auto s = co_await net::connect(l->local());
            co_await s->send("x");
            auto r = co_await as_result(s->receive());
        };
        const auto accepts = [&]() -> task<> {
            for (; accepted != 400; ++accepted) {
                auto s = co_await l->accept();
                EXPECT_EQ(s->peer().to_string().substr(0, 10), "127.0.0.1:");
            }
        };
        for (int i = 0; i != 400; ++i) both.push_back(connects());
        both.push_back(accepts());
        co_await when_all(std::move(both));
        EXPECT_EQ(accepted, 400);
    };
    on.run(f);
}

TEST_P(backend_contract, out_of_descriptors_is_an_error_and_passes) {
    const auto f = [&]() -> task<> {
        auto l = net::listener::open(*loop::current(), loopback());
        auto client = co_await net::connect(l->local());
        rlimit before{};
        ::getrlimit(RLIMIT_NOFILE, &before);
        const rlimit none{3, before.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &none);
        auto refused = co_await as_result(l->accept());
        co_await turns(10);
        ::setrlimit(RLIMIT_NOFILE, &before);
        EXPECT_FALSE(refused);
        EXPECT_TRUE(is(refused.error(), EMFILE)) << refused.error();
        auto s = co_await l->accept();
        co_await client->send("hello");
        const std::string text = co_await read_exactly(*s, 5);
        EXPECT_EQ(text, "hello");
    };
    on.run(f);
}

TEST_P(backend_contract, more_than_a_ring_holds_may_be_ready_at_once) {
    // More waits than there are submissions, and then more completions than the ring has room for.
    constexpr int count = 5000;
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < count + 200) GTEST_SKIP() << "too few descriptors";
    const int event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    std::vector<int> copies;
    for (int i = 0; i != count; ++i) copies.push_back(::fcntl(event, F_DUPFD_CLOEXEC, 0));
    const auto f = [&]() -> task<> {
        std::vector<task<>> waits;
        const auto wait = [](int fd) -> task<> { co_await readable(fd); };
        for (const int fd : copies) waits.push_back(wait(fd));
        const auto wakes = [&]() -> task<> {
            co_await turns(20);
            EXPECT_EQ(::eventfd_write(event, 1), 0);
        };
        waits.push_back(wakes());
        co_await when_all(std::move(waits));
    };
    on.run(f);
    for (const int fd : copies) ::close(fd);
    ::close(event);
}

TEST_P(backend_contract, other_threads_wake_it) {
    const auto f = [&]() -> task<> {
        int heard = 0;
        loop& l = *loop::current();
        std::vector<std::thread> threads;
        for (int t = 0; t != 4; ++t) {
            threads.emplace_back([&] {
                for (int i = 0; i != 500; ++i) l.post([&heard] { ++heard; });
            });
        }
        while (heard != 2000) co_await as_result(with_timeout(1s, yield()));
        for (auto& t : threads) t.join();
    };
    on.run(f);
    // One wake in a wait that nothing else ends.
    bool done = false;
    std::thread late([&] { on.loop().post([&] { done = true; }); });
    on.loop().run_until(done);
    late.join();
}

TEST_P(backend_contract, its_loop_may_go_on_in_another_thread) {
    std::unique_ptr<net::listener> l;
    connection_pair kept;
    const auto first = [&]() -> task<> {
        auto opened = net::listener::open(*loop::current(), loopback());
        l = std::make_unique<net::listener>(*std::move(opened));
        kept = co_await connect_to(*l);
        auto r = co_await as_result(with_timeout(1us, kept.server->receive()));
        auto a = co_await as_result(with_timeout(1us, l->accept()));
        EXPECT_FALSE(r || a);
        co_await kept.client->send("kept");
        co_await turns(3);
    };
    on.run(first);
    const auto second = [&]() -> task<> {
        const std::string text = co_await read_exactly(*kept.server, 4);
        EXPECT_EQ(text, "kept");
        auto both = co_await connect_to(*l);
        co_await both.client->send("fresh");
        const std::string fresh = co_await read_exactly(*both.server, 5);
        EXPECT_EQ(fresh, "fresh");
        auto r = co_await as_result(with_timeout(1us, kept.server->receive()));
        EXPECT_FALSE(r);
    };
    for (int i = 0; i != 2; ++i) {
        std::thread([&] { on.run(second); }).join();
        const auto again = [&]() -> task<> { co_await kept.client->send("kept"); };
        on.run(again);
    }
    // Nor does closing need the thread that waited.
    kept = {};
    l.reset();
}

/// A ring in the table of its thread holds what its requests hold, and has the place there that the
/// ring of another thread has in its own.
TEST_P(backend_contract, its_loop_leaves_nothing_with_a_thread_that_goes_on) {
    const auto outer = [&]() -> task<> {
        co_await turns(40);
        auto both = co_await connected();
        auto other = std::make_unique<loop_on>(GetParam());
        std::optional<net::listener> l;
        const auto listens = [&]() -> task<> {
            l.emplace(*net::listener::open(*loop::current(), loopback()));
            auto a = co_await as_result(with_timeout(1us, l->accept()));
            EXPECT_FALSE(a);
            co_await turns(40);
        };
        std::latch has_left(1);
        std::latch is_over(1);
        std::thread goes_on([&] {
            other->run(listens);
            has_left.count_down();
            is_over.wait();
        });
        has_left.wait();
        const net::address at = l->local();
        l.reset();
        other.reset();
        // The kernel ends the requests of a closed ring in a thread of its own.
        bool refused = false;
        for (int i = 0; i != 2000 && !refused; ++i) {
            auto c = co_await as_result(net::connect(at));
            refused = !c;
            if (c) co_await sleep_for(1ms);
        }
        EXPECT_TRUE(refused);
        is_over.count_down();
        goes_on.join();
        co_await both.client->send("whole");
        const std::string text = co_await read_exactly(*both.server, 5);
        EXPECT_EQ(text, "whole");
    };
    on.run(outer);
}

TEST_P(backend_contract, datagrams_come_whole_or_cut_with_their_sender) {
    const auto f = [&]() -> task<> {
        backend& b = loop::current()->backend();
        endpoint at[2] = {loopback().to_endpoint(), loopback().to_endpoint()};
        descriptor d[2];
        for (int i = 0; i != 2; ++i) {
            auto fd = b.open_datagram(at[i], {});
            EXPECT_TRUE(fd && b.attach(d[i], *fd));
        }
        bool done = false;
        struct receiving : datagram_operation {
            bool* done;
            explicit receiving(bool* flag)
                : datagram_operation(
                      opcode::receive_from,
                      [](io_operation& op) noexcept { *static_cast<receiving&>(op).done = true; }),
                  done(flag) {}
        } receive(&done);
        receive.on = &d[1];
        receive.capacity = 8;
        EXPECT_FALSE(b.submit(receive));
        co_await turns(3);
        datagram_operation send(opcode::send_to, nullptr);
        send.on = &d[0];
        send.peer = at[1];
        const std::string text(100, 'x');
        send.bytes = {text.data(), text.size()};
        EXPECT_TRUE(b.submit(send));
        EXPECT_EQ(send.result, 100);
        co_await until([&] { return done; });
        EXPECT_TRUE(receive.truncated);
        EXPECT_EQ(net::address::from(receive.peer).port(), net::address::from(at[0]).port());
        for (descriptor& each : d) b.close(each, false);
    };
    on.run(f);
}

TEST_P(backend_contract, it_knows_no_names) {
    resolve_operation op(nullptr);
    op.host = "localhost";
    EXPECT_TRUE(on.loop().backend().submit(op));
    EXPECT_EQ(op.result, -ENOSYS);
}

INSTANTIATE_TEST_SUITE_P(each_backend, backend_contract, ::testing::ValuesIn(each_backend()),
                         [](const auto& case_of) { return case_of.param.name; });

TEST(uring_backend, waits_in_the_kernel_while_it_has_no_buffer_to_lend) {
    constexpr unsigned buffers = 4;
    auto b = coracle::detail::uring_backend::open(coracle::detail::all_uring_features, buffers);
    if (!b) GTEST_SKIP() << "there is no io_uring here";
    loop_on on(*std::move(b));
    const auto f = []() -> task<> {
        const auto read = [](connection_pair& c) -> task<std::string> {
            const buffer bytes = co_await c.server->receive();
            co_return std::string(bytes.view());
        };
        std::vector<connection_pair> unread(buffers);
        for (connection_pair& c : unread) {
            c = co_await connected();
            co_await c.client->send("first");
            EXPECT_EQ(co_await read(c), "first");
            // Its receive is still armed, and takes what nobody reads.
            co_await c.client->send("unread");
            co_await turns(5);
        }
        auto another = co_await connected();
        const tally& waits = loop::current()->backend().counters().waits;
        const std::uint64_t before = waits;
        const auto none = co_await as_result(with_timeout(10ms, read(another)));
        EXPECT_FALSE(none);
        EXPECT_LT(waits - before, 20u);
        co_await another.client->send("by a poll");
        EXPECT_EQ(co_await read(another), "by a poll");
        for (connection_pair& c : unread) EXPECT_EQ(co_await read(c), "unread");
        co_await another.client->send("by a receive");
        EXPECT_EQ(co_await read(another), "by a receive");
    };
    on.run(f);
}
