#include "http/h1/target.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

using namespace coracle::http::h1;

namespace {

// In a block of exactly its size, so that the sanitizer sees every read around it.
bool host(std::string_view text) {
    const std::unique_ptr<char[]> block{new char[text.size() + 1]};
    std::memcpy(block.get() + 1, text.data(), text.size());
    return is_host({block.get() + 1, text.size()});
}

}  // namespace

TEST(host, is_a_name_of_any_size) {
    EXPECT_FALSE(host(""));
    for (std::size_t size = 1; size < 40; ++size) {
        EXPECT_TRUE(host(std::string(size, 'a'))) << size;
    }
}

TEST(host, may_have_a_port_up_to_65535_or_an_empty_one) {
    for (std::size_t size = 1; size < 40; ++size) {
        const std::string name(size, 'a');
        for (const char* port : {":", ":0", ":80", ":8080", ":59999", ":60000", ":65535"}) {
            EXPECT_TRUE(host(name + port)) << size << port;
        }
        for (const char* port : {":65536", ":70000", ":99999", ":000080", "::", ":1:", ":1:2", ":a",
                                 ":8a", ":-1", ":."}) {
            EXPECT_FALSE(host(name + port)) << size << port;
        }
    }
    EXPECT_FALSE(host(":8080"));
    EXPECT_FALSE(host(":12345678"));
}

TEST(host, holds_no_byte_that_a_name_has_not_at_any_place) {
    for (std::size_t size = 1; size < 40; ++size) {
        for (std::size_t at = 0; at < size; ++at) {
            for (const char byte : {' ', '/', '@', '?', '#', '%', '[', '\\', '"', '\x7f', '\x80'}) {
                std::string text(size, 'g');
                text[at] = byte;
                EXPECT_FALSE(host(text)) << text;
            }
            std::string text(size, 'g');
            text[at] = '~';
            EXPECT_TRUE(host(text)) << text;
        }
    }
}

TEST(host, may_be_an_address) {
    EXPECT_TRUE(host("127.0.0.1"));
    EXPECT_TRUE(host("127.0.0.1:12345"));
    EXPECT_TRUE(host("[::1]"));
    EXPECT_TRUE(host("[::1]:8080"));
    EXPECT_FALSE(host("[::1]:65536"));
    EXPECT_FALSE(host("[::1"));
}

TEST(host, is_no_name_in_brackets) {
    for (const char* text : {"[abcd]", "[abcd]:80", "[]", "[1.2.3.4]", "[127.0.0.1]:8080", "[a]",
                             "[0123456789abcdef]", "[::g]", "[::1]x", "[::1]:x", "[[::1]]"}) {
        EXPECT_FALSE(host(text)) << text;
    }
    EXPECT_TRUE(host("[v7.boats:1]"));
}
