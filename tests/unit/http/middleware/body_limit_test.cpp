#include "unit/http/middleware/asked.hpp"
#include "unit/http/middleware/body_in_pieces.hpp"

#include <coracle/http/middleware/body_limit.hpp>
#include <coracle/http/stream_from.hpp>

using namespace middleware_test;

namespace {

http::handler reading() {
    return [](http::request& req) -> task<http::response> {
        auto text = co_await req.body().text();
        co_return http::response(std::move(text));
    };
}

http::handler reading_in_pieces() {
    return [](http::request& req) -> task<http::response> {
        std::string all;
        for (;;) {
            const std::string_view piece = co_await req.body().read();
            if (piece.empty()) break;
            all += piece;
        }
        co_return http::response(std::move(all));
    };
}

std::string outcome(const http::handler& h, pieces& body) {
    asked a("POST");
    a.req.set_body(http::received_body(&body));
    run_virtually([&] { return a.by(h); });
    return std::to_string(a.status()) + (a.status() == 200 ? a.text() : "");
}

}  // namespace

TEST(body_limit, holds_for_bodies_that_are_read_whole_and_in_pieces) {
    for (const http::handler& inner : {reading(), reading_in_pieces()}) {
        const http::handler h = http::wrap(http::body_limit(6), inner);
        pieces fits({"abc", "def"});
        EXPECT_EQ(outcome(h, fits), "200abcdef");
        EXPECT_FALSE(fits.refused_as);
        pieces exceeds({"abc", "def", "g"});
        EXPECT_EQ(outcome(h, exceeds), "413");
        EXPECT_EQ(exceeds.refused_as.value(), 413);
        pieces at_once({"abcdefg"});
        EXPECT_EQ(outcome(h, at_once), "413");
        pieces none({});
        EXPECT_EQ(outcome(h, none), "200");
    }
}

TEST(body_limit, refuses_a_size_that_is_announced_before_the_handler) {
    bool called = false;
    const http::handler inner = [&called](http::request&) {
        called = true;
        return "reached";
    };
    const http::handler h = http::wrap(http::body_limit(6), inner);
    pieces announced({"abcdefg"}, true);
    EXPECT_EQ(outcome(h, announced), "413");
    EXPECT_EQ(announced.refused_as.value(), 413);
    EXPECT_FALSE(called);
    pieces fits({"abcdef"}, true);
    EXPECT_EQ(outcome(h, fits), "200reached");
    EXPECT_TRUE(called);
    asked without("GET");
    run_virtually([&] { return without.by(h); });
    EXPECT_EQ(without.status(), 200);
}

TEST(body_limit, of_a_group_and_of_a_route_hold_both) {
    const http::handler narrow =
        http::wrap(http::body_limit(6), http::wrap(http::body_limit(3), reading()));
    const http::handler wide =
        http::wrap(http::body_limit(3), http::wrap(http::body_limit(6), reading()));
    for (const http::handler& h : {narrow, wide}) {
        pieces fits({"ab", "c"});
        EXPECT_EQ(outcome(h, fits), "200abc");
        pieces exceeds({"ab", "cd"});
        EXPECT_EQ(outcome(h, exceeds), "413");
    }
}
