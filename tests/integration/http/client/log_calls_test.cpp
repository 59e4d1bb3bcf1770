// The interceptor that logs.

#include "support/client_calls.hpp"
#include "support/heard_log.hpp"

#include <coracle/http/log_calls.hpp>
#include <coracle/testing/local_server.hpp>

#include <gmock/gmock.h>

namespace coracle::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class client_log_calls : public ::testing::Test {
protected:
    heard_log log_{log_level::info};
    http::client client_{{}, {}, log_.options()};
};

TEST_F(client_log_calls, has_a_line_for_each_call) {
    const local_server server([](http::request& req) -> http::response {
        if (req.path() == "/first") return http::redirect("/second");
        return http::status::not_found;
    });
    client_.use(http::log_calls());
    client_.get(server.url("/a")).wait();
    client_.get(server.url("/first")).follow(http::follow::standard).wait();
    EXPECT_THAT(log_.lines(),
                ElementsAre(ContainsRegex("^GET http://127.0.0.1:[0-9]+/a 404, [0-9.]+ ms$"),
                            ContainsRegex("/first 404, [0-9.]+ ms, redirects 1$")));
}

TEST_F(client_log_calls, tells_no_secret) {
    const local_server server([](http::request& req) {
        return path_of(req).set("Set-Cookie", "a=geheim").set("Location", "/?token=geheim");
    });
    client_.use(http::log_calls({.fields = true}));
    std::string url = server.url("/a?api_key=geheim&q=boats");
    url.insert(7, "ada:geheim@");
    client_.get(url)
        .header("Authorization", "Bearer geheim")
        .header("X-A", "seen")
        .header("X-Pin", secret("geheim"))
        .wait();
    const auto lines = log_.lines();
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_THAT(lines[0], HasSubstr(" > X-Pin: ***"));
    EXPECT_THAT(lines[0], Not(HasSubstr("geheim")));
    EXPECT_THAT(lines[0], HasSubstr("/a?api_key=***&q=boats 200, "));
    EXPECT_THAT(lines[0], HasSubstr(" > X-A: seen"));
    EXPECT_THAT(lines[0], HasSubstr(" < Set-Cookie: ***"));
    EXPECT_THAT(lines[0], HasSubstr(" < Location: /?token=***"));
}

TEST_F(client_log_calls, says_how_a_call_failed) {
    client_.use(http::log_calls());
    EXPECT_EQ(failure_of(client_.get("http://ada:geheim@127.0.0.1:1/?token=geheim")),
              std::errc::connection_refused);
    EXPECT_THAT(log_.lines(),
                ElementsAre(ContainsRegex("^GET http://127.0.0.1:1/\\?token=\\*\\*\\* failed: "
                                          "Connection refused, [0-9.]+ ms, phase connect$")));
}

TEST_F(client_log_calls, lets_what_others_throw_pass) {
    client_.use(http::log_calls());
    client_.use([](http::request&, const http::handler&) -> task<http::response> {
        throw std::runtime_error("mine");
        co_return http::response();
    });
    EXPECT_THROW(client_.get("http://127.0.0.1:1/").wait(), std::runtime_error);
    EXPECT_THAT(log_.lines(), ElementsAre(HasSubstr("/ failed: ")));
}

}  // namespace
}  // namespace coracle::testing
