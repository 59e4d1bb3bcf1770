// The bytes of RESP2: replies cut at every position, and what a hostile server may send.

#include "redis/protocol.hpp"

#include <coracle/redis/error.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

using namespace coracle;
using redis::reply;
using redis::reply_kind;
using redis::reply_limits;
using redis::detail::reply_reader;

namespace {

/// A reply as a text: arrays in brackets.
std::string show(const reply& r) {
    switch (r.kind()) {
        case reply_kind::nil: return "nil";
        case reply_kind::status: return '+' + std::string(r.text());
        case reply_kind::string: return '\'' + std::string(r.text()) + '\'';
        case reply_kind::integer: return std::to_string(r.integer());
        case reply_kind::error: return '-' + std::string(r.text());
        case reply_kind::array: break;
    }
    std::string all = "[";
    for (const reply& e : r.elements()) all += show(e) + ' ';
    return all + ']';
}

/// All replies of the bytes, fed in pieces of a size; the error at the end.
std::vector<std::string> read(std::string_view bytes, std::size_t piece, reply_limits limits = {}) {
    reply_reader reader(limits);
    std::vector<std::string> all;
    while (!bytes.empty()) {
        const std::string_view part = bytes.substr(0, piece);
        bytes.remove_prefix(part.size());
        if (auto fed = reader.feed(part); !fed) {
            all.push_back("feed: " + fed.error().message());
            return all;
        }
        for (;;) {
            auto next = reader.next();
            if (!next) {
                all.push_back(next.error().message());
                return all;
            }
            if (!*next) break;
            all.push_back(show(**next));
        }
    }
    return all;
}

std::string last_error(std::string_view bytes, reply_limits limits = {}) {
    const auto all = read(bytes, 7, limits);
    return all.empty() ? "none" : all.back();
}

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST(redis_protocol, writes_commands_whose_parts_are_bytes) {
    std::string bytes;
    const std::string_view parts[] = {"SET", "a\r\nb", std::string_view("\0x", 2), ""};
    redis::detail::append_command(bytes, parts);
    using namespace std::string_literals;
    EXPECT_EQ(bytes, "*4\r\n$3\r\nSET\r\n$4\r\na\r\nb\r\n$2\r\n\0x\r\n$0\r\n\r\n"s);
}

TEST(redis_protocol, reads_replies_cut_at_every_position) {
    const std::string whole =
        "+OK\r\n$3\r\nabc\r\n:-42\r\n$-1\r\n*-1\r\n*0\r\n$0\r\n\r\n"
        "*3\r\n$1\r\na\r\n*2\r\n:1\r\n-ERR inner\r\n$-1\r\n-WRONGTYPE no\r\n$4\r\n\r\n\r\n\r\n";
    const std::vector<std::string> texts = {
        "+OK",           "'abc'",     "-42", "nil", "nil", "[]", "''", "['a' [1 -ERR inner ] nil ]",
        "-WRONGTYPE no", "'\r\n\r\n'"};
    for (std::size_t piece = 1; piece <= whole.size(); ++piece) {
        EXPECT_EQ(read(whole, piece), texts) << piece;
    }
}

TEST(redis_protocol, refuses_what_is_no_reply) {
    for (const char* bad :
         {"HTTP/1.1 400 Bad Request\r\n", "?x\r\n", "$x\r\n", "*x\r\n", ":\r\n", "$-2\r\n",
          "*99999999999999999999\r\n", "$99999999999999999999\r\n", "*4294967297\r\n",
          // Types of RESP3, which newer versions of hiredis read.
          ",1.5\r\n", "#t\r\n", "(123\r\n", "%1\r\n", "~1\r\n", ">1\r\n", "=5\r\ntxt:x\r\n",
          "*1\r\n#t\r\n"}) {
        const std::string said = last_error(bad);
        EXPECT_TRUE(contains(said, "does not speak the protocol")) << bad << " gave " << said;
    }
}

TEST(redis_protocol, bounds_the_bytes_of_a_reply_before_they_have_come) {
    reply_limits small;
    small.bytes = 100;
    EXPECT_EQ(read("$80\r\n" + std::string(80, 'x') + "\r\n", 7, small).size(), 1U);
    const std::string above = last_error("$200\r\n" + std::string(140, 'x'), small);
    EXPECT_TRUE(contains(above, "reply_limits::bytes")) << above;
    // Also where one of exactly the limit comes in two pieces.
    const std::string exact = "$100\r\n" + std::string(100, 'x') + "\r\n";
    for (std::size_t piece = 1; piece <= exact.size(); ++piece) {
        EXPECT_EQ(read(exact, piece, small).front()[0], '\'') << piece;
    }
    const std::string more = "$101\r\n" + std::string(101, 'x') + "\r\n";
    EXPECT_TRUE(contains(last_error(more, small), "reply_limits::bytes"));
    // Small parts add up.
    std::string many = "*30\r\n";
    for (int i = 0; i < 30; ++i) many += "$5\r\nabcde\r\n";
    EXPECT_TRUE(contains(last_error(many, small), "reply_limits::bytes"));
    // And begin again with the next reply.
    std::string one_by_one;
    for (int i = 0; i < 30; ++i) one_by_one += "$5\r\nabcde\r\n";
    EXPECT_EQ(read(one_by_one, 7, small).size(), 30U);
}

TEST(redis_protocol, bounds_the_elements_that_a_server_claims) {
    reply_limits few;
    few.elements = 3;
    EXPECT_EQ(read("*3\r\n:1\r\n:2\r\n:3\r\n", 3, few).size(), 1U);
    EXPECT_TRUE(contains(last_error("*4\r\n", few), "reply_limits::elements"));
    EXPECT_TRUE(contains(last_error("*2\r\n*2\r\n", few), "reply_limits::elements"));
    // Two billion elements are refused, not allocated.
    EXPECT_TRUE(contains(last_error("*2147483647\r\n"), "reply_limits::elements"));
    EXPECT_EQ(read("*3\r\n:1\r\n:2\r\n:3\r\n*3\r\n:1\r\n:2\r\n:3\r\n", 3, few).size(), 2U);
}

TEST(redis_protocol, bounds_the_nesting) {
    std::string deep;
    for (int i = 0; i < 8; ++i) deep += "*1\r\n";
    EXPECT_EQ(read(deep + ":1\r\n", 2), std::vector<std::string>{"[[[[[[[[1 ] ] ] ] ] ] ] ]"});
    EXPECT_TRUE(contains(last_error(deep + "*1\r\n:1\r\n"), "does not speak the protocol"));
}

TEST(redis_protocol, bounds_lines_without_an_end) {
    for (const char* begin : {"+", "-", ":", "*"}) {
        const std::string said = last_error(begin + std::string(20'000, '1'));
        EXPECT_TRUE(contains(said, "a line without an end")) << said;
    }
    const std::string said = last_error('$' + std::string(100, '1'));
    EXPECT_TRUE(contains(said, "a string without its size")) << said;
}

TEST(redis_protocol, knows_commands_that_change_the_connection) {
    const auto changes = [](std::vector<std::string_view> parts) {
        return redis::detail::changes_connection(parts);
    };
    EXPECT_TRUE(changes({"subscribe", "x"}));
    EXPECT_TRUE(changes({"MULTI"}));
    EXPECT_TRUE(changes({"Select", "1"}));
    EXPECT_TRUE(changes({"client", "reply", "OFF"}));
    EXPECT_FALSE(changes({"CLIENT", "ID"}));
    EXPECT_FALSE(changes({"PUBLISH", "a", "b"}));
    EXPECT_FALSE(changes({"GET", "SUBSCRIBE"}));
}

TEST(redis_protocol, names_error_replies_by_their_first_word) {
    using redis::code_of_reply;
    EXPECT_EQ(code_of_reply("WRONGTYPE Operation against"), redis::errc::wrong_type);
    EXPECT_EQ(code_of_reply("NOAUTH Authentication required."), redis::errc::not_authenticated);
    EXPECT_EQ(code_of_reply("WRONGPASS x"), redis::errc::not_authenticated);
    EXPECT_EQ(code_of_reply("NOSCRIPT"), redis::errc::no_script);
    EXPECT_EQ(code_of_reply("MOVED 3999 127.0.0.1:6381"), redis::errc::moved);
    EXPECT_EQ(code_of_reply("ERR unknown command"), redis::errc::error_reply);
    EXPECT_EQ(code_of_reply(""), redis::errc::error_reply);
}
