// The defaults of a client's calls, and the objects that clients share: options given as text, and
// jars.

#include "support/client_calls.hpp"

#include <coracle/http/cookie_jar.hpp>
#include <coracle/testing/local_server.hpp>

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <thread>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

/// Returns the error that it throws; without a code when it throws none.
error failure_of_defaults(http::client& c, std::string_view text) {
    try {
        c.set_defaults(text);
    } catch (const exception& e) {
        return e.error();
    }
    return {};
}

TEST(client_defaults, are_changed_by_text_for_the_calls_behind_it) {
    const local_server server(tell_request);
    http::client_options o;
    o.idle_timeout = 7s;
    http::client client(o);
    EXPECT_THAT(client.get(server.url()).wait().body, HasSubstr("User-Agent: coracle\n"));
    client.set_defaults("user_agent=boat, timeout=5s");
    EXPECT_THAT(client.get(server.url()).wait().body, HasSubstr("User-Agent: boat\n"));
    EXPECT_EQ(client.defaults().total_timeout, 5s);
    EXPECT_EQ(client.defaults().idle_timeout, 7s) << "what is not said stays";
    client.set_defaults("timeout=6s");
    EXPECT_EQ(client.defaults().user_agent, "boat");
    // A call changes only its own.
    EXPECT_THAT(client.get(server.url()).options("user_agent=ship").wait().body,
                HasSubstr("User-Agent: ship\n"));
    EXPECT_THAT(client.get(server.url()).wait().body, HasSubstr("User-Agent: boat\n"));
}

TEST(client_defaults, stay_as_they_are_when_the_text_is_wrong) {
    http::client client;
    const error unknown = failure_of_defaults(client, "user_agent=boat, conect_timeout=5s");
    EXPECT_EQ(unknown, errc::unknown_option);
    EXPECT_THAT(unknown.message(), HasSubstr("connect_timeout"));
    EXPECT_EQ(failure_of_defaults(client, "user_agent=boat, timeout=soon"),
              std::errc::invalid_argument);
    // They are set once and for all, by the constructor.
    EXPECT_NE(failure_of_defaults(client, "user_agent=boat, pool_connections=3").code(),
              std::error_code());
    EXPECT_EQ(client.defaults().user_agent, "coracle");
}

TEST(client_defaults, that_nothing_can_be_made_with_fail_each_call) {
    const local_server server(path_of);
    http::client client;
    client.set_defaults("cainfo=/nowhere/ca.pem");
    EXPECT_EQ(failure_of(client.get(server.url())), std::errc::no_such_file_or_directory);
    EXPECT_EQ(client.get(server.url("/x")).options("cainfo=").wait().body, "/x");
    client.set_defaults("cainfo=");
    EXPECT_EQ(client.get(server.url("/y")).wait().body, "/y");
}

/// Sets the cookie that the path says, and responds with those that came.
http::response bake(http::request& req) {
    http::response r(std::string(req.header("Cookie")));
    if (req.path() != "/") r.fields().add("Set-Cookie", std::string(req.path().substr(1)));
    return r;
}

TEST(client_cookies, may_be_shared) {
    const local_server server(bake);
    const auto jar = std::make_shared<http::cookie_jar>();
    http::client_options o;
    o.cookies = true;
    http::client stranger(o);
    {
        http::client one(o);
        http::client two(o);
        one.share_cookies(jar);
        two.share_cookies(jar);
        EXPECT_EQ(one.get(server.url("/flavour=oat")).wait().body, "");
        EXPECT_EQ(two.get(server.url("/size=small")).wait().body, "flavour=oat");
        EXPECT_EQ(one.get(server.url()).wait().body, "flavour=oat; size=small");
        // Taken back for one, it is for the other.
        two.get(server.url("/flavour=; Max-Age=0")).wait();
        EXPECT_EQ(one.get(server.url()).wait().body, "size=small");
        EXPECT_EQ(&one.cookies(), jar.get());
        EXPECT_EQ(&two.cookies(), jar.get());
    }
    EXPECT_EQ(stranger.get(server.url()).wait().body, "");
    // The jar outlives them.
    http::client later(o);
    later.share_cookies(jar);
    EXPECT_EQ(later.get(server.url()).wait().body, "size=small");
}

TEST(client_defaults, changed_by_several_threads_lose_no_key) {
    http::client client;
    constexpr unsigned rounds = 500;
    const auto change = [&client](const char* key) {
        for (unsigned i = 1; i <= rounds; ++i) {
            client.set_defaults(std::string(key) + "=" + std::to_string(i));
        }
    };
    std::thread one(change, "redirects");
    std::thread other(change, "interim_limit");
    one.join();
    other.join();
    EXPECT_EQ(client.defaults().redirects, rounds);
    EXPECT_EQ(client.defaults().interim_limit, rounds);
}

}  // namespace
}  // namespace coracle::testing
