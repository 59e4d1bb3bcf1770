// URLs of mail servers.

#include "smtp/client/route.hpp"

#include <gtest/gtest.h>

using coracle::smtp::detail::server_address;

TEST(smtp_server_address, decodes_user_and_password_once) {
    const auto a = server_address::parse("smtp://ann%40x.org:100%25@mail.example");
    ASSERT_TRUE(a);
    EXPECT_EQ(a->user, "ann@x.org");
    EXPECT_EQ(a->password.reveal(), "100%");
    EXPECT_EQ(server_address::parse("smtp://a:b%2541@h.example")->password.reveal(), "b%41");
}
