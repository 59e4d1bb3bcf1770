#include "support/received.hpp"
#include "support/virtual_time.hpp"

#include <coracle/http/form.hpp>

#include <gtest/gtest.h>

using namespace coracle;
using namespace coracle::testing;

namespace {

constexpr const char* urlencoded = "application/x-www-form-urlencoded";

/// The first pair, or what it failed with.
std::string told(const char* type, const std::string& body, const http::form_limits& limits = {}) {
    std::string all;
    run_virtually([&]() -> task<> {
        received_request req(type, body, 3);
        const auto f = co_await as_result(http::read_form(*req, limits));
        if (!f)
            all = f.error().code().message();
        else if (!f->empty())
            all.append((*f)[0].name).append("=").append((*f)[0].value);
    });
    return all;
}

}  // namespace

TEST(read_form, reads_a_body) {
    EXPECT_EQ(told(urlencoded, "a%20b=1+2&c=3"), "a b=1 2");
    EXPECT_EQ(told("Application/X-WWW-Form-URLencoded; charset=\"UTF-8\"", "a=1"), "a=1");
    EXPECT_EQ(told("application/x-www-form-urlencoded;charset=utf8", "a=1"), "a=1");
    EXPECT_EQ(told(urlencoded, ""), "");
}

TEST(read_form, refuses_other_types) {
    for (const char* type :
         {"", "text/plain", "multipart/form-data; boundary=b", "application/json",
          "application/x-www-form-urlencoded; charset=utf-16",
          "application/x-www-form-urlencoded; charset=\"utf-8"}) {
        EXPECT_EQ(told(type, "a=1"), "415 Unsupported Media Type") << type;
    }
}

TEST(read_form, holds_its_limits_to_the_byte) {
    EXPECT_EQ(told(urlencoded, "a=1&b=2", {.bytes = 8}), "a=1");
    EXPECT_EQ(told(urlencoded, "a=1&b=2", {.bytes = 7}), "a=1");
    EXPECT_EQ(told(urlencoded, "a=1&b=2", {.bytes = 6}), "413 Content Too Large");
    EXPECT_EQ(told(urlencoded, "a=1&b=2", {.pairs = 3}), "a=1");
    EXPECT_EQ(told(urlencoded, "a=1&b=2", {.pairs = 2}), "a=1");
    EXPECT_EQ(told(urlencoded, "a=1&b=2", {.pairs = 1}), "413 Content Too Large");
}
