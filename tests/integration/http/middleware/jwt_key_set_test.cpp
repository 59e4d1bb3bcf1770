// Keys for JSON Web Tokens that are fetched, in virtual time.

#include "unit/http/middleware/jwt_samples.hpp"

#include <coracle/http/client.hpp>
#include <coracle/http/middleware/jwt_key_set.hpp>
#include <coracle/mime/base64.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/simulation.hpp>
#include <coracle/tls/hash.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>

using namespace coracle;
using namespace jwt_samples;
using namespace std::chrono_literals;

namespace {

std::string key_set(std::string_view id) {
    return R"({"keys":[{"kty":"oct","k":"AAAA","kid":"sym"},{"kty":"EC","crv":"P-256","kid":")" +
           std::string(id) + R"(","x":")" + std::string(p256_x) + R"(","y":")" +
           std::string(p256_y) + "\"}]}";
}

std::string url64(std::string_view bytes) {
    return mime::base64_encode(bytes, mime::base64_alphabet::url);
}

/// A server of keys, and one that wants tokens, in one world.
class world {
public:
    explicit world(http::jwt_key_set_options o = {}) : options_(o) {
        log_off();
        http::router routes;
        routes.get("/jwks", [this](http::request&) -> task<http::response> {
            ++fetched;
            if (delay != 0s) co_await sleep_for(delay);
            http::response r(status, body);
            if (!control.empty()) r.set("Cache-Control", control);
            if (!age.empty()) r.set("Age", age);
            if (!more_control.empty()) r.fields().add("Cache-Control", more_control);
            co_return r;
        });
        server_.emplace(sim_.loop(), std::move(routes));
        client_.emplace();
        set_.emplace(*client_, server_->url("/jwks"), options_);
        http::jwt_options jwt;
        jwt.requires_expiry = false;
        const http::handler inner = [](http::request& req) {
            return req.data<http::jwt_claims>()->subject;
        };
        handler_ = http::wrap(http::jwt_authentication(*set_, jwt), inner);
    }

    template <class F>
    void run(F f) {
        sim_.run([&]() -> task<> {
            auto work = f();
            co_await std::move(work);
            client_.reset();
            server_->stop();
            auto ending = server_->stopped();
            co_await std::move(ending);
        });
    }

    task<int> ask(std::string_view token) {
        http::request req;
        http::request::parts p;
        p.method_text = "GET";
        p.target = p.path = "/";
        req.assign(p);
        if (!token.empty()) req.fields().add("Authorization", "Bearer " + std::string(token));
        auto handling = handler_(req);
        const http::response r = co_await std::move(handling);
        co_return static_cast<int>(r.status());
    }

    const http::jwt_key_set& set() const { return *set_; }

    int fetched = 0;
    std::string body = key_set("one");
    std::string control;
    std::string more_control;
    std::string age;
    http::status status = http::status::ok;
    duration delay{};

private:
    void log_off() { sim_.log().set_level(log_level::off); }

    http::jwt_key_set_options options_;
    coracle::testing::simulation sim_{7};
    std::optional<coracle::testing::local_server> server_;
    std::optional<http::client> client_;
    std::optional<http::jwt_key_set> set_;
    http::handler handler_;
};

/// A token that names a key which does not exist.
std::string unknown(int i) {
    const std::string header = R"({"alg":"ES256","kid":"made up )" + std::to_string(i) + "\"}";
    return url64(header) + ".e30." + url64(std::string(64, 's'));
}

}  // namespace

TEST(jwt_key_set, is_fetched_once_and_kept) {
    world w;
    w.run([&]() -> task<> {
        EXPECT_EQ(co_await w.ask(""), 401);
        EXPECT_EQ(w.fetched, 0);  // without a token there is nothing to verify
        for (int i = 0; i != 5; ++i) EXPECT_EQ(co_await w.ask(es256), 200);
        EXPECT_EQ(w.fetched, 1);
        EXPECT_EQ(co_await w.ask(rs256), 401);  // names a key of the set, of another kind
        EXPECT_EQ(co_await w.ask(es256.substr(0, es256.size() - 4)), 401);
        EXPECT_EQ(w.fetched, 1);
    });
    EXPECT_EQ(w.set().fetches(), 1u);
    EXPECT_EQ(w.set().failures(), 0u);
}

TEST(jwt_key_set, is_fetched_though_the_request_that_wants_it_is_gone) {
    world w;
    w.delay = 1s;
    w.run([&]() -> task<> {
        const auto leave = [&](task_group& group) -> task<> {
            group.spawn([&]() -> task<> { co_await w.ask(es256); });
            co_await sleep_for(100ms);
            group.cancel();
        };
        co_await as_result(with_task_group(leave));
        co_await sleep_for(1s);
        EXPECT_EQ(co_await w.ask(es256), 200);
        EXPECT_EQ(w.fetched, 1);
    });
    EXPECT_EQ(w.set().failures(), 0u);
}

TEST(jwt_key_set, is_fetched_once_by_many_requests_at_a_time) {
    world w;
    w.delay = 1s;
    w.run([&]() -> task<> {
        const auto all = [&](task_group& group) -> task<> {
            for (int i = 0; i != 20; ++i) {
                group.spawn([&]() -> task<> { EXPECT_EQ(co_await w.ask(es256), 200); });
            }
            co_return;
        };
        co_await with_task_group(all);
        EXPECT_EQ(w.fetched, 1);
    });
}

TEST(jwt_key_set, holds_as_long_as_its_response_says_within_bounds) {
    world w;
    w.control = "public, max-age=300";
    w.run([&]() -> task<> {
        EXPECT_EQ(co_await w.ask(es256), 200);
        co_await sleep_for(290s);
        EXPECT_EQ(co_await w.ask(es256), 200);
        EXPECT_EQ(w.fetched, 1);
        w.control = "max-age=1";
        co_await sleep_for(20s);
        EXPECT_EQ(co_await w.ask(es256), 200);  // by the old set, while a new one comes
        co_await sleep_for(1s);
        EXPECT_EQ(w.fetched, 2);
        co_await sleep_for(50s);  // at least a minute
        EXPECT_EQ(co_await w.ask(es256), 200);
        co_await sleep_for(1s);
        EXPECT_EQ(w.fetched, 2);
        w.control = "max-age=4294967295";
        co_await sleep_for(30s);
        EXPECT_EQ(co_await w.ask(es256), 200);
        co_await sleep_for(1s);
        EXPECT_EQ(w.fetched, 3);
        w.control = "max-age=31536000000";  // more than most can count
        co_await sleep_for(24h);            // at most
        EXPECT_EQ(co_await w.ask(es256), 200);
        co_await sleep_for(1s);
        EXPECT_EQ(w.fetched, 4);
        co_await sleep_for(23h);
        EXPECT_EQ(co_await w.ask(es256), 200);
        co_await sleep_for(1s);
        EXPECT_EQ(w.fetched, 4);
    });
}

// RFC 9111 section 4.2.
TEST(jwt_key_set, holds_no_longer_for_the_time_that_it_was_in_a_cache) {
    for (const char* age : {"280", "301", "99999999999"}) {
        world w;
        w.control = "max-age=300";
        w.age = age;
        w.run([&]() -> task<> {
            EXPECT_EQ(co_await w.ask(es256), 200);
            co_await sleep_for(50s);
            EXPECT_EQ(co_await w.ask(es256), 200);
            co_await sleep_for(1s);
            EXPECT_EQ(w.fetched, 1);
            co_await sleep_for(10s);  // at least a minute
            EXPECT_EQ(co_await w.ask(es256), 200);
            co_await sleep_for(1s);
            EXPECT_EQ(w.fetched, 2) << age;
        });
    }
}

TEST(jwt_key_set, holds_as_short_as_any_line_of_its_response_says) {
    world w;
    w.control = "public";
    w.more_control = "no-store";
    w.run([&]() -> task<> {
        EXPECT_EQ(co_await w.ask(es256), 200);
        co_await sleep_for(70s);
        EXPECT_EQ(co_await w.ask(es256), 200);
        co_await sleep_for(1s);
        EXPECT_EQ(w.fetched, 2);
    });
}

TEST(jwt_key_set, learns_of_a_new_key_and_forgets_one_that_is_gone) {
    world w;
    w.body = key_set("zero");
    w.run([&]() -> task<> {
        EXPECT_EQ(co_await w.ask(es256), 401);
        EXPECT_EQ(w.fetched, 1);
        w.body = key_set("one");
        EXPECT_EQ(co_await w.ask(es256), 401);  // not within the pause
        co_await sleep_for(31s);
        EXPECT_EQ(co_await w.ask(es256), 200);
        EXPECT_EQ(w.fetched, 2);
        w.body = key_set("two");
        co_await sleep_for(11min);
        EXPECT_EQ(co_await w.ask(es256), 200);
        co_await sleep_for(1s);
        EXPECT_EQ(co_await w.ask(es256), 401);
    });
}

// A key without an id may be meant by any token (RFC 7517 section 4.5).
TEST(jwt_key_set, makes_nobody_wait_whose_token_its_keys_may_verify) {
    world w;
    w.body.replace(w.body.find(R"("kid":"one",)"), 12, "");
    w.run([&]() -> task<> {
        EXPECT_EQ(co_await w.ask(es256), 200);
        w.delay = 1h;
        co_await sleep_for(40s);
        const time_point begun = loop::current()->now();
        EXPECT_EQ(co_await w.ask(es256), 200);
        EXPECT_EQ(loop::current()->now(), begun);
    });
}

TEST(jwt_key_set, learns_of_keys_that_follow_one_without_an_id) {
    world w;
    w.control = "max-age=86400";
    w.run([&]() -> task<> {
        // A key by which no token here is signed.
        w.body = R"({"keys":[{"kty":"OKP","crv":"Ed25519","x":")" + url64(std::string(32, 'k')) +
                 R"("}]})";
        EXPECT_EQ(co_await w.ask(es256), 401);
        w.body = key_set("one");
        co_await sleep_for(40s);
        EXPECT_EQ(co_await w.ask(es256), 401);  // it waits for nothing
        co_await sleep_for(1s);
        EXPECT_EQ(co_await w.ask(es256), 200);
        EXPECT_EQ(w.fetched, 2);
    });
}

TEST(jwt_key_set, is_not_fetched_for_each_key_that_a_stranger_makes_up) {
    world w;
    w.run([&]() -> task<> {
        EXPECT_EQ(co_await w.ask(es256), 200);
        for (int i = 0; i != 300; ++i) {
            EXPECT_EQ(co_await w.ask(unknown(i)), 401);
            co_await sleep_for(1s);
        }
        EXPECT_LE(w.fetched, 11);  // one in 30 s
        EXPECT_GE(w.fetched, 8);
        EXPECT_EQ(co_await w.ask(es256), 200);
    });
}

TEST(jwt_key_set, goes_on_with_its_keys_while_fetching_fails) {
    http::jwt_key_set_options o;
    o.stale = 1h;
    world w(o);
    w.run([&]() -> task<> {
        EXPECT_EQ(co_await w.ask(es256), 200);
        w.status = http::status::internal_server_error;
        for (int i = 0; i != 60; ++i) {
            co_await sleep_for(1min);
            EXPECT_EQ(co_await w.ask(es256), 200) << i;
        }
        w.status = http::status::ok;
        for (const char* bad :
             {"", "{}", R"({"keys":[]})", R"({"keys":[{"kty":"oct","k":"AAAA"}]})"}) {
            w.body = bad;
            co_await sleep_for(10s);
            EXPECT_EQ(co_await w.ask(es256), 200) << bad;
        }
        w.body = std::string(300 * 1024, ' ') + key_set("one");
        co_await sleep_for(10s);
        EXPECT_EQ(co_await w.ask(es256), 200);
        co_await sleep_for(1s);
        EXPECT_GT(w.set().failures(), 40u);
        EXPECT_EQ(w.set().failures() + 1, w.set().fetches());
        // Not for ever.
        w.status = http::status::internal_server_error;
        co_await sleep_for(11min);
        EXPECT_EQ(co_await w.ask(es256), 503);
        EXPECT_EQ(co_await w.ask(""), 401);
        w.status = http::status::ok;
        w.body = key_set("one");
        EXPECT_EQ(co_await w.ask(es256), 503);  // the last try was a moment ago
        co_await sleep_for(6s);
        EXPECT_EQ(co_await w.ask(es256), 200);
    });
}

TEST(jwt_key_set, does_not_wait_for_ever) {
    world w;
    w.delay = 1h;
    w.run([&]() -> task<> {
        const time_point begun = loop::current()->now();
        EXPECT_EQ(co_await w.ask(es256), 503);
        EXPECT_LE(loop::current()->now() - begun, 6s);
    });
}

TEST(jwt_key_set, takes_no_symmetric_key_and_no_token_without_a_signature) {
    world w;
    w.run([&]() -> task<> {
        const std::string text = url64(R"({"alg":"HS256","kid":"sym"})") + "." + url64("{}");
        const std::string mac = tls::hmac(tls::hash::sha256, std::string(3, '\0'), text);
        EXPECT_EQ(co_await w.ask(text + "." + url64(mac)), 401);
        const std::string none = url64(R"({"alg":"none","kid":"one"})") + "." + url64("{}") + ".";
        EXPECT_EQ(co_await w.ask(none), 401);
        // The public key as a shared secret.
        const std::string confused = url64(R"({"alg":"HS256","kid":"one"})") + "." + url64("{}");
        for (const std::string_view key : {p256_pem, p256_x}) {
            const std::string forged = tls::hmac(tls::hash::sha256, key, confused);
            EXPECT_EQ(co_await w.ask(confused + "." + url64(forged)), 401);
        }
        EXPECT_EQ(co_await w.ask(std::string(9000, 'a')), 401);
    });
}

TEST(jwt_key_set, refuses_options_that_are_wrong) {
    http::client client;
    EXPECT_THROW(http::jwt_key_set(client, "nowhere"), exception);
    http::jwt_key_set_options o;
    o.shortest = 2min;
    o.longest = 1min;
    EXPECT_THROW(http::jwt_key_set(client, "https://x/", o), exception);
}
