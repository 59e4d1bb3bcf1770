#include "http/client/auth/digest.hpp"
#include "http/middleware/nonce_table.hpp"
#include "unit/http/middleware/asked.hpp"

#include <coracle/http/middleware/digest_authentication.hpp>

#include <optional>

using namespace middleware_test;

namespace {

constexpr std::string_view realm = "harbour";

task<std::optional<secret>> look_up(std::string_view user) {
    if (user != "ann" && user != "j\xc3\xb6rg") co_return std::nullopt;
    co_return http::digest_authentication::stored_password(user, realm, "sesame");
}

http::handler guarded(http::digest_options o = {}) {
    o.realm = realm;
    const http::handler inner = [](http::request& req) {
        return http::response(req.data<http::identity>()->name);
    };
    return http::wrap(http::digest_authentication(look_up, o), inner);
}

/// The credentials that the client of this library makes.
std::string credentials(const http::response& challenge, std::string_view user,
                        std::string_view password, std::uint32_t count,
                        std::string_view method = "GET", std::string_view target = "/") {
    const auto all = http::detail::challenges_in(challenge.fields(), "WWW-Authenticate");
    const auto c = http::detail::strongest(all);
    if (!c) return "none";
    const auto key = http::detail::digest_key(*c, {user, password}, "cnonce");
    http::detail::digest_request r;
    r.method = method;
    r.target = target;
    return http::detail::digest_authorization(*c, *key, user, r, "cnonce", count).value_or("none");
}

task<std::string> ask(const http::handler& h, std::string credentials) {
    asked a("GET", {{"Authorization", credentials}});
    co_await a.by(h);
    const bool is_stale = a.header("WWW-Authenticate").ends_with(", stale=true");
    if (a.status() == 401) co_return is_stale ? "stale" : "401";
    co_return a.text();
}

}  // namespace

TEST(digest_authentication, serves_who_knows_the_password) {
    const http::handler h = guarded();
    run_virtually([&]() -> task<> {
        asked none("GET");
        co_await none.by(h);
        EXPECT_EQ(none.status(), 401);
        const std::string challenge = none.header("WWW-Authenticate");
        EXPECT_TRUE(challenge.starts_with(
            "Digest realm=\"harbour\", qop=\"auth\", algorithm=SHA-256, nonce=\""))
            << challenge;
        EXPECT_EQ(co_await ask(h, credentials(none.res, "ann", "sesame", 1)), "ann");
        EXPECT_EQ(co_await ask(h, credentials(none.res, "j\xc3\xb6rg", "sesame", 2)),
                  "j\xc3\xb6rg");
        EXPECT_EQ(co_await ask(h, credentials(none.res, "ann", "other", 3)), "401");
        EXPECT_EQ(co_await ask(h, credentials(none.res, "bob", "sesame", 4)), "401");
        EXPECT_EQ(co_await ask(h, credentials(none.res, "ann", "sesame", 5, "POST")), "401");
        EXPECT_EQ(co_await ask(h, credentials(none.res, "ann", "sesame", 6, "GET", "/x")), "401");
        // A failure uses up no count.
        EXPECT_EQ(co_await ask(h, credentials(none.res, "ann", "sesame", 3)), "ann");
    });
}

TEST(digest_authentication, refuses_what_was_sent_before) {
    const http::handler h = guarded();
    run_virtually([&]() -> task<> {
        asked none("GET");
        co_await none.by(h);
        const std::string first = credentials(none.res, "ann", "sesame", 1);
        const std::string second = credentials(none.res, "ann", "sesame", 2);
        EXPECT_EQ(co_await ask(h, second), "ann");  // over HTTP/2 they may pass each other
        EXPECT_EQ(co_await ask(h, first), "ann");
        EXPECT_EQ(co_await ask(h, first), "stale");
        EXPECT_EQ(co_await ask(h, second), "stale");
        const std::string late = credentials(none.res, "ann", "sesame", 100);
        EXPECT_EQ(co_await ask(h, late), "ann");
        const std::string too_old = credentials(none.res, "ann", "sesame", 36);
        EXPECT_EQ(co_await ask(h, too_old), "stale");
        const std::string old = credentials(none.res, "ann", "sesame", 37);
        EXPECT_EQ(co_await ask(h, old), "ann");
    });
}

TEST(digest_authentication, takes_nonces_for_a_time_and_only_its_own) {
    http::digest_options o;
    o.nonce_lifetime = 10s;
    const http::handler h = guarded(o);
    const http::handler other = guarded(o);
    run_virtually([&]() -> task<> {
        asked none("GET");
        co_await none.by(h);
        asked foreign("GET");
        co_await foreign.by(other);
        EXPECT_EQ(co_await ask(h, credentials(foreign.res, "ann", "sesame", 1)), "stale");
        co_await sleep_for(9s);
        EXPECT_EQ(co_await ask(h, credentials(none.res, "ann", "sesame", 1)), "ann");
        co_await sleep_for(2s);
        EXPECT_EQ(co_await ask(h, credentials(none.res, "ann", "sesame", 2)), "stale");
    });
}

TEST(digest_authentication, may_take_nonces_for_ever) {
    http::digest_options o;
    o.nonce_lifetime = std::chrono::seconds::max();
    const http::handler h = guarded(o);
    run_virtually([&]() -> task<> {
        asked none("GET");
        co_await none.by(h);
        co_await sleep_for(24h);
        EXPECT_EQ(co_await ask(h, credentials(none.res, "ann", "sesame", 1)), "ann");
    });
}

TEST(digest_authentication, survives_what_is_malformed) {
    const http::handler h = guarded();
    run_virtually([&]() -> task<> {
        asked none("GET");
        co_await none.by(h);
        const std::string good = credentials(none.res, "ann", "sesame", 1);
        for (std::size_t i = 0; i < good.size(); ++i) {
            const std::string cut = good.substr(0, i);
            if (cut.ends_with(' ')) continue;  // no value of a field
            EXPECT_EQ(co_await ask(h, cut), "401") << cut;
        }
        const auto with = [&good](std::string_view from, std::string_view to) {
            std::string text = good;
            return text.replace(text.find(from), from.size(), to);
        };
        const std::vector<std::string> bad = {
            with("algorithm=SHA-256", "algorithm=MD5"), with("nc=00000001", "nc=0000001"),
            with("nc=00000001", "nc=00000000"),         with("nc=00000001", "nc=-0000001"),
            with("qop=auth", "qop=auth-int"),           with("realm=\"harbour\"", "realm=\"x\""),
            with("cnonce=\"cnonce\"", "cnonce=\"\""),   with("Digest ", "Basic "),
            good + ", x=" + std::string(9000, 'x')};
        for (const std::string& text : bad) {
            EXPECT_EQ(co_await ask(h, text), "401") << text;
        }
        EXPECT_EQ(co_await ask(h, good), "ann");
    });
    http::digest_options o;
    o.realm = "a\"b";
    EXPECT_EQ(refusal_of([&] { http::digest_authentication(look_up, o); }), "realm");
    o = {};
    o.nonces = 0;
    EXPECT_EQ(refusal_of([&] { http::digest_authentication(look_up, o); }), "nonces");
    o = {};
    o.nonce_lifetime = 0s;
    EXPECT_EQ(refusal_of([&] { http::digest_authentication(look_up, o); }), "nonce_lifetime");
}

TEST(nonce_table, retires_nonces_rather_than_forget_their_uses) {
    http::detail::nonce_table table(2);
    EXPECT_TRUE(table.use("a", 1, 1));
    EXPECT_TRUE(table.use("b", 2, 1));
    EXPECT_TRUE(table.use("a", 1, 2));
    EXPECT_TRUE(table.use("c", 3, 1));  // in place of b
    EXPECT_EQ(table.size(), 2u);
    EXPECT_FALSE(table.use("b", 2, 1));
    EXPECT_FALSE(table.use("b", 2, 2));
    EXPECT_FALSE(table.use("older", 1, 1));
    EXPECT_TRUE(table.use("a", 1, 3));
    EXPECT_TRUE(table.use("d", 4, 1));
    EXPECT_EQ(table.size(), 2u);
    EXPECT_FALSE(table.use("c", 3, 2));
}
