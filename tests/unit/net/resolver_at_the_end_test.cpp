// Lookups of names after the end of the main task of their loop.

#include "runtime/service.hpp"

#include <coracle/net/resolver.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;

class resolver_at_the_end : public ::testing::Test {
protected:
    resolver_at_the_end() {
        sim_.backend().add_name("boats.test", {net::address::parse("192.0.2.1:0").value()});
        sim_.backend().delay_names(10s, 10s);
    }
    task<bool> finds() {
        net::resolver names(*loop::current());
        auto found = co_await as_result(names.resolve("boats.test", 80, net::family::v4));
        co_return found.has_value();
    }

    simulation sim_;
};

TEST_F(resolver_at_the_end, serves_what_cleans_up) {
    bool found = false;
    sim_.run([&]() -> task<> {
        spawn([&]() -> task<> {
            co_await as_result(forever());
            const auto look = [&]() -> task<> { found = co_await finds(); };
            co_await shielded(1min, look);
        });
        co_return;
    });
    EXPECT_TRUE(found);
}

TEST_F(resolver_at_the_end, holds_it_up_for_no_service) {
    bool has_ended = false;
    sim_.run([&]() -> task<> {
        const auto look = [&]() -> task<> {
            net::resolver names(*loop::current());
            auto looking = names.resolve("boats.test", 80, net::family::v4);
            const auto found = co_await as_result(looking);
            has_ended = !found;
        };
        coracle::detail::spawn_service(*loop::current(), look, "service");
        co_return;
    });
    EXPECT_TRUE(has_ended);
    EXPECT_LT(sim_.elapsed(), 1s);
}

}  // namespace
}  // namespace coracle::testing
