#include <coracle/base/secret.hpp>

#include <gtest/gtest.h>

#include <new>
#include <sstream>
#include <string>
#include <string_view>
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

namespace {

/// A secret in memory that can be looked at. `text` fits into a string itself.
class place_of_a_secret {
public:
    explicit place_of_a_secret(const char* text) : held_(new(bytes_) secret(text)) {}
    place_of_a_secret(const place_of_a_secret&) = delete;
    place_of_a_secret& operator=(const place_of_a_secret&) = delete;
    ~place_of_a_secret() { release(); }

    secret& held() noexcept { return *held_; }
    void release() noexcept {
        if (held_ != nullptr) std::exchange(held_, nullptr)->~secret();
    }
    bool contains(std::string_view text) const noexcept {
        return std::string_view(bytes_, sizeof bytes_).find(text) != std::string_view::npos;
    }

private:
    alignas(secret) char bytes_[sizeof(secret)] = {};
    secret* held_;
};

constexpr const char* short_one = "0123456789abcde";
constexpr std::string_view end_of_short_one = "89abcde";
constexpr const char* long_one = "a password that is longer than fits into a string itself";

}  // namespace

TEST(secret, leaves_nothing_behind_where_it_was_moved_from) {
    place_of_a_secret place(short_one);
    ASSERT_TRUE(place.contains(end_of_short_one));
    secret there = std::move(place.held());
    EXPECT_EQ(there.reveal(), short_one);
    EXPECT_TRUE(place.held().empty());
    EXPECT_FALSE(place.contains(end_of_short_one));
    place.held() = secret(short_one);
    secret longer(long_one);
    longer = std::move(place.held());
    EXPECT_EQ(longer.reveal(), short_one);
    EXPECT_FALSE(place.contains(end_of_short_one));
}

TEST(secret, leaves_nothing_behind_of_what_it_was_before) {
    place_of_a_secret place(short_one);
    place.held() = secret(long_one);
    EXPECT_EQ(place.held().reveal(), long_one);
    EXPECT_FALSE(place.contains(end_of_short_one));
    place.held() = secret("");
    EXPECT_TRUE(place.held().empty());
    place.release();
    EXPECT_FALSE(place.contains(end_of_short_one));
}

TEST(secret, overwrites_all_the_room_of_the_text_that_it_is_made_of) {
    std::string text = long_one;
    const char* const where = text.data();
    text.resize(8);
    const secret s(std::move(text));
    EXPECT_EQ(s.reveal(), "a passwo");
    EXPECT_EQ(where[20], '\0');
}

TEST(wipe, leaves_zeros) {
    char bytes[] = "secret";
    coracle::wipe(bytes, sizeof bytes);
    for (const char byte : bytes) EXPECT_EQ(byte, '\0');
}
