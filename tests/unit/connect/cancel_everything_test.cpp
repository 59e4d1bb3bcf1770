#include "support/cancel_everywhere.hpp"

#include <coracle/connect/connect.hpp>
#include <coracle/net/listener.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <optional>

// As tests/unit/runtime/cancel_everything_test.cpp, for names and connecting to them.

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

struct name_row : cancel_row {
    static constexpr bool again = true;
    static void set_up(simulation& world) {
        world.backend().add_name("boats", {net::address::v4({192, 0, 2, 1}, 0)});
        world.backend().delay_names(1us, 4us);
    }
    net::resolver names{*loop::current()};
};

struct resolve_row : name_row {
    auto make() { return names.resolve("boats", 80); }
};

struct mail_hosts_row : name_row {
    static void set_up(simulation& world) {
        name_row::set_up(world);
        world.backend().add_mail_hosts("boats", {{10, "a.example"}});
    }
    auto make() { return names.mail_hosts("boats"); }
};

struct connect_row : name_row {
    std::optional<net::listener> l;
    task<> prepare() {
        const auto here = net::address::v4({192, 0, 2, 1}, 80);
        l.emplace(net::listener::open(*loop::current(), here).value());
        co_return;
    }
    auto make() { return connect::to(names, "boats", 80); }
};

/// A proxy that does all that it can be made to do: SOCKS5 with a password.
struct proxy_row : connect_row {
    static constexpr bool again = false;
    task<> help() {
        const std::string_view replies[] = {
            {"\x05\x02", 2}, {"\x01\0", 2}, {"\x05\0\0\x01\0\0\0\0\0\0target speaks", 23}};
        // Nobody comes where it was cancelled early.
        auto caller = co_await as_result(with_timeout(1s, l->accept()));
        if (!caller) co_return;
        for (const std::string_view reply : replies) {
            const auto asked = co_await as_result((*caller)->receive());
            if (!asked) co_return;
            const auto sent = co_await as_result((*caller)->send(reply));
            if (!sent) co_return;
        }
    }
    auto make() {
        connect::proxy p(connect::proxy_kind::socks5h, "boats", 80);
        p.credentials("joe", "secret");
        connect::options o;
        o.proxy(std::move(p));
        return connect::to(names, "target", 443, o);
    }
};

struct to_proxy_row : connect_row {
    auto make() {
        connect::options o;
        o.proxy(connect::proxy(connect::proxy_kind::http, "boats", 80));
        return connect::to_proxy(names, o);
    }
};

constexpr cancel_case cases[] = {
    row<resolve_row>("resolver::resolve(host, port)"),
    row<mail_hosts_row>("resolver::mail_hosts(domain)"),
    row<connect_row>("connect::to(names, host, port)"),
    row<proxy_row>("connect::to(names, host, port, proxy)"),
    row<to_proxy_row>("connect::to_proxy(names, o)"),
};

class cancelled_by_name : public ::testing::TestWithParam<cancel_case> {};

}  // namespace

TEST_P(cancelled_by_name, unwinds_and_loses_nothing) {
    GetParam().run();
}

INSTANTIATE_TEST_SUITE_P(connect, cancelled_by_name, ::testing::ValuesIn(cases),
                         [](const auto& i) { return test_name(i.param.name); });
