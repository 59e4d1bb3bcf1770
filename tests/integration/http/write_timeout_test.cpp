// A write that the kernel ends with ETIMEDOUT, at TCP_USER_TIMEOUT or for want of a response to its
// probes, counts as a write that took too long.

#include "support/backends.hpp"
#include "support/failing_calls.hpp"

#include <coracle/http/server.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/peer.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

using namespace coracle;
using namespace coracle::testing;

namespace {

constexpr std::size_t large = 16 * 1024 * 1024;

class a_write_that_the_kernel_ends : public ::testing::TestWithParam<backend_case> {
protected:
    void SetUp() override {
        if (!failing_calls::available()) GTEST_SKIP() << "calls are not replaced in this build";
    }

    /// Has a large response fail with `number`: it goes by sendmsg, and requests by send.
    http::server_counters counters_after(int number) {
        http::server_counters counted;
        const auto body = [&]() -> task<> {
            const auto respond = [](http::request&) { return std::string(large, 'x'); };
            local_server server(*loop::current(), http::handler(respond));
            const failing_calls fails("sendmsg", number, 1, true);
            peer p = co_await connect_peer(server.addresses().front());
            co_await p.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
            const std::string got = co_await p.read_to_end();
            EXPECT_LT(got.size(), large);
            EXPECT_TRUE(fails.happened());
            counted = server.counters();
        };
        on_.run(body);
        return counted;
    }

private:
    loop_on on_{GetParam()};
};

}  // namespace

TEST_P(a_write_that_the_kernel_ends, at_its_timeout_is_counted_as_such) {
    const http::server_counters c = counters_after(ETIMEDOUT);
    EXPECT_EQ(c.write_timeouts, 1u);
    EXPECT_EQ(c.clients_gone, 0u);
}

TEST_P(a_write_that_the_kernel_ends, since_the_client_is_gone_is_no_timeout) {
    const http::server_counters c = counters_after(EPIPE);
    EXPECT_EQ(c.write_timeouts, 0u);
    EXPECT_EQ(c.clients_gone, 1u);
}

INSTANTIATE_TEST_SUITE_P(each, a_write_that_the_kernel_ends, ::testing::ValuesIn(each_backend()),
                         [](const auto& of) { return std::string(of.param.name); });
