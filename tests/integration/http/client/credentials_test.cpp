// The credentials that a request carries, and how: those of options, URLs and netrc files.

#include "support/client_calls.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/http/curlev.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/scripted_peer.hpp>

#include <gmock/gmock.h>

#include <cstdlib>

namespace coracle::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* challenge =
    "HTTP/1.1 401 Who?\r\nWWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\n"
    "Content-Length: 0\r\n\r\n";

/// $NETRC, while it lives.
class netrc_variable {
public:
    explicit netrc_variable(std::string_view text) : path_(folder_.write("netrc", text)) {
        ::setenv("NETRC", path_.c_str(), 1);
    }
    netrc_variable(const netrc_variable&) = delete;
    netrc_variable& operator=(const netrc_variable&) = delete;
    ~netrc_variable() { ::unsetenv("NETRC"); }

private:
    temporary_directory folder_;
    std::string path_;
};

std::string with_user(std::string url, std::string_view user) {
    return url.insert(url.find("//") + 2, std::string(user) + '@');
}

/// Returns the Authorization that a peer which demands Digest receives for this call.
template <class Prepare>
std::string challenged(std::string_view user, Prepare prepare) {
    const scripted_peer peer(script().read_head().send(challenge).read_head().respond("in"));
    http::client client;
    http::call c = client.get(user.empty() ? peer.url() : with_user(peer.url(), user));
    prepare(c);
    EXPECT_EQ(std::move(c).wait().body, "in");
    return peer.record().received;
}

TEST(client_credentials, of_a_url_are_digested_where_that_is_chosen) {
    const std::string heard =
        challenged("ada:paddle", [](http::call& c) { c.options("mode=digest"); });
    EXPECT_THAT(heard, AllOf(HasSubstr("Authorization: Digest username=\"ada\""),
                             Not(HasSubstr("Basic")), Not(HasSubstr("paddle"))));
}

TEST(client_credentials, of_a_netrc_file_are_digested_where_that_is_chosen) {
    const netrc_variable file("machine 127.0.0.1 login ada password paddle");
    const std::string heard =
        challenged("", [](http::call& c) { c.options("mode=digest, netrc=1"); });
    EXPECT_THAT(
        heard, AllOf(HasSubstr("Authorization: Digest username=\"ada\""), Not(HasSubstr("Basic"))));
}

/// A body that can be sent once.
http::body once(std::string text) {
    const auto size = text.size();
    return http::body::stream(
        [text](http::body_writer& out) -> task<> { co_await out.write(text); }, size);
}

// A server that takes nothing before it challenges, and one that reads all.
TEST(client_credentials, are_digested_for_a_body_that_can_be_sent_once) {
    std::vector<script> scripts;
    scripts.push_back(script().read_head().send(challenge).read_to_end());
    scripts.push_back(script().read_until("data").respond("in"));
    const scripted_peer early(std::move(scripts));
    http::client client;
    const auto waited =
        client.put(early.url()).digest("ada", secret("x")).body(once("data")).wait();
    EXPECT_EQ(waited.body, "in");
    const std::string refused = early.record(0).received;
    EXPECT_THAT(refused, AllOf(HasSubstr("Expect: 100-continue"), Not(HasSubstr("data"))));
    EXPECT_THAT(early.record(1).received, HasSubstr("Authorization: Digest username=\"ada\""));

    const scripted_peer late(script()
                                 .read_head()
                                 .send("HTTP/1.1 100 Continue\r\n\r\n")
                                 .read_until("data")
                                 .send(challenge)
                                 .read_until("data")
                                 .respond("in"));
    http::client other;
    const auto first = other.put(late.url()).digest("ada", secret("x")).body(once("data")).wait();
    EXPECT_EQ(first.status, http::status::unauthorized) << "it was sent";
    const auto next = other.put(late.url()).digest("ada", secret("x")).body(once("data")).wait();
    EXPECT_EQ(next.body, "in");
    const std::string all = late.record().received;
    EXPECT_THAT(all, HasSubstr("Authorization: Digest")) << "the challenge is known";
    EXPECT_EQ(all.find("Expect"), all.rfind("Expect")) << "so there is nothing to wait for";
}

// No challenge changes a field of the caller.
TEST(client_credentials, make_nobody_wait_where_the_request_has_its_own) {
    const scripted_peer peer(script().read_until("data").respond("in"));
    http::client client;
    const auto r = client.put(peer.url())
                       .digest("ada", secret("x"))
                       .header("Authorization", "Own x")
                       .body(once("data"))
                       .wait();
    EXPECT_EQ(r.body, "in");
    EXPECT_THAT(peer.record().received, Not(HasSubstr("Expect")));
}

TEST(client_credentials, are_digested_with_the_nonce_that_any_response_gives) {
    const std::string given =
        "HTTP/1.1 404 No\r\nAuthentication-Info: nextnonce=\"second\"\r\n"
        "Content-Length: 0\r\n\r\n";
    const scripted_peer peer(
        script().read_head().send(challenge).read_head().send(given).read_head().respond("in"));
    http::client client;
    for (const auto expected : {http::status::not_found, http::status::ok}) {
        const auto r = client.get(peer.url()).digest("ada", secret("x")).wait();
        EXPECT_EQ(r.status, expected);
    }
    EXPECT_THAT(peer.record().received,
                AllOf(HasSubstr("nonce=\"n\""), HasSubstr("nonce=\"second\"")));
}

TEST(client_credentials, of_options_go_before_those_of_a_url) {
    const std::string heard =
        challenged("eve:x", [](http::call& c) { c.digest("ada", secret("paddle")); });
    EXPECT_THAT(heard, AllOf(HasSubstr("username=\"ada\""), Not(HasSubstr("eve"))));
}

TEST(client_credentials, are_completed_by_the_netrc_file_for_a_user_without_a_password) {
    const netrc_variable file(
        "machine 127.0.0.1 login eve password other\nmachine 127.0.0.1 login ada password paddle");
    const local_server server(tell_request);
    http::client client;
    const auto told = [&](http::call c) { return std::move(c.options("netrc=1")).wait().body; };
    // ada:paddle, ada: and ada:own
    EXPECT_THAT(told(client.get(with_user(server.url(), "ada"))),
                HasSubstr("Authorization: Basic YWRhOnBhZGRsZQ==\n"));
    EXPECT_THAT(told(client.get(with_user(server.url(), "ada:own"))),
                HasSubstr("Authorization: Basic YWRhOm93bg==\n"));
    EXPECT_THAT(told(client.get(with_user(server.url(), "bob"))),
                HasSubstr("Authorization: Basic Ym9iOg==\n"));
    EXPECT_THAT(told(client.get(server.url()).basic("ada", {})),
                HasSubstr("Authorization: Basic YWRhOnBhZGRsZQ==\n"));
}

class client_credentials_after_a_redirect : public ::testing::Test {
protected:
    /// Another name of the loopback: another origin, another entry.
    std::string elsewhere() const {
        return "http://localhost:" + std::to_string(there_.port()) + "/";
    }
    std::string told(http::call c) {
        c.follow(http::follow::standard);
        return std::move(c).wait().body;
    }

    local_server there_{tell_request};
    local_server here_{[this](http::request&) { return http::redirect(elsewhere()); }};
    http::client client_{[] {
        http::client_options o;
        o.resolve = {"localhost:*:127.0.0.1"};
        return o;
    }()};
};

TEST_F(client_credentials_after_a_redirect, are_those_of_the_netrc_file_for_the_new_host) {
    const netrc_variable file(
        "machine 127.0.0.1 login ada password one\nmachine localhost login bob password two");
    EXPECT_THAT(told(client_.get(here_.url()).options("netrc=1")),
                HasSubstr("Authorization: Basic Ym9iOnR3bw==\n"));
    // A field of the caller's stays behind, and does not keep out what the file has for there.
    EXPECT_THAT(told(client_.get(here_.url()).header("Authorization", "mine").options("netrc=1")),
                AllOf(HasSubstr("Authorization: Basic Ym9iOnR3bw==\n"), Not(HasSubstr("mine"))));
}

TEST_F(client_credentials_after_a_redirect, are_none_where_the_call_brought_its_own) {
    const netrc_variable file("machine localhost login bob password two");
    const auto nothing_told = AllOf(StartsWith("GET /\n"), Not(HasSubstr("Authorization")));
    EXPECT_THAT(told(client_.get(here_.url()).basic("ada", secret("one")).options("netrc=1")),
                nothing_told);
    EXPECT_THAT(told(client_.get(with_user(here_.url(), "ada:own")).options("netrc=1")),
                nothing_told);
    EXPECT_THAT(told(client_.get(here_.url())), nothing_told);
}

TEST_F(client_credentials_after_a_redirect, are_none_where_it_leaves_tls) {
    const netrc_variable file("machine localhost login bob password two");
    local_server_options o;
    o.self_signed = true;
    const auto away = [this](http::request&) { return http::redirect(elsewhere()); };
    const local_server secured(away, o);
    EXPECT_THAT(told(client_.get(secured.url()).options("netrc=1, insecure=1")),
                AllOf(StartsWith("GET /\n"), Not(HasSubstr("Authorization"))));
    // The next redirect could be of somebody on the way.
    const auto by_way = [this](http::request&) { return http::redirect(here_.url()); };
    const local_server first(by_way, o);
    EXPECT_THAT(told(client_.get(first.url()).options("netrc=1, insecure=1")),
                AllOf(StartsWith("GET /\n"), Not(HasSubstr("Authorization"))));
}

TEST(client_credentials, of_bearer_without_a_token_fail_before_anything_is_connected) {
    const scripted_peer peer(script().read_head().respond("in"));
    http::client client;
    for (const char* user : {"", "ada:paddle"}) {
        const std::string to = *user == '\0' ? peer.url() : with_user(peer.url(), user);
        const error e = failure_of(client.get(to).options("mode=bearer"));
        EXPECT_EQ(e, std::errc::invalid_argument);
        EXPECT_EQ(http::curlev_code(e), -21) << e;
        EXPECT_THAT(e.message(), HasSubstr("authentication_secret"));
    }
    http::client_options o;
    o.proxy = peer.url();
    o.proxy_authentication.scheme = http::auth_scheme::bearer;
    http::client behind(o);
    const error e = failure_of(behind.get("http://origin.test/"));
    EXPECT_EQ(http::curlev_code(e), -21) << e;
    EXPECT_EQ(peer.connections(), 0U);
}

}  // namespace
}  // namespace coracle::testing
