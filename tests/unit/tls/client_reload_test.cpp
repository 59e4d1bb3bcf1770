// Certificates of clients that are renewed while the client runs.

#include "support/temporary_directory.hpp"
#include "tls_pair.hpp"

#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/testing/simulation.hpp>
#include <coracle/tls/reload.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

namespace coracle {
namespace {

using testing::tls_pair;
using testing::tls_world;

/// A server that wants certificates, and a client whose own is in files.
class tls_client_reload : public ::testing::TestWithParam<tls::version> {
protected:
    tls_client_reload() {
        co.maximum = GetParam();
        write("alice");
        co.identity.certificate = directory.path() / "cert.pem";
        co.identity.key = secret(std::string(directory.path() / "key.pem"));
    }
    tls::server_options server_options() const {
        auto so = world.server_options();
        so.clients = tls::client_certificates::required;
        so.client_authorities = world.ca.pem();
        return so;
    }
    void write(const std::string& name) {
        const auto made = world.ca.issue({.names = {name}});
        put("cert.pem", made.certificate);
        put("key.pem", std::string(made.key.reveal()));
    }
    /// Writes a file at a time of its own, however coarse those of the file system are.
    void put(const std::string& name, const std::string& content) {
        directory.write(name, content);
        const auto at = directory.path() / name;
        const auto later = std::filesystem::last_write_time(at) + std::chrono::seconds(++written);
        std::filesystem::last_write_time(at, later);
    }
    /// Has the tickets come, which TLS 1.3 sends in front of the first bytes.
    static task<> exchange(tls_pair& ends) {
        co_await (*ends.server)->send("x");
        co_await testing::read_exactly(**ends.client, 1);
    }
    /// The name that the client shows, "resumed" behind it where that was of a session of before;
    /// "refused" where the server refuses it.
    static task<std::string> shown(tls::client_context& c, tls::server_context& s) {
        tls_pair ends = co_await testing::shake_hands(c, s, "localhost");
        if (!ends.client || !ends.server) co_return "refused";
        co_await exchange(ends);
        std::string name((*ends.server)->peer_certificate().common_name());
        if ((*ends.client)->resumed()) name += " resumed";
        co_return name;
    }

    tls_world world;
    testing::temporary_directory directory;
    tls::client_options co = world.client_options();
    int written = 0;
};

TEST_P(tls_client_reload, rests_between_two_looks_whatever_it_is_told) {
    testing::simulation sim(1);
    sim.run([&]() -> task<> {
        tls::client_context c(co);
        // Without a rest the clock would stand still.
        for (const duration period : {duration(0), duration(-1)}) {
            auto limited = with_timeout(std::chrono::seconds(1), tls::reload_on_change(c, period));
            const auto ended = co_await as_result(limited);
            EXPECT_FALSE(ended);
        }
    });
}

/// Nanoseconds since 1970 have an end.
TEST_P(tls_client_reload, sees_changes_of_files_of_any_century) {
    tls::client_context c(co);
    const auto at = directory.path() / "cert.pem";
    for (const std::int64_t century : {12'000'000'000, 12'000'000'001}) {
        const timespec times[2] = {{century, 0}, {century, 0}};
        struct stat s{};
        const bool is_kept = ::utimensat(AT_FDCWD, at.c_str(), times, 0) == 0 &&
                             ::stat(at.c_str(), &s) == 0 && s.st_mtim.tv_sec == century;
        if (!is_kept) continue;  // the file system knows no such times
        EXPECT_TRUE(c.reload_if_changed().value());
        EXPECT_FALSE(c.reload_if_changed().value());
    }
}

TEST_P(tls_client_reload, shows_the_certificate_that_its_files_have_now) {
    block_on([&]() -> task<> {
        tls::server_context s(server_options());
        tls::client_context c(co);
        EXPECT_EQ(co_await shown(c, s), "alice");
        EXPECT_EQ(co_await shown(c, s), "alice resumed");
        auto changed = c.reload_if_changed();
        EXPECT_TRUE(changed && !*changed);
        write("bob");
        EXPECT_EQ(co_await shown(c, s), "alice resumed");
        changed = c.reload_if_changed();
        EXPECT_TRUE(changed && *changed);
        EXPECT_EQ(co_await shown(c, s), "bob");
        EXPECT_EQ(co_await shown(c, s), "bob resumed");
        // A file that is no good changes nothing.
        put("cert.pem", "none");
        EXPECT_FALSE(c.reload_if_changed());
        EXPECT_FALSE(c.reload());
        EXPECT_EQ(co_await shown(c, s), "bob resumed");
    });
}

TEST_P(tls_client_reload, takes_another_identity) {
    block_on([&]() -> task<> {
        tls::server_context s(server_options());
        tls::client_context c(co);
        EXPECT_EQ(co_await shown(c, s), "alice");
        EXPECT_TRUE(c.replace(world.ca.issue({.names = {"carol"}})));
        EXPECT_EQ(co_await shown(c, s), "carol");
        EXPECT_FALSE(c.replace(tls::certificate_source{"/nowhere"}));
        EXPECT_EQ(co_await shown(c, s), "carol resumed");
        // Now this one is read again.
        EXPECT_TRUE(c.reload());
        EXPECT_EQ(co_await shown(c, s), "carol");
        EXPECT_TRUE(c.replace({}));
        EXPECT_EQ(co_await shown(c, s), "refused");
    });
}

TEST_P(tls_client_reload, resumes_no_session_that_began_before) {
    block_on([&]() -> task<> {
        tls::server_context s(server_options());
        tls::client_context c(co);
        tls_pair ends = co_await testing::shake_hands(c, s, "localhost");
        EXPECT_TRUE(ends.client && ends.server);
        write("bob");
        EXPECT_TRUE(c.reload());
        // With TLS 1.3 its tickets come only now.
        co_await exchange(ends);
        EXPECT_EQ(co_await shown(c, s), "bob");
    });
}

TEST_P(tls_client_reload, trusts_the_authorities_that_its_file_has_now) {
    block_on([&]() -> task<> {
        tls::server_context s(server_options());
        co.authorities = directory.write("ca.pem", world.ca.pem()).string();
        tls::client_context c(co);
        EXPECT_EQ(co_await shown(c, s), "alice");
        const testing::test_ca other("Other CA");
        put("ca.pem", other.pem());
        const auto changed = c.reload_if_changed();
        EXPECT_TRUE(changed && *changed);
        EXPECT_EQ(co_await shown(c, s), "refused");
    });
}

INSTANTIATE_TEST_SUITE_P(versions, tls_client_reload,
                         ::testing::Values(tls::version::tls_1_2, tls::version::tls_1_3),
                         [](const auto& version) {
                             return version.param == tls::version::tls_1_2 ? "tls_1_2" : "tls_1_3";
                         });

}  // namespace
}  // namespace coracle
