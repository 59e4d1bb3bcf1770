#include "unit/http/middleware/asked.hpp"
#include "unit/http/middleware/body_in_pieces.hpp"

#include <coracle/http/extract.hpp>
#include <coracle/http/middleware/csrf.hpp>
#include <coracle/http/middleware/keep_body.hpp>
#include <coracle/http/router.hpp>

using namespace middleware_test;

namespace {

/// The body as a middleware inside of `keep_body` saw it, and as the handler read it.
struct readings {
    std::string before;
    std::string handler;
};

readings pass(const http::keep_body& m, pieces& body, asked& a) {
    readings all;
    const auto check = [&](http::request& req, const http::handler& next) -> task<http::response> {
        all.before = http::keep_body::of(req);
        co_return co_await next(req);
    };
    const http::handler read = [&](http::request& req) -> task<http::response> {
        all.handler = co_await req.body().text();
        co_return "read";
    };
    a.req.set_body(http::received_body(&body));
    const http::handler h = http::detail::contain(http::wrap(m, http::wrap(check, read)));
    run_virtually([&] { return a.by(h); });
    return all;
}

}  // namespace

TEST(keep_body, lets_the_bytes_be_seen_before_the_handler_reads_them) {
    pieces body({"bo", "ats"});
    asked a("POST");
    const readings all = pass(http::keep_body(), body, a);
    EXPECT_EQ(a.status(), 200);
    EXPECT_EQ(all.before, "boats");
    EXPECT_EQ(all.handler, "boats");
}

TEST(keep_body, refuses_what_is_beyond_its_limit) {
    for (const bool announces : {false, true}) {
        pieces body({"bo", "ats"}, announces);
        asked a("POST");
        const readings all = pass(http::keep_body(4), body, a);
        EXPECT_EQ(a.status(), 413);
        EXPECT_EQ(all.before, "");
        EXPECT_EQ(all.handler, "");
    }
}

TEST(keep_body, gives_nothing_where_there_is_no_body_or_it_did_not_pass) {
    asked a("GET");
    std::string before = "?";
    const http::handler see = [&](http::request& req) {
        before = http::keep_body::of(req);
        return http::response("seen");
    };
    const http::handler h = http::wrap(http::keep_body(), see);
    run_virtually([&] { return a.by(h); });
    EXPECT_EQ(a.status(), 200);
    EXPECT_EQ(before, "");
    asked without("POST");
    EXPECT_EQ(http::keep_body::of(without.req), "");
}

TEST(keep_body, may_stand_around_itself_and_around_csrf) {
    pieces body({"a=", "1"});
    asked a("POST", {{"Content-Type", "application/x-www-form-urlencoded"},
                     {"Sec-Fetch-Site", "same-origin"}});
    http::router routes;
    routes.use(http::keep_body(10));
    routes.use(http::keep_body(1));
    routes.use(http::csrf());
    std::string seen;
    routes.post("/", [&seen](http::form_field<"a", std::string> f) {
        seen = *f;
        return "taken";
    });
    a.req.set_body(http::received_body(&body));
    const http::handler h = routes;
    run_virtually([&] { return a.by(h); });
    EXPECT_EQ(a.status(), 200);
    EXPECT_EQ(seen, "1");
}
