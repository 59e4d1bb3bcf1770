#include <coracle/mime/disposition.hpp>

#include <gtest/gtest.h>

using namespace coracle::mime;

namespace {

/// "type|name|filename", "-" for what is not there.
std::string told(std::string_view text) {
    const auto d = parse_disposition(text);
    if (!d) return "malformed";
    return d->type + '|' + d->name.value_or("-") + '|' + d->filename.value_or("-");
}

}  // namespace

TEST(disposition, is_read_as_browsers_and_programs_write_it) {
    // Firefox, Chromium and Safari; curl before and after 7.81; Python; mail.
    EXPECT_EQ(told("form-data; name=\"a\""), "form-data|a|-");
    EXPECT_EQ(told("form-data; name=\"a%22b\"; filename=\"c%0D%0Ad.txt\""),
              "form-data|a\"b|c\r\nd.txt");
    EXPECT_EQ(told("form-data; name=\"a\\\"b\"; filename=\"x\\\\y\""), "form-data|a\"b|x\\y");
    EXPECT_EQ(told("form-data; name=a; filename=b.txt"), "form-data|a|b.txt");
    EXPECT_EQ(told("attachment; filename=\"na\xC3\xAFve.txt\""), "attachment|-|na\xC3\xAFve.txt");
    EXPECT_EQ(told("ATTACHMENT; FileName=\"x\""), "attachment|-|x");
    EXPECT_EQ(told("inline"), "inline|-|-");
}

TEST(disposition, leaves_plain_backslashes_and_percents) {
    EXPECT_EQ(told("form-data; name=\"f\"; filename=\"C:\\temp\\x.txt\""),
              "form-data|f|C:\\temp\\x.txt");
    EXPECT_EQ(told("form-data; name=\"f\"; filename=\"x\\\""), "form-data|f|x\\");
    EXPECT_EQ(told("form-data; name=\"100%\"; filename=\"%41%2\""), "form-data|100%|%41%2");
}

TEST(disposition, prefers_the_extended_name) {
    EXPECT_EQ(told("attachment; filename=\"x\"; filename*=UTF-8''%e2%82%ac%20rates"),
              "attachment|-|\xE2\x82\xAC rates");
    EXPECT_EQ(told("attachment; filename*=iso-8859-1'en'%A3%20rates; filename=\"x\""),
              "attachment|-|\xC2\xA3 rates");
    EXPECT_EQ(told("attachment; filename=\"x\"; filename*=UTF-8''%ff"), "attachment|-|x");
    EXPECT_EQ(told("attachment; filename=\"x\"; filename*=koi8-r''a"), "attachment|-|x");
    EXPECT_EQ(told("attachment; filename=\"x\"; filename*=UTF-8'a"), "attachment|-|x");
    EXPECT_EQ(told("attachment; filename=\"x\"; filename*=UTF-8''%4"), "attachment|-|x");
}

TEST(disposition, takes_the_first_of_two_names) {
    EXPECT_EQ(told("form-data; name=\"a\"; name=\"b\"; filename=\"c\"; filename=\"d\""),
              "form-data|a|c");
}

TEST(disposition, is_refused_when_malformed) {
    for (const char* bad : {"", ";name=a", "form-data name=a", "form-data; name=\"a",
                            "form-data; name=\"a\"b\"", "form-data; =a"}) {
        EXPECT_EQ(told(bad), "malformed") << bad;
    }
}

TEST(disposition, is_written_as_it_is_read) {
    const content_disposition cases[] = {
        {"form-data", "a", std::nullopt},
        {"form-data", "a\"b\r\nc", "x;y=\"z\".txt"},
        {"form-data", "na\xC3\xAFve", "\xE2\x82\xAC.txt"},
        {"attachment", std::nullopt, "plain.txt"},
        {"attachment", std::nullopt, "\xE2\x82\xAC \"rates\" 100%.txt"},
    };
    for (const auto& d : cases) {
        const std::string text = format_disposition(d);
        EXPECT_EQ(text.find_first_of("\r\n"), std::string::npos) << text;
        EXPECT_EQ(parse_disposition(text), d) << text;
    }
    EXPECT_EQ(format_disposition(cases[1]),
              "form-data; name=\"a%22b%0D%0Ac\"; filename=\"x;y=%22z%22.txt\"");
    EXPECT_EQ(format_disposition({"attachment", std::nullopt, "\xC3\xA9.txt"}),
              "attachment; filename=\"__.txt\"; filename*=UTF-8''%C3%A9.txt");
}

TEST(safe_filename, leads_nowhere_else) {
    EXPECT_EQ(safe_filename("boat.png"), "boat.png");
    EXPECT_EQ(safe_filename("../../etc/passwd"), "passwd");
    EXPECT_EQ(safe_filename("C:\\fake\\boat.png"), "boat.png");
    EXPECT_EQ(safe_filename("/"), "");
    EXPECT_EQ(safe_filename(".."), "");
    EXPECT_EQ(safe_filename(". ."), "");
    EXPECT_EQ(safe_filename(".htaccess"), "htaccess");
    EXPECT_EQ(safe_filename(" ..a. "), "a");
    EXPECT_EQ(safe_filename(std::string_view("a\0b\r\n\x1b\x7f.txt", 11)), "ab.txt");
    EXPECT_EQ(safe_filename("\xC3\xA9\xFF\xC2\x85\xC0\xAF\xED\xA0\x80.txt"), "\xC3\xA9.txt");
    EXPECT_EQ(safe_filename("\xF0\x9F\x9B\xB6.txt"), "\xF0\x9F\x9B\xB6.txt");
}

TEST(safe_filename, is_at_most_255_bytes_and_keeps_its_extension) {
    EXPECT_EQ(safe_filename(std::string(255, 'a')), std::string(255, 'a'));
    EXPECT_EQ(safe_filename(std::string(256, 'a')), std::string(255, 'a'));
    EXPECT_EQ(safe_filename(std::string(300, 'a').append(".txt")),
              std::string(251, 'a').append(".txt"));
    const std::string long_extension(45, 'b');
    for (const char* end : {".", " ", ". ."}) {
        EXPECT_EQ(safe_filename(std::string(252, 'a') + end + long_extension),
                  std::string(252, 'a') + (std::string(end).size() == 1 ? end : "") +
                      long_extension.substr(0, std::string(end).size() == 1 ? 2 : 0));
        EXPECT_EQ(safe_filename(std::string(254, 'a') + end + long_extension),
                  std::string(254, 'a'));
    }
    std::string boats;
    for (int i = 0; i != 100; ++i) boats += "\xE2\x82\xAC";
    EXPECT_EQ(safe_filename(boats + ".txt"), boats.substr(0, 249) + ".txt");
}
