#include "support/cancel_everywhere.hpp"

#include <coracle/connect/connect.hpp>
#include <coracle/net/listener.hpp>

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

struct connect_row : name_row {
    std::optional<net::listener> l;
    task<> prepare() {
        const auto here = net::address::v4({192, 0, 2, 1}, 80);
        l.emplace(net::listener::open(*loop::current(), here).value());
        co_return;
    }
    auto make() { return connect::to(names, "boats", 80); }
};

constexpr cancel_case cases[] = {
    row<resolve_row>("resolver::resolve(host, port)"),
    row<connect_row>("connect::to(names, host, port)"),
};

class cancelled_by_name : public ::testing::TestWithParam<cancel_case> {};

}  // namespace

TEST_P(cancelled_by_name, unwinds_and_loses_nothing) {
    GetParam().run();
}

INSTANTIATE_TEST_SUITE_P(connect, cancelled_by_name, ::testing::ValuesIn(cases),
                         [](const auto& i) { return test_name(i.param.name); });
