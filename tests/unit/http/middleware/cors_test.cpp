#include "unit/http/middleware/asked.hpp"

#include <coracle/http/middleware/cors.hpp>

using namespace middleware_test;

namespace {

constexpr std::string_view ours = "https://app.example.com";

http::cors_options only_ours() {
    http::cors_options o;
    o.origins = {std::string(ours), "https://*.example.org:8443"};
    return o;
}

std::string origin_of(const http::cors_options& o, std::string_view origin) {
    std::string out;
    for (const http::handler& inner : {plain(), waiting()}) {
        asked a("GET", {{"Origin", origin}});
        const http::handler h = http::cors(o)(inner);
        run_virtually([&] { return a.by(h); });
        EXPECT_EQ(a.text(), "reached");
        out = a.header("Access-Control-Allow-Origin");
    }
    return out;
}

}  // namespace

TEST(cors, lets_the_origins_of_its_list_read_responses) {
    EXPECT_EQ(origin_of(only_ours(), ours), ours);
    EXPECT_EQ(origin_of(only_ours(), "https://a.example.org:8443"), "https://a.example.org:8443");
    EXPECT_EQ(origin_of(only_ours(), "https://a.b.example.org:8443"),
              "https://a.b.example.org:8443");
    for (const std::string_view other :
         {"http://app.example.com", "https://app.example.com:8443", "https://app.example.com.evil",
          "https://xapp.example.com", "https://example.org:8443", "https://.example.org:8443",
          "https://evil.test/.example.org:8443", "https://evil.test:1.example.org:8443",
          "https://u@a.example.org:8443", "https://a.example.org", "null", ""}) {
        EXPECT_EQ(origin_of(only_ours(), other), "") << other;
    }
    http::cors_options all;
    all.origins = {"*"};
    EXPECT_EQ(origin_of(all, "https://anyone.test"), "*");
    EXPECT_EQ(origin_of({}, ours), "");
}

// One that it stands around, such as another server, permits nothing.
TEST(cors, decides_alone_who_may_read) {
    const http::handler inner = [](http::request& req) {
        return http::response("x")
            .set("Access-Control-Allow-Origin", req.header("Origin"))
            .set("Access-Control-Allow-Credentials", "true");
    };
    const http::handler h = http::cors(only_ours())(inner);
    asked other("GET", {{"Origin", "https://evil.test"}});
    run_virtually([&] { return other.by(h); });
    EXPECT_EQ(other.header("Access-Control-Allow-Origin"), "");
    EXPECT_EQ(other.header("Access-Control-Allow-Credentials"), "");
    asked mine("GET", {{"Origin", ours}});
    run_virtually([&] { return mine.by(h); });
    EXPECT_EQ(mine.header("Access-Control-Allow-Origin"), ours);
    EXPECT_EQ(mine.header("Access-Control-Allow-Credentials"), "");
}

TEST(cors, responses_vary_by_origin_unless_all_may_read_them) {
    http::cors_options all;
    all.origins = {"*"};
    asked first("GET");
    asked second("GET", {{"Origin", ours}});
    asked third("GET", {{"Origin", ours}});
    const http::handler some = http::cors(only_ours())(plain());
    const http::handler any = http::cors(all)(plain());
    run_virtually([&]() -> task<> {
        co_await first.by(some);
        co_await second.by(some);
        co_await third.by(any);
    });
    EXPECT_EQ(first.all("Vary"), "Origin");
    EXPECT_EQ(first.header("Access-Control-Allow-Origin"), "");
    EXPECT_EQ(second.all("Vary"), "Origin");
    EXPECT_EQ(third.all("Vary"), "");
}

TEST(cors, that_any_origin_may_have_says_so_to_all_as_a_cache_gives_it_to_others) {
    http::cors_options all;
    all.origins = {"*"};
    asked a("GET");
    const http::handler any = http::cors(all)(plain());
    run_virtually([&] { return a.by(any); });
    EXPECT_EQ(a.header("Access-Control-Allow-Origin"), "*");
}

TEST(cors, responds_to_preflights_itself) {
    asked a("OPTIONS", {{"Origin", ours},
                        {"Access-Control-Request-Method", "PUT"},
                        {"Access-Control-Request-Headers", "x-own"}});
    const http::handler h = http::cors(only_ours())(plain());
    run_virtually([&] { return a.by(h); });
    EXPECT_EQ(a.status(), 204);
    EXPECT_EQ(a.header("Access-Control-Allow-Origin"), ours);
    EXPECT_EQ(a.header("Access-Control-Allow-Methods"), "GET, HEAD, POST, PUT, PATCH, DELETE");
    EXPECT_EQ(a.header("Access-Control-Allow-Headers"), "Content-Type, Authorization");
    EXPECT_EQ(a.header("Access-Control-Max-Age"), "7200");
    EXPECT_EQ(a.header("Access-Control-Allow-Credentials"), "");
    EXPECT_EQ(a.all("Vary"),
              "Origin, Access-Control-Request-Method, Access-Control-Request-Headers");
    EXPECT_EQ(a.text(), "");
}

TEST(cors, permits_what_its_options_say) {
    http::cors_options o = only_ours();
    o.methods = {};
    o.fields = {"*"};
    o.exposed = {"X-Total", "ETag"};
    o.credentials = true;
    o.max_age = 0s;
    asked flight("OPTIONS", {{"Origin", ours},
                             {"Access-Control-Request-Method", "PUT"},
                             {"Access-Control-Request-Headers", "x-own, x-other"}});
    asked bare("OPTIONS", {{"Origin", ours}, {"Access-Control-Request-Method", "PUT"}});
    asked real("GET", {{"Origin", ours}});
    const http::handler h = http::cors(o)(plain());
    run_virtually([&]() -> task<> {
        co_await flight.by(h);
        co_await bare.by(h);
        co_await real.by(h);
    });
    EXPECT_EQ(flight.header("Access-Control-Allow-Methods"), "GET, HEAD, POST");
    EXPECT_EQ(flight.header("Access-Control-Allow-Headers"), "x-own, x-other");
    EXPECT_EQ(flight.header("Access-Control-Allow-Credentials"), "true");
    EXPECT_EQ(flight.header("Access-Control-Max-Age"), "0") << "without it, browsers take 5 s";
    EXPECT_EQ(bare.header("Access-Control-Allow-Headers"), "");
    EXPECT_EQ(real.header("Access-Control-Expose-Headers"), "X-Total, ETag");
    EXPECT_EQ(real.header("Access-Control-Allow-Credentials"), "true");
}

TEST(cors, refuses_preflights_of_others_and_passes_what_is_no_preflight) {
    asked other("OPTIONS",
                {{"Origin", "https://evil.test"}, {"Access-Control-Request-Method", "PUT"}});
    asked no_origin("OPTIONS", {{"Access-Control-Request-Method", "PUT"}});
    asked no_method("OPTIONS", {{"Origin", ours}});
    asked get("GET", {{"Origin", ours}, {"Access-Control-Request-Method", "PUT"}});
    const http::handler h = http::cors(only_ours())(plain());
    run_virtually([&]() -> task<> {
        co_await other.by(h);
        co_await no_origin.by(h);
        co_await no_method.by(h);
        co_await get.by(h);
    });
    EXPECT_EQ(other.status(), 403);
    EXPECT_EQ(other.header("Access-Control-Allow-Origin"), "");
    EXPECT_EQ(no_origin.text(), "reached");
    EXPECT_EQ(no_method.text(), "reached");
    EXPECT_EQ(get.text(), "reached");
}

TEST(cors, refuses_malformed_options) {
    const auto origin = [](const char* text) {
        return refusal_of([text] {
            http::cors_options o;
            o.origins = {text};
            http::cors{o};
        });
    };
    for (const char* text :
         {"example.com", "https://example.com/", "https://example.com/a", "https://Example.com",
          "https://*", "ftp://example.com/", "", "https://a.*.example.com", "https://u@example.com",
          "null", "https://example.com:443", "http://example.com:80", "://example.com",
          "capacitor://", "Capacitor://localhost", "capacitor://u@localhost"}) {
        EXPECT_EQ(origin(text), text);
    }
    EXPECT_EQ(origin("http://localhost:8080"), "none");
    EXPECT_EQ(origin("https://[::1]:8080"), "none");
    EXPECT_EQ(origin("capacitor://localhost"), "none");
    EXPECT_EQ(origin("chrome-extension://abcdefgh"), "none");
    http::cors_options bad;
    bad.methods = {"P UT"};
    EXPECT_EQ(refusal_of([&] { http::cors{bad}; }), "P UT");
    bad.methods = {};
    bad.fields = {"a:"};
    EXPECT_EQ(refusal_of([&] { http::cors{bad}; }), "a:");
    bad.fields = {};
    bad.exposed = {"a\r\nb"};
    EXPECT_NE(refusal_of([&] { http::cors{bad}; }), "none");
    http::cors_options all;
    all.origins = {"*"};
    all.credentials = true;
    EXPECT_EQ(refusal_of([&] { http::cors{all}; }), "credentials");
}
