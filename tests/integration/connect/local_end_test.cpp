#include "support/backends.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/connect/connect.hpp>
#include <coracle/net/listener.hpp>

#include <gtest/gtest.h>

#include <string>

// Where a connection comes from and Unix sockets, on every backend of this machine.

using namespace coracle;
using coracle::testing::backend_case;
using coracle::testing::loop_on;
using coracle::testing::loopback;

namespace {

class local_end : public ::testing::TestWithParam<backend_case> {
protected:
    /// Connects to a listener as `o` says; where that sees us come from, or the error.
    std::string seen_from(const connect::options& o, const net::address& at = loopback()) {
        std::string seen;
        loop_on l(GetParam());
        l.run([&]() -> task<> {
            auto listener = net::listener::open(*loop::current(), at).value();
            net::resolver names(*loop::current());
            const std::uint16_t port = listener.local().port();
            auto s = co_await as_result(connect::to(names, "127.0.0.1", port, o));
            if (!s) {
                seen = s.error().message();
                co_return;
            }
            auto accepted = co_await listener.accept();
            seen = accepted->peer().host();
            co_await (*s)->send("ping");
            const buffer heard = co_await accepted->receive();
            EXPECT_EQ(heard.view(), "ping");
        });
        return seen;
    }
};

}  // namespace

TEST_P(local_end, is_the_address_that_was_bound) {
    connect::options o;
    o.bind(net::address::v4({127, 0, 0, 77}, 0));
    EXPECT_EQ(seen_from(o), "127.0.0.77");
    connect::options by_name;
    by_name.interface_name("127.0.0.78");
    EXPECT_EQ(seen_from(by_name), "127.0.0.78");
    connect::options foreign;
    foreign.bind(net::address::v4({192, 0, 2, 1}, 0));
    const std::string told = seen_from(foreign);
    EXPECT_NE(told.find("Cannot assign requested address"), std::string::npos) << told;
}

TEST_P(local_end, is_on_the_device_that_was_named) {
    connect::options o;
    o.interface_name("lo");
    // Kernels before 5.7 ask for a privilege.
    const std::string told = seen_from(o);
    EXPECT_TRUE(told == "127.0.0.1" || told.find("not permitted") != std::string::npos) << told;
    connect::options nobody;
    nobody.interface_name("no-such-device");
    const std::string why = seen_from(nobody);
    EXPECT_TRUE(why.find("No such device") != std::string::npos ||
                why.find("not permitted") != std::string::npos)
        << why;
}

TEST_P(local_end, is_a_unix_socket) {
    const coracle::testing::temporary_directory folder;
    const std::string in_folder = folder.path() / "socket";
    for (const std::string& path : {in_folder, '@' + in_folder}) {
        connect::options o;
        connect::timings times;
        o.unix_socket(path).record(&times);
        EXPECT_TRUE(seen_from(o, net::address::parse("unix:" + path).value()).starts_with("unix:"));
        EXPECT_EQ(times.peer.host(), "unix:" + path);
    }
    connect::options nobody;
    nobody.unix_socket(folder.path() / "nobody");
    const std::string told = seen_from(nobody);
    EXPECT_NE(told.find("No such file"), std::string::npos) << told;
}

INSTANTIATE_TEST_SUITE_P(backends, local_end, ::testing::ValuesIn(coracle::testing::each_backend()),
                         [](const auto& i) { return std::string(i.param.name); });
