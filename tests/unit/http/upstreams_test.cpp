// Which of several upstreams are used, by what requests to them came to.

#include "http/proxy/upstream_group.hpp"

#include <coracle/http/client.hpp>
#include <coracle/http/request.hpp>

#include <gtest/gtest.h>

#include <limits>

using namespace coracle;
using namespace std::chrono_literals;

namespace {

/// Two upstreams, of which the first fails.
struct scene {
    explicit scene(duration eject_for)
        : of(client, {"http://a.example", "http://b.example"}, options(eject_for)) {}
    static http::upstream_options options(duration eject_for) {
        http::upstream_options o;
        o.eject_after = 1;
        o.eject_for = eject_for;
        return o;
    }
    void fail() { of.failed(*of.members()[0], now); }
    /// Returns true if the first is used at this time.
    bool is_used() {
        http::request req;
        for (int i = 0; i != 2; ++i) {
            if (of.choose(req, {}, now) == of.members()[0].get()) return true;
        }
        return false;
    }

    http::client client;
    http::upstreams::group of;
    time_point now{1h};
};

}  // namespace

TEST(upstreams, are_out_for_twice_as_long_each_time_they_fail_again) {
    scene s(1s);
    EXPECT_TRUE(s.is_used());
    for (const duration out : {1s, 2s, 4s, 8s, 16s, 32s, 32s}) {
        s.fail();
        s.now += out - 1ns;
        EXPECT_FALSE(s.is_used());
        // Under way when it was taken out.
        s.fail();
        s.now += 1ns;
        EXPECT_TRUE(s.is_used());
    }
    s.of.succeeded(*s.of.members()[0]);
    s.fail();
    s.now += 1s;
    EXPECT_TRUE(s.is_used());
}

TEST(upstreams, take_turns_though_all_of_them_are_out_or_one_is_tried_twice) {
    scene s(1h);
    const auto first_of_ten = [&s](bool tries_another) {
        int first = 0;
        http::request req;
        for (int i = 0; i != 10; ++i) {
            http::detail::upstream* const u = s.of.choose(req, {}, s.now);
            if (u == s.of.members()[0].get()) ++first;
            if (!tries_another) continue;
            http::detail::upstream* const tried[] = {u};
            EXPECT_NE(s.of.choose(req, tried, s.now), u);
        }
        return first;
    };
    EXPECT_EQ(first_of_ten(true), 5);
    for (const auto& member : s.of.members()) s.of.failed(*member, s.now);
    EXPECT_EQ(first_of_ten(false), 5);
}

TEST(upstreams, are_out_as_of_the_last_request_where_there_is_no_loop) {
    scene s(1s);
    s.fail();
    EXPECT_FALSE(s.is_used());
    EXPECT_EQ(s.of.now(), s.now);
    s.now += 1s;
    EXPECT_TRUE(s.is_used());
    EXPECT_EQ(s.of.now(), s.now);
}

TEST(upstreams, may_be_out_for_ever) {
    for (const duration endless : {duration::max(), duration::max() / 2, duration::max() / 32}) {
        scene s(endless);
        s.fail();
        EXPECT_FALSE(s.is_used());
        s.now += std::chrono::hours(24 * 365);
        s.fail();
        EXPECT_FALSE(s.is_used());
    }
}
