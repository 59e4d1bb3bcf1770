#include "unit/http/middleware/asked.hpp"

#include <coracle/http/middleware/signed_cookie.hpp>
#include <coracle/mime/base64.hpp>

#include <vector>

using namespace middleware_test;

namespace {

const secret first_key(std::string(32, '1'));
const secret second_key(std::string(32, '2'));

template <class Cookie>
class guarded_cookies : public ::testing::Test {
public:
    static Cookie make(std::string_view name, std::vector<secret> keys = {first_key},
                       http::signed_cookie_options o = {}) {
        return Cookie(name, std::move(keys), std::move(o));
    }
};

using kinds = ::testing::Types<http::signed_cookie, http::encrypted_cookie>;
TYPED_TEST_SUITE(guarded_cookies, kinds);

/// Runs `f` where there is a loop.
template <class F>
void on_a_loop(F f) {
    run_virtually([&f]() -> task<> {
        f();
        co_return;
    });
}

std::string text_of(const http::set_cookie& c) {
    return std::string(c.value());
}

}  // namespace

TYPED_TEST(guarded_cookies, give_back_what_was_put_in) {
    const auto c = TestFixture::make("theme");
    on_a_loop([&] {
        for (const std::string& value :
             {std::string("dark"), std::string(), std::string("a;\"\0\xff", 5)}) {
            const http::set_cookie made = c.make(value);
            EXPECT_EQ(c.open(made.value()), value);
            asked a("GET", {{"Cookie", "x=1; theme=" + text_of(made)}});
            EXPECT_EQ(c.read(a.req), value);
            EXPECT_NE(made.text().find("; Path=/; Max-Age=86400; "), std::string::npos)
                << made.text();
            EXPECT_NE(made.text().find("Secure; HttpOnly; SameSite=Lax"), std::string::npos);
        }
        asked none("GET");
        EXPECT_EQ(c.read(none.req), std::nullopt);
        EXPECT_NE(c.removal().text().find("Max-Age=0"), std::string::npos);
    });
}

TYPED_TEST(guarded_cookies, refuse_what_was_changed) {
    const auto c = TestFixture::make("theme");
    on_a_loop([&] {
        const std::string good = text_of(c.make("dark"));
        for (std::size_t i = 0; i != good.size(); ++i) {
            std::string changed = good;
            changed[i] = changed[i] == 'A' ? 'B' : 'A';
            EXPECT_EQ(c.open(changed), std::nullopt) << i;
            EXPECT_EQ(c.open(good.substr(0, i)), std::nullopt) << i;
        }
        EXPECT_EQ(c.open(good + "A"), std::nullopt);
        EXPECT_EQ(c.open(good + "="), std::nullopt);
        EXPECT_EQ(c.open(std::string(5000, 'A')), std::nullopt);
        EXPECT_EQ(c.open("dark"), std::nullopt);
        EXPECT_THROW(static_cast<void>(c.make(std::string(4000, 'x'))), exception);
        const std::string longest = text_of(c.make(std::string(3000, 'x')));
        EXPECT_EQ(c.open(longest)->size(), 3000u);
    });
}

TYPED_TEST(guarded_cookies, refuse_the_value_of_another_name_or_key) {
    const auto role = TestFixture::make("role");
    const auto name = TestFixture::make("name");
    const auto foreign = TestFixture::make("role", {second_key});
    on_a_loop([&] {
        const std::string admin = text_of(name.make("admin"));
        EXPECT_EQ(name.open(admin), "admin");
        EXPECT_EQ(role.open(admin), std::nullopt);
        EXPECT_EQ(role.open(text_of(foreign.make("admin"))), std::nullopt);
        // The name cannot be stretched over the value.
        const auto na = TestFixture::make("nam");
        EXPECT_EQ(na.open(admin), std::nullopt);
    });
}

TYPED_TEST(guarded_cookies, change_their_keys) {
    const auto old = TestFixture::make("c", {first_key});
    const auto both = TestFixture::make("c", {second_key, first_key});
    const auto fresh = TestFixture::make("c", {second_key});
    on_a_loop([&] {
        const std::string before = text_of(old.make("v"));
        const std::string after = text_of(both.make("v"));
        EXPECT_EQ(both.open(before), "v");
        EXPECT_EQ(both.open(after), "v");
        EXPECT_EQ(fresh.open(after), "v");
        EXPECT_EQ(fresh.open(before), std::nullopt);
        EXPECT_EQ(old.open(after), std::nullopt);
    });
}

TYPED_TEST(guarded_cookies, expire_whatever_the_browser_says) {
    http::signed_cookie_options o;
    o.lifetime = 10s;
    const auto c = TestFixture::make("c", {first_key}, o);
    run_virtually([&]() -> task<> {
        const std::string made = text_of(c.make("v"));
        co_await sleep_for(8s);
        EXPECT_EQ(c.open(made), "v");
        co_await sleep_for(3s);
        EXPECT_EQ(c.open(made), std::nullopt);
    });
}

TYPED_TEST(guarded_cookies, refuse_keys_and_options_that_are_wrong) {
    const auto refusal = [](std::vector<secret> keys, std::chrono::seconds lifetime,
                            std::string_view name) {
        http::signed_cookie_options o;
        o.lifetime = lifetime;
        return refusal_of([&] { TestFixture::make(name, keys, o); });
    };
    EXPECT_EQ(refusal({first_key}, 1s, "c"), "none");
    EXPECT_EQ(refusal({secret(std::string(31, 'x'))}, 1s, "c"), "key");
    EXPECT_EQ(refusal({first_key, secret("")}, 1s, "c"), "key");
    EXPECT_EQ(refusal({}, 1s, "c"), "keys");
    EXPECT_EQ(refusal(std::vector<secret>(9, first_key), 1s, "c"), "keys");
    EXPECT_EQ(refusal({first_key}, 0s, "c"), "lifetime");
    EXPECT_EQ(refusal({first_key}, std::chrono::seconds::max(), "c"), "lifetime");
    EXPECT_NE(refusal({first_key}, 1s, "a b"), "none");
}

TEST(signed_cookie, can_be_read_by_its_client_and_an_encrypted_one_cannot) {
    const http::signed_cookie plain_one("c", {first_key});
    const http::encrypted_cookie hidden("c", {first_key});
    on_a_loop([&] {
        const auto bytes_of = [](const http::set_cookie& c) {
            return *mime::base64_decode(c.value(), mime::base64_alphabet::url);
        };
        const std::string text(64, 'v');
        EXPECT_NE(bytes_of(plain_one.make(text)).find(text), std::string::npos);
        EXPECT_EQ(bytes_of(hidden.make(text)).find("vvvv"), std::string::npos);
        EXPECT_NE(hidden.make(text).value(), hidden.make(text).value());
        // Neither takes what the other made of the same key.
        EXPECT_EQ(plain_one.open(hidden.make("v").value()), std::nullopt);
        EXPECT_EQ(hidden.open(plain_one.make("v").value()), std::nullopt);
    });
}
