// Sessions of clients with certificates: they are resumed as long as these are good.

#include "support/temporary_directory.hpp"
#include "tls_pair.hpp"

#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/testing/simulation.hpp>
#include <coracle/tls/context.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace coracle {
namespace {

using testing::test_ca;
using testing::tls_pair;
using testing::tls_world;

/// A server that wants certificates, and a client whose own is vouched for through another.
class client_tickets : public ::testing::TestWithParam<tls::version> {
protected:
    client_tickets() {
        authorities = directory.write("ca.pem", world.ca.pem()).string();
        co.maximum = GetParam();
        co.identity = between.issue({.names = {"alice"}});
        co.identity.certificate += between.pem();
    }
    tls::server_context server() {
        auto so = world.server_options();
        so.clients = tls::client_certificates::required;
        so.client_authorities = authorities;
        return tls::server_context(so);
    }

    /// Returns true if a connection resumes a session.
    static task<bool> resumes(tls::client_context& c, tls::server_context& s) {
        tls_pair ends = co_await testing::shake_hands(c, s, "localhost");
        EXPECT_TRUE(ends.client) << ends.client.error();
        EXPECT_TRUE(ends.server) << ends.server.error();
        if (!ends.client || !ends.server) co_return false;
        EXPECT_EQ((*ends.server)->peer_certificate().common_name(), "alice");
        EXPECT_TRUE((*ends.server)->verified());
        // The tickets of TLS 1.3 come in front of the first bytes.
        co_await (*ends.server)->send("x");
        co_await testing::read_exactly(**ends.client, 1);
        co_return (*ends.client)->resumed();
    }

    tls_world world;
    test_ca between{"Between", &world.ca};
    tls::client_options co = world.client_options();
    testing::temporary_directory directory;
    std::string authorities;
};

TEST_P(client_tickets, resume_sessions_one_after_the_other) {
    block_on([&]() -> task<> {
        tls::server_context s = server();
        tls::client_context c(co);
        for (int i = 0; i != 4; ++i) {
            const bool resumed = co_await resumes(c, s);
            EXPECT_EQ(resumed, i != 0) << i;
        }
    });
}

TEST_P(client_tickets, do_not_outlast_a_certificate_of_the_chain) {
    std::int64_t now = 0;
    block_on([&]() -> task<> {
        now = loop::current()->unix_time();
        co_return;
    });
    testing::simulation sim(1);
    sim.run([&]() -> task<> {
        // Its clock is far from that of the test's certificates.
        co.insecure = true;
        const auto ahead = static_cast<long>(loop::current()->unix_time() - now);
        co.identity = between.issue({.names = {"alice"}, .valid_for = ahead + 3600});
        co.identity.certificate += between.pem();
        tls::server_context s = server();
        tls::client_context c(co);
        static_cast<void>(co_await resumes(c, s));
        co_await sleep_for(std::chrono::minutes(50));
        const bool before = co_await resumes(c, s);
        EXPECT_TRUE(before);
        co_await sleep_for(std::chrono::minutes(20));
        const bool after = co_await resumes(c, s);
        EXPECT_FALSE(after);
    });
}

TEST_P(client_tickets, do_not_outlast_the_trust_in_an_authority) {
    block_on([&]() -> task<> {
        tls::server_context s = server();
        tls::client_context c(co);
        static_cast<void>(co_await resumes(c, s));
        EXPECT_TRUE(s.reload());
        const bool same = co_await resumes(c, s);
        EXPECT_TRUE(same);
        const test_ca other("Other CA");
        directory.write("ca.pem", other.pem() + world.ca.pem());
        EXPECT_TRUE(s.reload());
        const bool others = co_await resumes(c, s);
        EXPECT_FALSE(others);
        const bool again = co_await resumes(c, s);
        EXPECT_TRUE(again);
        directory.write("ca.pem", other.pem());
        EXPECT_TRUE(s.reload());
        tls_pair ends = co_await testing::shake_hands(c, s, "localhost");
        EXPECT_FALSE(ends.server);
    });
}

INSTANTIATE_TEST_SUITE_P(versions, client_tickets,
                         ::testing::Values(tls::version::tls_1_2, tls::version::tls_1_3),
                         [](const auto& p) {
                             return p.param == tls::version::tls_1_2 ? "tls_1_2" : "tls_1_3";
                         });

}  // namespace
}  // namespace coracle
