#include "support/virtual_time.hpp"

#include <coracle/http/handler.hpp>
#include <coracle/http/json.hpp>
#include <coracle/http/problem.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using coracle::testing::run_virtually;
using http::handler;
using http::request;
using http::response;

// A codec of its own: no JSON library is needed.
struct digit {
    int value;
};
template <>
struct http::json_codec<digit> {
    static std::expected<digit, json_error> decode(std::string_view text,
                                                   const json_limits& limits) {
        if (text.size() != 1) return std::unexpected(json_error{"at byte 2: too long"});
        return digit{text[0] - '0' + (limits.depth == 7 ? 100 : 0)};
    }
    static std::string encode(const digit& d) { return std::to_string(d.value); }
};
static void validate(const digit& d, http::faults& found) {
    found.require(d.value != 0, "value", "must not be 0");
    found.require(d.value != 0 && d.value % 2 == 0, "/even", "must be \"even\"");
    found.require(d.value != 8, "an \xC3\xA9 50%/0", "must not be 8");
}

namespace {

class one_piece final : public http::body_source {
public:
    explicit one_piece(std::string text) : text_(std::move(text)) {}
    task<std::expected<std::string_view, error>> read() override {
        current_ = std::exchange(text_, {});
        co_return std::string_view(current_);
    }
    std::optional<std::uint64_t> length() const noexcept override { return std::nullopt; }

private:
    std::string text_;
    std::string current_;
};

std::string response_of(const response& r) {
    return std::to_string(static_cast<int>(r.status())) + ' ' + std::string(r.body().bytes());
}

std::string post(const handler& h, std::string text, std::string_view type,
                 std::string_view accept = {}) {
    one_piece source(std::move(text));
    request req;
    req.set_body(http::received_body(&source));
    if (!type.empty()) req.fields().add("Content-Type", type);
    if (!accept.empty()) req.fields().add("Accept", accept);
    response res;
    task<response> pending;
    EXPECT_FALSE(h.call(req, res, pending));
    res = run_virtually([&]() -> task<response> {
        response got = co_await std::move(pending);
        co_return got;
    });
    return response_of(res);
}

const handler twice([](http::json<digit> d) { return http::json(digit{2 * d->value}); });

TEST(json, a_body_is_decoded_and_a_response_encoded) {
    EXPECT_EQ(post(twice, "4", "application/json"), "200 8");
    const response r = http::json(digit{3}, http::status::created);
    EXPECT_EQ(response_of(r), "201 3");
    EXPECT_EQ(r.default_type(), "application/json");
}

TEST(json, other_types_than_json_are_refused) {
    for (const char* type : {"application/json; charset=utf-8", "APPLICATION/JSON",
                             "application/problem+json", "application/vnd.api+JSON;v=1"}) {
        EXPECT_EQ(post(twice, "4", type), "200 8") << type;
    }
    for (const char* type : {"", "text/json", "application/jsonx", "+json", "/+json", "a/+json",
                             "application", "text/plain; application/json"}) {
        EXPECT_EQ(post(twice, "4", type), "415 the Content-Type is not application/json\n") << type;
    }
}

TEST(json, what_is_malformed_is_told) {
    EXPECT_EQ(post(twice, "44", "application/json"), "400 JSON body: at byte 2: too long\n");
}

TEST(json, what_is_not_valid_gives_all_its_faults) {
    EXPECT_EQ(post(twice, "0", "application/json"),
              "422 the body is not valid\n/value: must not be 0\n/even: must be \"even\"\n");
    EXPECT_EQ(
        post(twice, "3", "application/json", "application/json"),
        "422 {\"title\":\"Unprocessable Content\",\"status\":422,\"detail\":\"the body is not "
        "valid\",\"errors\":[{\"detail\":\"must be \\\"even\\\"\",\"pointer\":\"#/even\"}]}");
    // RFC 6901 section 6.
    EXPECT_TRUE(post(twice, "8", "application/json", "application/json")
                    .ends_with("\"pointer\":\"#/an%20%C3%A9%2050%25/0\"}]}"));
    EXPECT_EQ(post(twice, "8", "application/json"),
              "422 the body is not valid\n/an \xC3\xA9 50%/0: must not be 8\n");
}

TEST(json, a_body_has_its_limits) {
    const handler h([](http::json<digit, http::json_limits{.bytes = 4, .depth = 7}> d) {
        return std::to_string(d->value);
    });
    EXPECT_EQ(post(h, "4", "application/json"), "200 104");
    EXPECT_TRUE(post(h, "444", "application/json").starts_with("400 "));
    EXPECT_TRUE(post(h, "4444", "application/json").starts_with("400 "));
    EXPECT_TRUE(post(h, "44444", "application/json").starts_with("413 "));
}

TEST(problem, is_written_as_rfc_9457_says) {
    const response r = http::problem(http::status::conflict, "taken")
                           .type("/problems/taken")
                           .title("Berth taken")
                           .instance("/berths/7")
                           .add("owner", "\"eve\"\n\x01\x7f")
                           .add_json("berths", "[1,2]");
    EXPECT_EQ(response_of(r),
              "409 {\"type\":\"/problems/taken\",\"title\":\"Berth taken\",\"status\":409,"
              "\"detail\":\"taken\",\"instance\":\"/berths/7\","
              "\"owner\":\"\\\"eve\\\"\\n\\u0001\\u007f\",\"berths\":[1,2]}");
    EXPECT_EQ(r.default_type(), "application/problem+json");
    EXPECT_EQ(http::problem(http::status::not_found).text(),
              "{\"title\":\"Not Found\",\"status\":404}");
}

TEST(problem, has_no_member_twice) {
    for (const char* name : {"type", "title", "status", "detail", "instance"}) {
        EXPECT_THROW(http::problem(http::status::conflict).add(name, "x"), exception) << name;
    }
}

TEST(problem, texts_that_are_not_utf_8_are_mended) {
    EXPECT_EQ(http::json_quoted("\xc3\xa4\xe2\x82\xac\xf0\x9f\x9a\xa3"),
              "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x9a\xa3\"");
    const std::string bad = "\xef\xbf\xbd";
    EXPECT_EQ(http::json_quoted("\xff"
                                "a"),
              '"' + bad + "a\"");
    EXPECT_EQ(http::json_quoted("\xc3"), '"' + bad + '"');
    EXPECT_EQ(http::json_quoted("\xc0\x80"), '"' + bad + bad + '"');
    EXPECT_EQ(http::json_quoted("\xed\xa0\x80"), '"' + bad + bad + bad + '"');
    EXPECT_EQ(http::json_quoted("\xf4\x90\x80\x80"), '"' + bad + bad + bad + bad + '"');
}

}  // namespace
