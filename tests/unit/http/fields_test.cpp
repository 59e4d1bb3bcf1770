#include <coracle/base/error.hpp>
#include <coracle/http/fields.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

using namespace coracle;
using http::field_id;
using http::fields;
using namespace std::string_view_literals;

namespace {

std::string text_of(const fields& all) {
    std::string text;
    for (const auto& f : all) {
        text += f.name;
        text += '=';
        text += f.value;
        text += ';';
    }
    return text;
}

}  // namespace

TEST(fields, compare_names_without_case) {
    fields f;
    f.add("content-TYPE", "text/plain");
    f.add("X-Own", "a");
    EXPECT_EQ(f.get("Content-Type"), "text/plain");
    EXPECT_EQ(f.get(field_id::content_type), "text/plain");
    EXPECT_EQ(f.get("x-own"), "a");
    EXPECT_TRUE(f.contains("X-OWN"));
    EXPECT_TRUE(f.contains(field_id::content_type));
    EXPECT_FALSE(f.contains("x-ow"));
    EXPECT_EQ(f.get("x-other"), "");
    EXPECT_EQ(f.find("x-other"), nullptr);
}

TEST(fields, keep_order_and_repeated_lines) {
    fields f;
    f.add("Set-Cookie", "a=1");
    f.add("X-Own", "x");
    f.add("Set-Cookie", "b=2");
    EXPECT_EQ(f.size(), 3u);
    EXPECT_EQ(f.get("Set-Cookie"), "a=1") << "the first one";
    std::string values;
    for (const auto& line : f) values += line.value;
    EXPECT_EQ(values, "a=1xb=2");
}

TEST(fields, replace_all_lines_of_a_name) {
    fields f;
    f.add("X-Own", "1");
    f.add("Accept", "*/*");
    f.add("x-own", "2");
    f.set("X-OWN", "3");
    EXPECT_EQ(f.size(), 2u);
    EXPECT_EQ(f.get("x-own"), "3");
    f.set("New", "n");
    EXPECT_EQ(f.get("new"), "n");
    f.remove("x-own");
    EXPECT_FALSE(f.contains("x-own"));
    f.remove("x-own");
    EXPECT_EQ(f.size(), 2u);
}

TEST(fields, take_a_value_that_is_their_own) {
    fields f;
    f.add("X-Own", "the value");
    f.set("X-Own", f.get("x-own"));
    EXPECT_EQ(f.get("x-own"), "the value");
    for (int i = 0; i != 100; ++i) f.add("X-Copy", f.get("x-own"));
    EXPECT_EQ(f.get("x-copy"), "the value");
    f.set(f.begin()->name, "other");
    EXPECT_EQ(f.get("x-own"), "other");
}

TEST(fields, refuse_what_could_split_a_message) {
    for (const std::string_view value :
         {"a\r\nb"sv, "a\nb"sv, "a\rb"sv, "a\0b"sv, "\x01"sv, "\x7f"sv, "a\n"sv}) {
        fields f;
        EXPECT_THROW(f.add("X-Own", value), exception);
        EXPECT_THROW(f.set("X-Own", value), exception);
        EXPECT_TRUE(f.empty());
    }
    for (const std::string_view name :
         {""sv, "a b"sv, "a:"sv, "a\r"sv, " a"sv, "a\0"sv, "\xc3\xa4"sv, "(a)"sv}) {
        fields f;
        EXPECT_THROW(f.add(name, "x"), exception) << name;
    }
    fields f;
    f.add("X-Own", "tab\tand \xc3\xa4 are fine");
    f.add("X-Empty", "");
    EXPECT_EQ(f.size(), 2u);
    EXPECT_TRUE(f.contains("x-empty"));
}

TEST(fields, find_the_members_of_a_list) {
    fields f;
    f.add("Connection", "Keep-Alive , \tupgrade");
    f.add("Connection", "x-last");
    EXPECT_TRUE(f.has_token(field_id::connection, "keep-alive"));
    EXPECT_TRUE(f.has_token(field_id::connection, "Upgrade"));
    EXPECT_TRUE(f.has_token(field_id::connection, "x-last"));
    EXPECT_FALSE(f.has_token(field_id::connection, "keep"));
    EXPECT_FALSE(f.has_token(field_id::connection, "keep-alive , \tupgrade"));
    EXPECT_FALSE(f.has_token(field_id::upgrade, "upgrade"));
}

TEST(fields, append_copies_of_lines_that_a_codec_has_checked) {
    std::string name = "x-own";
    std::string value = "1";
    const http::field lines[] = {{"host", value, field_id::host}, {name, value, field_id::other}};
    fields f;
    f.add("Server", "s");
    f.reserve(3);
    const http::field* const begin = f.begin();
    f.append(lines);
    EXPECT_EQ(f.begin(), begin) << "there was room";
    name = value = "#####";
    EXPECT_EQ(text_of(f), "Server=s;Host=1;x-own=1;");
    for (int i = 0; i != 20; ++i) f.append(lines);
    EXPECT_EQ(f.size(), 43U);
    EXPECT_EQ(f.get("Server"), "s");
}

TEST(fields, are_secrets_where_they_are_marked_as_such) {
    fields a;
    a.add("X-Pin", "1");
    a.add("Accept", "2");
    a.add("x-pin", "3");
    a.never_index("X-PIN");
    a.never_index("X-None");
    fields b = a;
    for (const http::field& f : a) b.add(f);
    std::string marks;
    for (const http::field& f : b) marks += f.never_indexed ? '1' : '0';
    EXPECT_EQ(marks, "101101");
    EXPECT_EQ(text_of(b), text_of(a) + text_of(a));
    b.never_index("accept");
    EXPECT_TRUE(b.find("Accept")->never_indexed);
    b.set("X-Pin", "4");
    EXPECT_FALSE(b.find("X-Pin")->never_indexed);
    EXPECT_THROW(b.add(http::field{.name = "X-Split", .value = "a\r\nb"}), exception);
}

TEST(fields, are_values) {
    fields a;
    for (int i = 0; i != 50; ++i) a.add("X-" + std::to_string(i), std::string(50, 'v'));
    const std::string text = text_of(a);
    fields b = a;
    a.set("X-0", "changed");
    EXPECT_EQ(text_of(b), text);
    fields c = std::move(b);
    EXPECT_EQ(text_of(c), text);
    EXPECT_TRUE(b.empty());  // NOLINT(bugprone-use-after-move): what it is then is promised
    b.add("X-Again", "1");
    EXPECT_EQ(text_of(b), "X-Again=1;");
    b = c;
    EXPECT_EQ(text_of(b), text);
    auto& same = b;
    b = same;
    EXPECT_EQ(text_of(b), text);
    b = std::move(c);
    EXPECT_EQ(text_of(b), text);
    b.clear();
    EXPECT_TRUE(b.empty());
    b.add("X-Own", "1");
    EXPECT_EQ(text_of(b), "X-Own=1;");
}
