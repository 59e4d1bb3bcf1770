// A task that waits in a loop for a descriptor or for something that is always there hears of the
// descriptor all the same, on each backend: the wait begins and is cancelled in every turn.

#include "support/backends.hpp"

#include <coracle/io/kernel_pipe.hpp>
#include <coracle/net/datagram_socket.hpp>
#include <coracle/runtime/event.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

using namespace coracle;
using namespace coracle::testing;

namespace {

/// How many times something that is there wins, at most, before what came is noticed. Some turns,
/// since the loopback delivers in its own time on io_uring.
constexpr int patience = 2000;

class beside_what_is_always_ready : public ::testing::TestWithParam<backend_case> {
protected:
    void run(task<> (*body)()) { on_.run(body); }

private:
    loop_on on_{GetParam()};
};

/// Begins `wait()` again and again until it ends first; false when it never does.
template <class F>
task<bool> wins(F wait) {
    event there;
    there.set();
    for (int i = 0; i != patience; ++i) {
        auto waiting = wait();
        auto first = co_await when_any(std::move(waiting), there.wait());
        if (first.index == 0) co_return true;
    }
    co_return false;
}

}  // namespace

TEST_P(beside_what_is_always_ready, a_receive_gets_its_bytes) {
    run([]() -> task<> {
        auto both = co_await connected();
        for (const char* const text : {"one", "two", "three"}) {
            co_await both.client->send(text);
            std::string got;
            const auto receive = [&]() -> task<> {
                const buffer b = co_await both.server->receive();
                got = b.view();
            };
            EXPECT_TRUE(co_await wins(receive)) << text;
            EXPECT_EQ(got, text);
        }
    });
}

TEST_P(beside_what_is_always_ready, a_receive_into_a_large_block_gets_its_bytes) {
    run([]() -> task<> {
        auto both = co_await connected();
        co_await both.client->send("text");
        const auto receive = [&]() -> task<> {
            const buffer b = co_await both.server->receive(64 * 1024);
            EXPECT_EQ(b.view(), "text");
        };
        EXPECT_TRUE(co_await wins(receive));
    });
}

TEST_P(beside_what_is_always_ready, an_accept_gets_its_connection) {
    run([]() -> task<> {
        auto l = net::listener::open(*loop::current(), loopback());
        if (!l) throw exception(l.error());
        auto client = co_await net::connect(l->local());
        const auto accept = [&]() -> task<> { co_await l->accept(); };
        EXPECT_TRUE(co_await wins(accept));
    });
}

TEST_P(beside_what_is_always_ready, a_datagram_is_received) {
    run([]() -> task<> {
        auto a = net::datagram_socket::open(*loop::current(), loopback());
        auto b = net::datagram_socket::open(*loop::current(), loopback());
        if (!a || !b) throw exception(a ? b.error() : a.error());
        co_await a->send_to("text", b->local());
        const auto receive = [&]() -> task<> { co_await b->receive(); };
        EXPECT_TRUE(co_await wins(receive));
    });
}

TEST_P(beside_what_is_always_ready, a_pipe_gets_its_bytes) {
    run([]() -> task<> {
        auto pipe = io::make_pipe();
        if (!pipe) throw exception(pipe.error());
        const auto receive = [&]() -> task<> { co_await pipe->reader->receive(); };
        for (int i = 0; i != 2; ++i) {
            co_await pipe->writer->send("text");
            EXPECT_TRUE(co_await wins(receive));
        }
    });
}

TEST_P(beside_what_is_always_ready, a_foreign_descriptor_is_told_of) {
    run([]() -> task<> {
        int ends[2];
        const int made = ::pipe(ends);
        EXPECT_EQ(made, 0);
        if (made != 0) co_return;
        const auto reads = [&]() -> task<> { co_await readable(ends[0]); };
        const auto writes = [&]() -> task<> { co_await writable(ends[1]); };
        EXPECT_TRUE(co_await wins(writes));
        EXPECT_EQ(::write(ends[1], "x", 1), 1);
        EXPECT_TRUE(co_await wins(reads));
        ::close(ends[0]);
        ::close(ends[1]);
    });
}

INSTANTIATE_TEST_SUITE_P(each_backend, beside_what_is_always_ready,
                         ::testing::ValuesIn(each_backend()),
                         [](const auto& case_of) { return case_of.param.name; });
