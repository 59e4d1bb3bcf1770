#include "unit/http/middleware/asked.hpp"

#include <coracle/http/extract.hpp>
#include <coracle/http/forwarded.hpp>
#include <coracle/http/middleware/csrf.hpp>
#include <coracle/http/middleware/sessions.hpp>

#include <functional>
#include <memory>

using namespace middleware_test;

namespace {

int status_of(const http::handler& h, std::string_view method, field_list fields) {
    asked a(method, fields);
    run_virtually([&] { return a.by(h); });
    return a.status();
}

/// The body of a form.
class text_source final : public http::body_source {
public:
    explicit text_source(std::string text) : text_(std::move(text)) {}
    task<std::expected<std::string_view, error>> read() override {
        co_return std::exchange(done_, true) ? std::string_view() : text_;
    }
    std::optional<std::uint64_t> length() const noexcept override { return text_.size(); }

private:
    std::string text_;
    bool done_ = false;
};

std::string cookie_of(const asked& a) {
    const std::string line = a.header("Set-Cookie");
    return line.substr(0, line.find(';'));
}

http::handler token_page() {
    return [](http::request& req) { return http::response(http::csrf::token(req)); };
}

http::csrf_options with_cookie() {
    http::csrf_options o;
    o.token = http::csrf_token::cookie;
    o.key = secret(std::string(32, 'k'));
    return o;
}

}  // namespace

TEST(csrf, refuses_what_pages_of_other_sites_send) {
    http::csrf_options o;
    o.origins = {"https://App.example.com"};
    const http::handler h = http::wrap(http::csrf(o), plain());
    const auto is_served = [&h](std::string_view site, std::string_view origin) {
        const int status = status_of(h, "POST", {{"Sec-Fetch-Site", site}, {"Origin", origin}});
        EXPECT_TRUE(status == 200 || status == 403) << status;
        return status == 200;
    };
    EXPECT_TRUE(is_served("same-origin", "http://x"));
    EXPECT_TRUE(is_served("none", ""));
    EXPECT_FALSE(is_served("cross-site", "https://evil.example"));
    EXPECT_FALSE(is_served("same-site", "https://other.x"));
    EXPECT_FALSE(is_served("cross-site", "null"));
    EXPECT_FALSE(is_served("Same-Origin", "https://evil.example"));
    EXPECT_TRUE(is_served("cross-site", "https://app.example.com"));
    EXPECT_TRUE(is_served("cross-site", "https://APP.example.com"));
    EXPECT_FALSE(is_served("cross-site", "https://app.example.com.evil.example"));
    // A cross-site request cannot claim our own origin, and a browser would not.
    EXPECT_FALSE(is_served("cross-site", "http://x"));
    for (const std::string_view method : {"PUT", "DELETE", "PATCH", "NEW"}) {
        EXPECT_EQ(status_of(h, method, {{"Sec-Fetch-Site", "cross-site"}}), 403) << method;
    }
    for (const std::string_view method : {"GET", "HEAD", "OPTIONS"}) {
        EXPECT_EQ(status_of(h, method, {{"Sec-Fetch-Site", "cross-site"}}), 200) << method;
    }
}

TEST(csrf, compares_the_origin_with_the_host_for_older_browsers) {
    const http::handler h = http::wrap(http::csrf(), plain());
    const auto status = [&h](std::string_view origin) {
        return status_of(h, "POST", {{"Origin", origin}});
    };
    EXPECT_EQ(status("http://x"), 200);
    EXPECT_EQ(status("https://x"), 200);  // TLS may end before this server
    EXPECT_EQ(status("http://X"), 200);
    EXPECT_EQ(status("http://x:8080"), 403);
    EXPECT_EQ(status("http://y"), 403);
    EXPECT_EQ(status("null"), 403);
    EXPECT_EQ(status("http://evil.example/x"), 403);
    EXPECT_EQ(status("x"), 403);
    EXPECT_EQ(status_of(h, "POST", {}), 200);
    http::csrf_options strict;
    strict.strict = true;
    EXPECT_EQ(status_of(http::wrap(http::csrf(strict), plain()), "POST", {}), 403);
    // Where a proxy tells that the client came by https, a page of http is another origin.
    const http::handler behind =
        http::trust_proxies({"192.0.2.0/24"})(http::wrap(http::csrf(), plain()));
    const auto over_tls = [&behind](std::string_view origin) {
        return status_of(behind, "POST",
                         {{"X-Forwarded-For", "198.51.100.1"},
                          {"X-Forwarded-Proto", "https"},
                          {"Origin", origin}});
    };
    EXPECT_EQ(over_tls("https://x"), 200);
    EXPECT_EQ(over_tls("http://x"), 403);
}

TEST(csrf, wants_the_token_of_its_cookie) {
    const http::csrf guard(with_cookie());
    const http::handler page = http::wrap(guard, token_page());
    const http::handler h = http::wrap(guard, plain());
    asked got("GET");
    run_virtually([&] { return got.by(page); });
    const std::string cookie = cookie_of(got);
    EXPECT_EQ(cookie.substr(0, 12), "__Host-csrf=");
    EXPECT_EQ(got.header("Set-Cookie").find("HttpOnly"), std::string::npos);
    EXPECT_EQ(got.header("Cache-Control"), "no-store");
    const std::string token = got.text();

    asked again("GET", {{"Cookie", cookie}});
    run_virtually([&] { return again.by(page); });
    EXPECT_EQ(again.header("Set-Cookie"), "");
    EXPECT_NE(again.text(), token);

    const auto post = [&h](std::string_view brought, std::string_view with) {
        return status_of(h, "POST", {{"Cookie", brought}, {"X-CSRF-Token", with}});
    };
    EXPECT_EQ(post(cookie, token), 200);
    EXPECT_EQ(post(cookie, again.text()), 200);
    EXPECT_EQ(post(cookie, cookie.substr(12)), 200);
    EXPECT_EQ(post(cookie, ""), 403);
    EXPECT_EQ(post("", token), 403);
    EXPECT_EQ(post("", ""), 403);
    EXPECT_EQ(post("__Host-csrf=abc", "abc"), 403);  // a cookie that an attacker planted
    std::string changed = token;
    changed[20] = changed[20] == 'A' ? 'B' : 'A';
    EXPECT_EQ(post(cookie, changed), 403);
    EXPECT_EQ(post(cookie, token.substr(1)), 403);
    EXPECT_EQ(post(cookie, std::string(10'000, 'A')), 403);
    // Another client has another token.
    asked other("GET");
    run_virtually([&]() -> task<> {
        static_cast<void>(loop::current()->random());
        static_cast<void>(loop::current()->random());
        static_cast<void>(loop::current()->random());
        co_await other.by(page);
    });
    EXPECT_EQ(post(cookie, other.text()), 403);
    EXPECT_EQ(post(cookie_of(other), other.text()), 200);
    // The token does not replace the check of the origin.
    EXPECT_EQ(
        status_of(h, "POST",
                  {{"Cookie", cookie}, {"X-CSRF-Token", token}, {"Sec-Fetch-Site", "cross-site"}}),
        403);
}

TEST(csrf, finds_the_token_in_a_form_that_the_handler_reads_again) {
    const http::csrf guard(with_cookie());
    const http::handler page = http::wrap(guard, token_page());
    const auto keeps = [](http::form all) {
        return http::response(std::string(all.get("name").value_or("none")));
    };
    const http::handler h = http::wrap(guard, http::handler(keeps));
    asked got("GET");
    run_virtually([&] { return got.by(page); });
    const auto post = [&](std::string token, std::string_view type) {
        text_source source("name=ann&csrf_token=" + token);
        asked a("POST", {{"Cookie", cookie_of(got)}, {"Content-Type", type}});
        a.req.set_body(http::received_body(&source));
        run_virtually([&] { return a.by(h); });
        return std::to_string(a.status()) + (a.status() == 200 ? a.text() : "");
    };
    constexpr std::string_view form = "application/x-www-form-urlencoded";
    EXPECT_EQ(post(got.text(), form), "200ann");
    EXPECT_EQ(post("", form), "403");
    EXPECT_EQ(post(got.text(), "text/plain"), "403");
}

TEST(csrf, leaves_the_body_to_the_handler) {
    const http::csrf guard(with_cookie());
    asked got("GET");
    const http::handler page = http::wrap(guard, token_page());
    run_virtually([&] { return got.by(page); });
    const std::string body = "name=ann&csrf_token=" + got.text();
    const auto post = [&](const http::handler& h) {
        text_source source(body);
        asked a("POST", {{"Cookie", cookie_of(got)},
                         {"Content-Type", "application/x-www-form-urlencoded"}});
        a.req.set_body(http::received_body(&source));
        const http::handler guarded = http::wrap(guard, h);
        run_virtually([&] { return a.by(guarded); });
        return a.text();
    };
    EXPECT_EQ(post([](http::request& req) -> task<http::response> {
                  const std::string text = co_await req.body().text();
                  EXPECT_TRUE(req.body().ended());
                  co_return text;
              }),
              body);
    EXPECT_EQ(post([](http::request& req) -> task<http::response> {
                  const http::form all = co_await http::read_form(req);
                  co_return std::string(all.get("name").value_or("none"));
              }),
              "ann");
    EXPECT_EQ(post([&body](http::request& req) {
                  return std::to_string(req.body().length() == body.size());
              }),
              "1");
}

TEST(csrf, keeps_the_token_in_the_session) {
    http::csrf_options o;
    o.token = http::csrf_token::session;
    const http::sessions sessions;
    const http::csrf guard(o);
    const http::handler page = http::wrap(sessions, http::wrap(guard, token_page()));
    const http::handler h = http::wrap(sessions, http::wrap(guard, plain()));
    run_virtually([&]() -> task<> {
        asked got("GET");
        co_await got.by(page);
        const std::string cookie = cookie_of(got);
        EXPECT_EQ(cookie.substr(0, 15), "__Host-session=");
        const std::string token = got.text();
        asked good("POST", {{"Cookie", cookie}, {"X-CSRF-Token", token}});
        co_await good.by(h);
        EXPECT_EQ(good.status(), 200);
        asked bad("POST", {{"Cookie", cookie}});
        co_await bad.by(h);
        EXPECT_EQ(bad.status(), 403);
        asked another("GET");
        co_await another.by(page);
        asked mixed("POST", {{"Cookie", cookie_of(another)}, {"X-CSRF-Token", token}});
        co_await mixed.by(h);
        EXPECT_EQ(mixed.status(), 403);
    });
}

// An attacker plants a session whose secret is known, and waits until its user has logged in.
TEST(csrf, makes_other_tokens_once_a_user_has_logged_in) {
    http::csrf_options o;
    o.token = http::csrf_token::session;
    const http::sessions sessions;
    const http::csrf guard(o);
    const http::handler page = http::wrap(sessions, http::wrap(guard, token_page()));
    const http::handler login =
        http::wrap(sessions, http::wrap(guard, http::handler([](http::request& req) {
                                            http::session::of(req).log_in("ann");
                                            return http::response(http::csrf::token(req));
                                        })));
    const http::handler h = http::wrap(sessions, http::wrap(guard, plain()));
    run_virtually([&]() -> task<> {
        asked planted("GET");
        co_await planted.by(page);
        const std::string known = planted.text();
        asked in("POST", {{"Cookie", cookie_of(planted)}, {"X-CSRF-Token", known}});
        co_await in.by(login);
        EXPECT_EQ(in.status(), 200);
        const std::string cookie = cookie_of(in);
        asked forged("POST", {{"Cookie", cookie}, {"X-CSRF-Token", known}});
        co_await forged.by(h);
        EXPECT_EQ(forged.status(), 403);
        asked good("POST", {{"Cookie", cookie}, {"X-CSRF-Token", in.text()}});
        co_await good.by(h);
        EXPECT_EQ(good.status(), 200);
    });
}

TEST(csrf, refuses_options_that_are_wrong) {
    const auto refusal = [](auto change) {
        http::csrf_options o;
        change(o);
        return refusal_of([&] { http::csrf{o}; });
    };
    EXPECT_EQ(refusal([](auto& o) { o.origins = {"app.example.com"}; }), "app.example.com");
    EXPECT_EQ(refusal([](auto& o) { o.origins = {"https://a/"}; }), "https://a/");
    EXPECT_EQ(refusal([](auto& o) { o.origins = {"https://a:443"}; }), "https://a:443");
    EXPECT_EQ(refusal([](auto& o) { o.field = "a b"; }), "field");
    EXPECT_EQ(refusal([](auto& o) { o.token = http::csrf_token::cookie; }), "key");
    asked a("GET");
    EXPECT_NE(refusal_of([&] { static_cast<void>(http::csrf::token(a.req)); }), "none");
}
