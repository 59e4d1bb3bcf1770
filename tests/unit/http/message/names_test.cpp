#include "http/message/token.hpp"

#include <coracle/http/field_id.hpp>
#include <coracle/http/method.hpp>
#include <coracle/http/status.hpp>
#include <coracle/http/version.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle::http;
using namespace std::literals;

namespace {

field_id id_at(std::size_t index) {
    return static_cast<field_id>(index);
}

}  // namespace

TEST(field_id, is_found_in_any_case) {
    for (std::size_t i = 1; i < field_id_count; ++i) {
        std::string name{to_string(id_at(i))};
        EXPECT_EQ(find_field_id(name), id_at(i)) << name;
        for (char& byte : name) {
            byte = byte >= 'a' && byte <= 'z' ? static_cast<char>(byte - 0x20) : byte;
        }
        EXPECT_EQ(find_field_id(name), id_at(i)) << name;
        for (char& byte : name) {
            byte = byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte + 0x20) : byte;
        }
        EXPECT_EQ(find_field_id(name), id_at(i)) << name;
    }
}

TEST(field_id, is_other_for_everything_else) {
    for (const std::string_view name : {"", "x", "Hos", "Hosts", "Content Length", "X-Unknown"}) {
        EXPECT_EQ(find_field_id(name), field_id::other) << name;
    }
    EXPECT_EQ(find_field_id(std::string(1000, 'a')), field_id::other);
}

TEST(field_id, is_other_for_every_name_that_differs_in_a_byte) {
    for (std::size_t i = 1; i < field_id_count; ++i) {
        const std::string name{to_string(id_at(i))};
        for (std::size_t at = 0; at < name.size(); ++at) {
            for (int byte = 0; byte < 256; ++byte) {
                std::string other = name;
                other[at] = static_cast<char>(byte);
                if (!equal_ignoring_case(other, name)) {
                    EXPECT_NE(find_field_id(other), id_at(i)) << other;
                }
            }
        }
    }
}

TEST(field_id, has_the_usual_spelling) {
    EXPECT_EQ(to_string(field_id::content_type), "Content-Type");
    EXPECT_EQ(to_string(field_id::etag), "ETag");
    EXPECT_EQ(to_string(field_id::www_authenticate), "WWW-Authenticate");
    EXPECT_EQ(to_string(field_id::http2_settings), "HTTP2-Settings");
    EXPECT_EQ(to_string(field_id::other), "");
    EXPECT_EQ(find_field_id("x-forwarded-proto"), field_id::x_forwarded_proto);
}

TEST(method, is_read_back_from_its_name) {
    for (int i = 1; i <= static_cast<int>(method::patch); ++i) {
        const auto value = static_cast<method>(i);
        EXPECT_FALSE(to_string(value).empty());
        EXPECT_EQ(parse_method(to_string(value)), value);
    }
    EXPECT_EQ(to_string(method::other), "");
    EXPECT_EQ(to_string(method::delete_), "DELETE");
}

TEST(method, is_case_sensitive) {
    for (const std::string_view text :
         {"", "get", "Get", "GETS", "PUTT", "PRI", "HEAL", "CONNECTS"}) {
        EXPECT_EQ(parse_method(text), method::other) << text;
    }
}

TEST(status, has_phrases_and_classes) {
    EXPECT_EQ(reason_phrase(status::continue_), "Continue");
    EXPECT_EQ(reason_phrase(status::uri_too_long), "URI Too Long");
    EXPECT_EQ(reason_phrase(static_cast<status>(299)), "");
    EXPECT_TRUE(is_informational(status::early_hints));
    EXPECT_TRUE(is_success(static_cast<status>(299)));
    EXPECT_TRUE(is_redirection(status::see_other));
    EXPECT_TRUE(is_client_error(status::not_found));
    EXPECT_TRUE(is_server_error(status::bad_gateway));
    EXPECT_FALSE(is_server_error(status::not_found));
}

TEST(version, has_a_name) {
    EXPECT_EQ(to_string(version::http_1_0), "HTTP/1.0");
    EXPECT_EQ(to_string(version::http_1_1), "HTTP/1.1");
    EXPECT_EQ(to_string(version::http_2), "HTTP/2");
}

TEST(token, holds_the_characters_of_the_grammar_and_no_others) {
    const std::string_view allowed =
        "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (int i = 0; i < 256; ++i) {
        const std::string text(1, static_cast<char>(i));
        EXPECT_EQ(is_token(text), allowed.find(text) != std::string_view::npos) << i;
    }
    EXPECT_FALSE(is_token(""));
    EXPECT_FALSE(is_token("a b"));
}

TEST(field_value, cannot_end_its_line) {
    for (const std::string_view bad :
         {"a\r\nSet-Cookie: x"sv, "a\n"sv, "a\r"sv, "\0"sv, "a\0b"sv, "\x7f"sv, " a"sv, "a\t"sv}) {
        EXPECT_FALSE(is_field_value(bad)) << bad;
    }
    for (const std::string_view good : {""sv, "a"sv, "a \t b"sv, "\xc3\xa9"sv, "\"#<>"sv}) {
        EXPECT_TRUE(is_field_value(good)) << good;
    }
}

TEST(field_value, is_looked_at_byte_for_byte) {
    for (std::size_t size = 1; size != 20; ++size) {
        for (std::size_t at = 0; at != size; ++at) {
            for (unsigned byte = 0; byte != 256; ++byte) {
                std::string value(size, 'x');
                value[at] = static_cast<char>(byte);
                const bool at_an_end = at == 0 || at + 1 == size;
                const bool blank = byte == ' ' || byte == '\t';
                const bool control = byte < 0x20 || byte == 0x7f;
                const bool good = blank ? !at_an_end : !control;
                ASSERT_EQ(is_field_value(value), good) << byte << " at " << at << " of " << size;
            }
        }
    }
}

TEST(token, in_lower_case_has_no_capital_letter) {
    EXPECT_TRUE(is_lower_token("content-type"));
    EXPECT_TRUE(is_lower_token("x!1"));
    const char* const others[] = {"", "Content-type", "content-typE", "a b", "a:b", "a\x80"};
    for (const char* other : others) EXPECT_FALSE(is_lower_token(other)) << other;
}

TEST(target, is_visible_and_has_no_fragment) {
    EXPECT_TRUE(is_target("/a?b[]={|}%20"));
    EXPECT_TRUE(is_target("/\xc3\xa4\x80\xff"));
    for (const std::string_view bad : {""sv, "/a b"sv, "/#"sv, "/\x7f"sv, "/\r\n"sv, "/<"sv}) {
        EXPECT_FALSE(is_target(bad)) << bad;
    }
}

TEST(trim_ows, removes_spaces_and_tabs_at_both_ends_only) {
    EXPECT_EQ(trim_ows(" \t a b\t"), "a b");
    EXPECT_EQ(trim_ows(" \t"), "");
    EXPECT_EQ(trim_ows("\ra"), "\ra");
}
