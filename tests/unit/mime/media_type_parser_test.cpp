#include <coracle/mime/media_type.hpp>

#include <gtest/gtest.h>

using coracle::mime::media_type;
using coracle::mime::parse_media_type;

namespace {

/// "type/subtype|name=value|..."
std::string told(std::string_view text) {
    const auto type = parse_media_type(text);
    if (!type) return "malformed";
    std::string all = type->essence;
    for (const auto& p : type->parameters) all += '|' + p.name + '=' + p.value;
    return all;
}

}  // namespace

TEST(media_type_parser, gives_type_and_parameters) {
    EXPECT_EQ(told("text/html; charset=utf-8"), "text/html|charset=utf-8");
    EXPECT_EQ(told("TEXT/Html;Charset=\"UTF-8\" ; a=\"\""), "text/html|charset=UTF-8|a=");
    EXPECT_EQ(told("multipart/form-data; boundary=\"a b;\\\"c\\\\\""),
              "multipart/form-data|boundary=a b;\"c\\");
    EXPECT_EQ(told("application/ld+json"), "application/ld+json");
}

TEST(media_type_parser, tolerates_empty_parameters_and_loose_values) {
    EXPECT_EQ(told("text/plain;"), "text/plain");
    EXPECT_EQ(told("text/plain; ;; charset=x;"), "text/plain|charset=x");
    EXPECT_EQ(told("text/plain; flag; charset=x"), "text/plain|charset=x");
    EXPECT_EQ(told("multipart/mixed; boundary=a/b:c=d"), "multipart/mixed|boundary=a/b:c=d");
}

TEST(media_type_parser, refuses_what_is_malformed) {
    for (const char* bad : {"", "text", "text/", "/html", "text/html charset=x", "te xt/html",
                            "text/html; charset=\"x", "text/html; =x", "text/html; charset=",
                            "text/html; charset=\"x\"y", "text/html/x", "text/html; a b=c"}) {
        EXPECT_EQ(told(bad), "malformed") << bad;
    }
}

TEST(media_type_parser, finds_a_parameter_by_name) {
    const auto type = parse_media_type("text/html; a=1; a=2");
    ASSERT_TRUE(type);
    EXPECT_EQ(type->type(), "text");
    EXPECT_EQ(type->subtype(), "html");
    EXPECT_EQ(type->get("a"), "1");
    EXPECT_EQ(type->get("b"), std::nullopt);
}
