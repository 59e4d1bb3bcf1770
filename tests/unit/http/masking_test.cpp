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
