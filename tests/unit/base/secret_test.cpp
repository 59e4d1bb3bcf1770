#include <coracle/base/secret.hpp>

#include <gtest/gtest.h>

#include <sstream>
#include <utility>

using coracle::secret;

TEST(secret, is_printed_as_stars) {
    std::ostringstream out;
    out << secret("hunter2");
    EXPECT_EQ(out.str(), "***");
}

TEST(secret, overwrites_the_text_that_it_is_made_of) {
    std::string text = "a password that is longer than fits into a string itself";
    const char* const where = text.data();
    const secret s(std::move(text));
    EXPECT_EQ(s.reveal(), "a password that is longer than fits into a string itself");
    EXPECT_EQ(where[0], '\0');
}

TEST(secret, copies_and_moves) {
    secret a("one");
    secret b = a;
    EXPECT_EQ(a, b);
    secret c = std::move(a);
    EXPECT_EQ(c.reveal(), "one");
    b = secret("two");
    EXPECT_EQ(b.reveal(), "two");
    EXPECT_TRUE(secret().empty());
}

TEST(wipe, leaves_zeros) {
    char bytes[] = "secret";
    coracle::wipe(bytes, sizeof bytes);
    for (const char byte : bytes) EXPECT_EQ(byte, '\0');
}
