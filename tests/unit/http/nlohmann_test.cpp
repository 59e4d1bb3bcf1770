// With the path of a value in its errors.
#define JSON_DIAGNOSTICS 1
#if __has_include(<nlohmann/json.hpp>)

#include <coracle/http/nlohmann.hpp>

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using namespace coracle;
using http::json_codec;
using http::json_limits;

namespace {

struct item {
    std::string name;
    int count = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(item, name, count)

struct order {
    std::vector<item> items;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(order, items)

using http::detail::views_text;
static_assert(views_text<std::string_view>() && views_text<std::vector<std::string_view>>());
static_assert(views_text<std::map<std::string_view, int>>());
static_assert(views_text<std::map<std::string, std::vector<std::string_view>>>());
static_assert(!views_text<std::map<std::string, std::vector<std::string>>>());

struct colour {};
void from_json(const nlohmann::json& j, colour&) {
    if (j != "red") throw std::out_of_range("no such colour");
}

struct unknown {};
struct written_only {};
void to_json(nlohmann::json& j, const written_only&) {
    j = "written";
}

static_assert(http::decodes_json<order> && http::encodes_json<order>);
static_assert(http::decodes_json<std::map<std::string, int>>);
static_assert(http::decodes_json<nlohmann::json> && http::encodes_json<nlohmann::json>);
static_assert(http::encodes_json<std::string_view>);
static_assert(!http::decodes_json<unknown> && !http::encodes_json<unknown>);
static_assert(!http::decodes_json<written_only> && http::encodes_json<written_only>);

template <class T>
std::string why_not(std::string_view text, unsigned depth = 100) {
    const auto decoded = json_codec<T>::decode(text, json_limits{.depth = depth});
    return decoded ? "decoded" : decoded.error().detail;
}

std::string again(std::string_view text) {
    const auto decoded = json_codec<nlohmann::json>::decode(text, {});
    return decoded ? json_codec<nlohmann::json>::encode(*decoded) : decoded.error().detail;
}

TEST(nlohmann, decodes_and_encodes_types_that_it_knows) {
    const auto o = json_codec<order>::decode(R"({"items":[{"name":"oar","count":2}]})", {});
    ASSERT_TRUE(o.has_value());
    ASSERT_EQ(o->items.size(), 1u);
    EXPECT_EQ(o->items[0].name, "oar");
    EXPECT_EQ(json_codec<order>::encode(*o), R"({"items":[{"count":2,"name":"oar"}]})");
    EXPECT_EQ(json_codec<written_only>::encode({}), "\"written\"");
}

TEST(nlohmann, every_kind_of_value_survives) {
    for (const char* text : {"null", "true", "-1", "1", "1.5", "\"a\\u0000\"", "[]", "{}",
                             "[1,[2,[]],{\"a\":[{}]}]", "{\"a\":{\"b\":null},\"c\":[false]}"}) {
        EXPECT_EQ(again(text), text);
    }
    EXPECT_EQ(again("18446744073709551615"), "18446744073709551615");
}

TEST(nlohmann, a_syntax_error_has_its_position) {
    EXPECT_TRUE(why_not<order>("").starts_with("at byte 1: ")) << why_not<order>("");
    EXPECT_TRUE(why_not<order>("{\"a\":x}").starts_with("at byte 6: "));
    EXPECT_TRUE(why_not<order>("[1,]").starts_with("at byte 4: "));
    EXPECT_TRUE(why_not<order>("{} {}").starts_with("at byte 4: "));
    EXPECT_TRUE(why_not<order>("\"\xff\"").starts_with("at byte 2: "));
    EXPECT_NE(why_not<order>("1e999"), "decoded");
    // The quoted part of the text is cut.
    EXPECT_LT(why_not<order>('"' + std::string(100'000, 'x')).size(), 300u);
}

TEST(nlohmann, a_nul_ends_no_text) {
    using namespace std::string_view_literals;
    EXPECT_EQ(why_not<nlohmann::json>("{\"a\":1}\0{\"a\":2}"sv), "at byte 8: a NUL");
    EXPECT_EQ(why_not<nlohmann::json>("1\0"sv), "at byte 2: a NUL");
    EXPECT_EQ(why_not<nlohmann::json>("\"\\u0000\""sv), "decoded");
}

TEST(nlohmann, what_from_json_throws_is_the_error) {
    EXPECT_EQ(why_not<colour>("\"red\""), "decoded");
    EXPECT_EQ(why_not<colour>("\"loud\""), "no such colour");
}

TEST(nlohmann, a_value_of_the_wrong_type_has_its_path) {
    EXPECT_EQ(why_not<order>(R"({"items":[{"name":"oar","count":"x"}]})"),
              "(/items/0/count) type must be number, but is string");
    EXPECT_EQ(why_not<order>(R"({"items":[{"name":"oar"}]})"), "(/items/0) key 'count' not found");
    EXPECT_EQ(why_not<order>("[]"), "cannot use at() with array");
}

TEST(nlohmann, a_key_that_is_there_twice_is_refused) {
    EXPECT_EQ(why_not<nlohmann::json>(R"({"a":1,"b":{"a":1},"a":2})"), "key 'a' is there twice");
    EXPECT_EQ(why_not<nlohmann::json>(R"([{"a":1},{"a":2}])"), "decoded");
}

TEST(nlohmann, the_depth_has_a_limit) {
    const auto nested = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
    EXPECT_EQ(why_not<nlohmann::json>(nested(99)), "decoded");
    EXPECT_EQ(why_not<nlohmann::json>(nested(100)), "decoded");
    EXPECT_EQ(why_not<nlohmann::json>(nested(101)), "nested deeper than 100");
    EXPECT_EQ(why_not<nlohmann::json>(R"({"a":{"a":{}}})", 2), "nested deeper than 2");
    EXPECT_EQ(why_not<nlohmann::json>("1", 0), "decoded");
}

TEST(nlohmann, a_million_brackets_do_no_harm) {
    const std::string brackets(1'000'000, '[');
    EXPECT_EQ(why_not<nlohmann::json>(brackets), "nested deeper than 100");
    // Not even where the limit is raised: nothing here is recursive.
    const std::string_view fewer = std::string_view(brackets).substr(0, 200'000);
    EXPECT_TRUE(why_not<nlohmann::json>(fewer, 2'000'000).starts_with("at byte 200001: "));
    std::string objects;
    for (int i = 0; i != 200'000; ++i) objects += "{\"\":";
    EXPECT_EQ(why_not<nlohmann::json>(objects), "nested deeper than 100");
}

TEST(nlohmann, text_that_is_not_utf_8_is_mended_when_it_is_encoded) {
    EXPECT_EQ(json_codec<std::string>::encode("a\xff"), "\"a\xef\xbf\xbd\"");
}

}  // namespace

#endif
