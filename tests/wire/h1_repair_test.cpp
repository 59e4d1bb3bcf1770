#include "http/h1/repair.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

using coracle::http::h1::repair_response_head;

namespace {

struct row {
    std::string_view sent;
    std::string_view repaired;
};

constexpr row rows[] = {
    {"HTTP/1.1 200 OK\nA: b\n\n", "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"},
    {"HTTP/1.1 200 OK\r\nA: b\nC: d\r\n\n", "HTTP/1.1 200 OK\r\nA: b\r\nC: d\r\n\r\n"},
    {"HTTP/1.1 200 OK\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"},
    {"HTTP/1.1 200 OK\r\nA : b\r\nC\t :d:e\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\r\nC:d:e\r\n\r\n"},
    {"HTTP/1.0 200 OK\r\ntransfer-encoding: Identity \r\nA: b\r\n\r\n",
     "HTTP/1.0 200 OK\r\nA: b\r\n\r\n"},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity, chunked\r\n\r\n",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity, chunked\r\n\r\n"},
    // The rest is left for the parser to refuse.
    {"HTTP/1.1 200 OK\n: b\nno colon\n folded : c\n\n",
     "HTTP/1.1 200 OK\r\n: b\r\nno colon\r\n folded : c\r\n\r\n"},
    {"HTTP/1.1 200 a : b\n\n", "HTTP/1.1 200 a : b\r\n\r\n"},
    {"HTTP/1.1 200 OK\r\r\nA: b\rc\n\n", "HTTP/1.1 200 OK\r\r\nA: b\rc\r\n\r\n"},
};

}  // namespace

TEST(repair_response_head, brings_old_heads_into_form_and_leaves_the_rest) {
    for (const row& r : rows) {
        const std::string behind = "body\n\r\n";
        const auto head = repair_response_head(std::string(r.sent) + behind);
        ASSERT_TRUE(head) << r.sent;
        EXPECT_EQ(head->text, r.repaired);
        EXPECT_EQ(head->size, r.sent.size());
        const auto again = repair_response_head(head->text);
        ASSERT_TRUE(again);
        EXPECT_EQ(again->text, head->text);
    }
}

TEST(repair_response_head, waits_for_the_end) {
    for (const row& r : rows) {
        for (std::size_t size = 0; size != r.sent.size(); ++size) {
            EXPECT_FALSE(repair_response_head(r.sent.substr(0, size))) << r.sent.substr(0, size);
        }
    }
}
