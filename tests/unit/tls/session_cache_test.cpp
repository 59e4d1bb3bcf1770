#include "tls/session_cache.hpp"

#include <gtest/gtest.h>

#include <string>

namespace coracle::tls::detail {
namespace {

ssl_session_ptr make_session(int version = TLS1_3_VERSION) {
    ssl_session_ptr s(SSL_SESSION_new());
    SSL_SESSION_set_protocol_version(s.get(), version);
    return s;
}

/// Puts one, and gives what it is known by.
const SSL_SESSION* put(session_cache& c, std::string_view key, int version = TLS1_3_VERSION) {
    ssl_session_ptr s = make_session(version);
    const SSL_SESSION* const known = s.get();
    c.put(key, std::move(s));
    return known;
}

TEST(session_cache, gives_the_newest_of_a_key_and_each_once) {
    session_cache c(10);
    const SSL_SESSION* const first = put(c, "a");
    const SSL_SESSION* const second = put(c, "a");
    const SSL_SESSION* const other = put(c, "b");
    EXPECT_EQ(c.take("a").get(), second);
    EXPECT_EQ(c.take("a").get(), first);
    EXPECT_EQ(c.take("a"), nullptr);
    EXPECT_EQ(c.take("b").get(), other);
    EXPECT_EQ(c.take("c"), nullptr);
}

TEST(session_cache, gives_those_of_tls_1_2_again_and_again) {
    session_cache c(10);
    const SSL_SESSION* const s = put(c, "a", TLS1_2_VERSION);
    for (int i = 0; i != 3; ++i) EXPECT_EQ(c.take("a").get(), s);
}

TEST(session_cache, forgets_the_oldest_beyond_its_number) {
    session_cache c(2);
    put(c, "a");
    put(c, "b");
    put(c, "c");
    EXPECT_EQ(c.take("a"), nullptr);
    EXPECT_NE(c.take("b"), nullptr);
    EXPECT_NE(c.take("c"), nullptr);
    session_cache none(0);
    put(none, "a");
    EXPECT_EQ(none.take("a"), nullptr);
}

TEST(session_cache, keeps_the_newest_few_of_one_key_and_all_of_the_others) {
    session_cache c(100);
    put(c, "other");
    put(c, "a");
    const SSL_SESSION* const oldest_kept = put(c, "a");
    for (std::size_t i = 1; i != session_cache::most_of_one_key; ++i) put(c, "a");
    for (std::size_t i = 1; i != session_cache::most_of_one_key; ++i) {
        EXPECT_NE(c.take("a"), nullptr) << i;
    }
    EXPECT_EQ(c.take("a").get(), oldest_kept);
    EXPECT_EQ(c.take("a"), nullptr);
    EXPECT_NE(c.take("other"), nullptr);
}

}  // namespace
}  // namespace coracle::tls::detail
