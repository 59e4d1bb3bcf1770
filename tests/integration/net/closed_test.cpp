// Operations on a closed object fail with EBADF, and neither wait for ever nor touch the state of
// other objects in the backend.

#include "support/backends.hpp"

#include <coracle/net/datagram_socket.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

using namespace coracle;
using namespace coracle::testing;

namespace {

template <class A>
task<> expect_bad(A what) {
    auto r = co_await as_result(std::move(what));
    EXPECT_FALSE(r);
    if (!r) {
        EXPECT_EQ(r.error(), std::errc::bad_file_descriptor) << r.error();
    }
}

task<> use_what_is_closed() {
    auto l = net::listener::open(*loop::current(), loopback());
    if (!l) throw exception(l.error());
    auto both = co_await connect_to(*l);
    auto other = co_await connect_to(*l);
    l->close();
    co_await expect_bad(l->accept());
    both.server->close();
    for (int i = 0; i != 2; ++i) {
        co_await expect_bad(both.server->receive_into(buffer(64)));
        co_await expect_bad(both.server->receive_into(buffer(64 * 1024)));
        std::string_view text = "text";
        auto sent = co_await as_result(both.server->send(text));
        EXPECT_FALSE(sent);
        hangup_watch w{[](hangup_watch&) noexcept {}};
        EXPECT_FALSE(both.server->watch_hangup(&w));
        both.server->shutdown_output();
        both.server->close();
    }
    // The others are as they were.
    co_await other.client->send("text");
    EXPECT_EQ(co_await read_exactly(*other.server, 4), "text");
    auto end = co_await as_result(both.client->receive());
    EXPECT_FALSE(end);
}

class closed : public ::testing::TestWithParam<backend_case> {};

}  // namespace

TEST_P(closed, descriptors_fail_at_once) {
    loop_on on(GetParam());
    on.run(use_what_is_closed);
}

TEST(closed_simulated, descriptors_fail_at_once) {
    for (const std::uint64_t seed : seeds(50)) simulation(seed).run(use_what_is_closed);
}

INSTANTIATE_TEST_SUITE_P(each_backend, closed, ::testing::ValuesIn(each_backend()),
                         [](const auto& case_of) { return case_of.param.name; });
