// Sessions of clients with certificates: they are resumed as long as these are good.

#include "support/temporary_directory.hpp"
#include "tls/encrypted_stream.hpp"
#include "tls_pair.hpp"

#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/testing/simulation.hpp>
#include <coracle/tls/context.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
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
        show_alice(24 * 3600);
    }
    tls::server_options server_options() const {
        auto so = world.server_options();
        so.clients = tls::client_certificates::required;
        so.client_authorities = authorities;
        return so;
    }
    /// Seconds from now to the beginning of a simulation, whose clock is far from that of the
    /// test's certificates.
    static long seconds_ahead() {
        std::int64_t now = 0;
        std::int64_t then = 0;
        block_on([&]() -> task<> {
            now = loop::current()->unix_time();
            co_return;
        });
        testing::simulation sim(1);
        sim.run([&]() -> task<> {
            then = loop::current()->unix_time();
            co_return;
        });
        return static_cast<long>(then - now);
    }
    /// Sessions with such a server are resumed for an hour of a simulation, and no longer.
    void expect_an_hour(const tls::server_options& so) {
        testing::simulation sim(1);
        sim.run([&]() -> task<> {
            co.insecure = true;
            tls::server_context s(so);
            tls::client_context c(co);
            static_cast<void>(co_await resumes(c, s));
            co_await sleep_for(std::chrono::minutes(50));
            const bool before = co_await resumes(c, s);
            EXPECT_TRUE(before);
            co_await sleep_for(std::chrono::minutes(20));
            // Neither the session is good any more nor what it stood for.
            tls_pair late = co_await testing::shake_hands(c, s, "localhost");
            EXPECT_FALSE(late.server);
        });
    }
    void show_alice(long valid_for) {
        co.identity = between.issue({.names = {"alice"}, .valid_for = valid_for});
        co.identity.certificate += between.pem();
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

/// A server sends them when it likes, so also to a stream that outlives its context.
TEST_P(client_tickets, may_come_when_the_context_is_gone) {
    // Those of TLS 1.2 come in the handshake.
    if (GetParam() != tls::version::tls_1_3) return;
    block_on([&]() -> task<> {
        tls::server_context s(server_options());
        auto c = std::make_unique<tls::client_context>(co);
        tls_pair ends = co_await testing::shake_hands(*c, s, "localhost");
        EXPECT_TRUE(ends.client) << ends.client.error();
        if (!ends.client || !ends.server) co_return;
        c.reset();
        SSL* const native = static_cast<tls::detail::encrypted_stream&>(**ends.server).native();
        EXPECT_EQ(SSL_new_session_ticket(native), 1);
        co_await (*ends.server)->send("x");
        const std::string text = co_await testing::read_exactly(**ends.client, 1);
        EXPECT_EQ(text, "x");
    });
}

/// The clock of a simulation is far from that of the system.
TEST_P(client_tickets, begin_with_certificates_that_are_good_by_the_loops_clock) {
    testing::simulation sim(1);
    sim.run([&]() -> task<> {
        co.insecure = true;
        tls::server_context s(server_options());
        tls::client_context c(co);
        tls_pair ends = co_await testing::shake_hands(c, s, "localhost");
        EXPECT_FALSE(ends.server);
        if (!ends.server) {
            EXPECT_EQ(ends.server.error(), tls::errc::certificate_expired);
        }
    });
}

TEST_P(client_tickets, resume_sessions_one_after_the_other) {
    block_on([&]() -> task<> {
        tls::server_context s(server_options());
        tls::client_context c(co);
        for (int i = 0; i != 4; ++i) {
            const bool resumed = co_await resumes(c, s);
            EXPECT_EQ(resumed, i != 0) << i;
        }
    });
}

TEST_P(client_tickets, do_not_outlast_a_certificate_of_the_chain) {
    show_alice(seconds_ahead() + 3600);
    expect_an_hour(server_options());
}

TEST_P(client_tickets, do_not_outlast_the_trust_in_an_authority) {
    block_on([&]() -> task<> {
        tls::server_context s(server_options());
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

// Servers behind one address, or one that has begun again.
TEST_P(client_tickets, are_good_for_all_servers_that_share_a_secret) {
    block_on([&]() -> task<> {
        const auto with = [&](std::string_view shared) {
            auto so = server_options();
            so.ticket_secret = secret(std::string(shared));
            return so;
        };
        const std::string first(32, 'a');
        const std::string second(32, 'b');
        tls::server_context one(with(first));
        tls::server_context other(with(first));
        tls::server_context foreign(with(second));
        tls::client_context c(co);
        static_cast<void>(co_await resumes(c, one));
        const bool there = co_await resumes(c, other);
        EXPECT_TRUE(there);
        const bool back = co_await resumes(c, one);
        EXPECT_TRUE(back);
        const bool elsewhere = co_await resumes(c, foreign);
        EXPECT_FALSE(elsewhere);
        EXPECT_THROW(tls::server_context{with(std::string(31, 'a'))}, exception);
    });
}

// A session that began where no certificate was wanted opens nothing where one is.
TEST_P(client_tickets, take_the_place_of_no_certificate_that_is_required) {
    block_on([&]() -> task<> {
        auto strict = server_options();
        strict.ticket_secret = secret(std::string(32, 'a'));
        auto open = strict;
        open.clients = tls::client_certificates::none;
        tls::server_context one(open);
        tls::server_context other(strict);
        co.identity = {};
        tls::client_context c(co);
        tls_pair first = co_await testing::shake_hands(c, one, "localhost");
        EXPECT_TRUE(first.server);
        if (!first.server || !first.client) co_return;
        co_await (*first.server)->send("x");
        co_await testing::read_exactly(**first.client, 1);
        tls_pair second = co_await testing::shake_hands(c, other, "localhost");
        EXPECT_FALSE(second.server);
    });
}

// A list that is no longer up to date vouches for nobody.
TEST_P(client_tickets, do_not_outlast_the_lists) {
    const long ahead = seconds_ahead();
    show_alice(ahead + 24 * 3600);
    auto so = server_options();
    so.client_revocations =
        world.ca.revocations({}, ahead + 3600) + between.revocations({}, ahead + 7200);
    expect_an_hour(so);
}

TEST_P(client_tickets, do_not_outlast_what_is_revoked) {
    block_on([&]() -> task<> {
        const auto other = between.issue({.names = {"bob"}});
        const std::string lists =
            directory.write("crl.pem", world.ca.revocations({}) + between.revocations({other}))
                .string();
        auto so = server_options();
        so.client_revocations = lists;
        tls::server_context s(so);
        tls::client_context c(co);
        for (int i = 0; i != 2; ++i) {
            const bool resumed = co_await resumes(c, s);
            EXPECT_EQ(resumed, i != 0);
        }
        directory.write("crl.pem",
                        world.ca.revocations({}) + between.revocations({co.identity, other}));
        const auto changed = s.reload_if_changed();
        EXPECT_TRUE(changed && *changed);
        tls_pair ends = co_await testing::shake_hands(c, s, "localhost");
        EXPECT_FALSE(ends.server);
        EXPECT_TRUE(!ends.server && ends.server.error().code() == tls::errc::certificate_revoked);
    });
}

INSTANTIATE_TEST_SUITE_P(versions, client_tickets,
                         ::testing::Values(tls::version::tls_1_2, tls::version::tls_1_3),
                         [](const auto& p) {
                             return p.param == tls::version::tls_1_2 ? "tls_1_2" : "tls_1_3";
                         });

}  // namespace
}  // namespace coracle
