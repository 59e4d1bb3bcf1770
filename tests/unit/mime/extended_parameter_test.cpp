#include <coracle/mime/extended_parameter.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle::mime;

namespace {

std::string write(std::string_view name, std::string_view value) {
    std::string out = "a";
    append_parameter(out, name, value);
    return out.substr(1);
}

std::string read(std::string_view text) {
    const auto all = parse_parameters(text);
    if (!all) return "none";
    std::string out;
    for (const parameter& p : *all) out += p.name + '=' + p.value + ';';
    return out;
}

}  // namespace

TEST(append_parameter, takes_the_plainest_form) {
    EXPECT_EQ(write("name", "a.txt"), "; name=a.txt");
    EXPECT_EQ(write("name", "a b.txt"), "; name=\"a b.txt\"");
    EXPECT_EQ(write("name", "a\"b\\c"), "; name=\"a\\\"b\\\\c\"");
    EXPECT_EQ(write("name", ""), "; name=\"\"");
    EXPECT_EQ(write("name", "é.txt"), "; name*=UTF-8''%C3%A9.txt");
    EXPECT_EQ(write("name", "a\r\nb"), "; name*=UTF-8''a%0D%0Ab");
    EXPECT_EQ(write("name", "=?x"), "; name*=UTF-8''%3D%3Fx");
}

TEST(append_parameter, cuts_what_is_long) {
    for (const std::string& value : {std::string(200, 'x'), std::string(74, 'x') + "é",
                                     std::string("日本語日本語日本語日本語日本語日本語.pdf")}) {
        const std::string text = write("filename", value);
        EXPECT_TRUE(text.starts_with("; filename*0*=UTF-8''"));
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = std::min(text.find("; ", at + 1), text.size());
            EXPECT_LE(end - at, 76u);
            at = end;
        }
        EXPECT_EQ(read(text), "filename=" + value + ';');
    }
}

TEST(parse_parameters, takes_as_many_as_there_are) {
    // Quadratic time would be minutes.
    std::string text;
    std::string pieces;
    constexpr int most = 200'000;
    for (int i = 0; i != most; ++i) {
        text += ";n" + std::to_string(i) + "=v";
        pieces += ";x*" + std::to_string(i) + "=v";
    }
    EXPECT_EQ(parse_parameters(text)->size(), std::size_t{most});
    const auto joined = parse_parameters(pieces);
    ASSERT_EQ(joined->size(), 1u);
    EXPECT_EQ(joined->front().value, std::string(most, 'v'));
}

TEST(parse_parameters, joins_and_decodes) {
    const struct {
        const char* text;
        const char* wanted;
    } rows[] = {
        {"", ""},
        {"; a=b; C=\"d e\"", "a=b;c=d e;"},
        {"; a*=us-ascii'en-us'This%20is", "a=This is;"},
        {"; a*=iso-8859-1''%A3", "a=£;"},
        {"; a*=koi8-r''%C1", "a=\xc1;"},
        {"; a*0=one; a*1=two", "a=onetwo;"},
        {"; a*1=two; a*0=one", "a=onetwo;"},
        {"; a*0*=UTF-8''%C3; a*1*=%A9; a*2=\"%41\"", "a=é%41;"},
        {"; a*0=one; a*2=three", "a=one;"},
        {"; a*1=two", ""},
        {"; a=plain; a*1=rest", "a=plain;"},
        {"; a=x; a=y", "a=x;"},
        {"; a=x; a*=UTF-8''y", "a=y;"},
        {"; a*0=x; a*0=y", "a=x;"},
        {"; a*1=two; a*0=x; a*1=three; a*0=y", "a=xtwo;"},
        {"; a*=nothing", "a=nothing;"},
        {"; a*=UTF-8''%zz", "a=%zz;"},
        {"; a*01=x", "a*01=x;"},
        {"; name=\"=?utf-8?q?=C3=A9?=.txt\"", "name=é.txt;"},
        {"; a=\"b", "none"},
        {"x", "none"},
    };
    for (const auto& row : rows) EXPECT_EQ(read(row.text), row.wanted) << row.text;
}
