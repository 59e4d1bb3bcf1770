#include "http/masking.hpp"

#include <gtest/gtest.h>

using namespace coracle::http::detail;

TEST(masking, leaves_no_secret_in_a_url) {
    EXPECT_EQ(masked_url("http://ada:geheim@boats.test/a?x=1&access_token=geheim&y#part"),
              "http://boats.test/a?x=1&access_token=***&y");
    EXPECT_EQ(masked_url("/a?API_Key=geheim&Signature=geheim&z=2"),
              "/a?API_Key=***&Signature=***&z=2");
    EXPECT_EQ(masked_url("/a/token/b"), "/a/token/b");
    EXPECT_EQ(masked_url("http://ada:geheim@"), "***");
    EXPECT_EQ(masked_url("/go?to=http://boats.test/&token=geheim"),
              "/go?to=http://boats.test/&token=***");
}

TEST(masking, copies_no_url_in_which_nothing_is_secret) {
    std::string room;
    for (const std::string_view url : {"/a", "/a?x=1&token", "/a?mail=ada@boats.test",
                                       "http://boats.test/?keyword=a&author=b#key=c"}) {
        EXPECT_EQ(masked_url(url, room).data(), url.data());
    }
    EXPECT_EQ(masked_url("/a?x=1&key=geheim#b", room), "/a?x=1&key=***#b");
    EXPECT_EQ(masked_url("http://ada:geheim@boats.test/", room), "http://boats.test/");
}

TEST(masking, takes_no_other_words_for_secrets) {
    for (const char* name : {"key", "apikey", "api_key", "apiKeyId", "auth", "x-auth-user",
                             "authorization", "PASSWORD", "passwd", "csrfToken"}) {
        EXPECT_TRUE(names_a_secret(name)) << name;
    }
    for (const char* name : {"keyword", "author", "keys", "Keep-Alive", ""}) {
        EXPECT_FALSE(names_a_secret(name)) << name;
    }
}

TEST(masking, hides_the_values_of_fields_that_are_secrets) {
    for (const char* name : {"Authorization", "proxy-authorization", "Cookie", "Set-Cookie",
                             "X-API-Key", "X-Auth-Token", "X-Session-Id", "Client-Secret"}) {
        EXPECT_EQ(masked_field(name, "geheim"), "***") << name;
    }
    for (const char* name : {"Accept", "WWW-Authenticate", "Proxy-Authenticate", "Keep-Alive"}) {
        EXPECT_EQ(masked_field(name, "seen"), "seen") << name;
    }
    EXPECT_EQ(masked_field("Location", "http://a:geheim@b/?password=geheim"),
              "http://b/?password=***");
}
