#include <coracle/http/form.hpp>

#include <gtest/gtest.h>

#include <string>

using coracle::errc;
using coracle::http::form;
using coracle::http::form_limits;

namespace {

form parsed(std::string_view text) {
    auto f = form::parse(text);
    EXPECT_TRUE(f.has_value());
    return f ? *std::move(f) : form();
}

/// "name=value|..." of what was decoded.
std::string told(const form& f) {
    std::string all;
    for (const auto e : f) {
        all.append(e.name).append("=").append(e.value).append("|");
    }
    return all;
}

}  // namespace

TEST(form, decodes_plus_and_percent) {
    EXPECT_EQ(told(parsed("a=1&b=x+y&c%20d=%C3%A9%2b")), "a=1|b=x y|c d=\xC3\xA9+|");
}

TEST(form, keeps_order_and_repeated_names) {
    const form f = parsed("a=1&b=2&a=3&a=");
    EXPECT_EQ(f.size(), 4u);
    EXPECT_EQ(f.get("a"), "1");
    const std::vector<std::string_view> all = {"1", "3", ""};
    EXPECT_EQ(f.get_all("a"), all);
    EXPECT_EQ(f.get("c"), std::nullopt);
    EXPECT_TRUE(f.contains("b"));
}

TEST(form, takes_everything_as_the_url_standard_does) {
    EXPECT_EQ(told(parsed("")), "");
    EXPECT_EQ(told(parsed("&&a&&=&=b&c==d&")), "a=|=|=b|c==d|");
    EXPECT_EQ(told(parsed("a=%&b=%4&c=%4g&d=%%41&e=100%")), "a=%|b=%4|c=%4g|d=%A|e=100%|");
    EXPECT_EQ(parsed("a=%00").get("a"), std::string_view("\0", 1));
    EXPECT_EQ(told(parsed("a;b=c")), "a;b=c|");
}

TEST(form, is_written_as_it_is_read) {
    form f;
    f.add("a b", "x&y=z")
        .add("", "")
        .add("*-._", "~%+\xC3\xA9")
        .add("n", std::string_view("\0", 1));
    EXPECT_EQ(f.text(), "a+b=x%26y%3Dz&=&*-._=%7E%25%2B%C3%A9&n=%00");
    EXPECT_EQ(told(parsed(f.text())), told(f));
}

TEST(form, that_was_copied_or_moved_has_its_own_text) {
    auto first = std::make_unique<form>(parsed("short=1"));
    const form copy = *first;
    form moved = std::move(*first);
    first.reset();
    EXPECT_EQ(copy.get("short"), "1");
    EXPECT_EQ(moved.get("short"), "1");
}

TEST(form, holds_its_limits_to_the_byte) {
    const form_limits limits{.pairs = 3, .bytes = 11};
    EXPECT_TRUE(form::parse("a=1&b=2", limits));
    EXPECT_TRUE(form::parse("a=1&b=2&c=3", limits));
    const auto long_one = form::parse("a=1&b=2&c=34", limits);
    ASSERT_FALSE(long_one);
    EXPECT_TRUE(long_one.error() == errc::limit_exceeded);
    EXPECT_EQ(long_one.error().subject(), "form_limits.bytes");
    EXPECT_TRUE(form::parse("a&b&&c", limits));
    const auto many = form::parse("a&b&c&d", limits);
    ASSERT_FALSE(many);
    EXPECT_EQ(many.error().subject(), "form_limits.pairs");
}

TEST(form, has_defaults_that_hold) {
    std::string text = "a";
    for (int i = 1; i != 1000; ++i) text += "&a";
    EXPECT_TRUE(form::parse(text));
    EXPECT_FALSE(form::parse(text + "&a"));
    EXPECT_TRUE(form::parse(std::string(1024 * 1024, 'a')));
    EXPECT_FALSE(form::parse(std::string(1024 * 1024 + 1, 'a')));
}

TEST(form, may_add_what_it_holds) {
    form f;
    f.add("a", std::string(100, 'x'));
    for (int i = 0; i != 20; ++i) f.add(f[0].name, *f.get("a"));
    EXPECT_EQ(f.size(), 21U);
    for (const auto e : f) {
        EXPECT_EQ(e.name, "a");
        EXPECT_EQ(e.value, std::string(100, 'x'));
    }
}
