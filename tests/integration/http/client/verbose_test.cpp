// The lines that client_options::verbose writes to the log, and those that it leaves out.

#include "support/client_calls.hpp"
#include "support/heard_log.hpp"

#include <coracle/testing/local_server.hpp>
#include <coracle/testing/scripted_peer.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

namespace coracle::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class client_log : public ::testing::Test {
protected:
    static http::client_options verbose() {
        http::client_options o;
        o.verbose = true;
        o.cookies = true;
        return o;
    }
    std::vector<std::string> lines() { return log_.lines(); }
    /// All lines of any layer.
    std::string all() { return log_.all(); }

    heard_log log_{log_level::trace};
    http::client client_{verbose(), {}, log_.options()};
};

TEST_F(client_log, has_what_is_sent_and_received_line_by_line) {
    const local_server server([](http::request& req) { return path_of(req).set("X-A", "1"); });
    const std::string peer = server.addresses().front().to_string();
    client_.get(server.url("/a")).wait();
    const auto first = lines();
    EXPECT_THAT(first.at(0), AllOf(StartsWith("* connected to " + peer + " in "), HasSubstr("ms")));
    EXPECT_EQ(first.at(1), "> GET /a HTTP/1.1");
    EXPECT_THAT(first, Contains("> Host: " + peer));
    EXPECT_THAT(first, Contains("> "));
    EXPECT_THAT(first, Contains("< HTTP/1.1 200 OK"));
    EXPECT_THAT(first, Contains("< X-A: 1"));
    client_.get(server.url("/b")).wait();
    EXPECT_EQ(lines().at(0), "* uses the connection to " + peer + " again");
}

TEST_F(client_log, is_empty_unless_it_is_asked_for) {
    const local_server server(path_of);
    client_.get(server.url()).options("verbose=0").wait();
    EXPECT_THAT(lines(), IsEmpty());
}

TEST_F(client_log, masks_cookies_both_ways) {
    const scripted_peer peer(script()
                                 .read_head()
                                 .respond("body of the response",
                                          "Set-Cookie: id=hidden-cookie; Path=/\r\n"
                                          "sEt-cOOkie: other=hidden-too\r\n")
                                 .again());
    client_.get(peer.url()).wait();
    const auto first = lines();
    EXPECT_THAT(first, Contains("< Set-Cookie: ***"));
    EXPECT_THAT(first, Contains("< sEt-cOOkie: ***"));
    client_.get(peer.url()).wait();
    EXPECT_THAT(lines(), Contains("> Cookie: ***"));
    client_.get(peer.url()).header("Cookie", "mine=hidden").wait();
    EXPECT_THAT(lines(), Contains("> Cookie: ***"));
    // They went all the same.
    EXPECT_THAT(peer.record().received,
                HasSubstr("Cookie: id=hidden-cookie; other=hidden-too\r\n"));
    EXPECT_THAT(peer.record().received, HasSubstr("; mine=hidden\r\n"));
    EXPECT_THAT(all(), Not(HasSubstr("hidden")));
}

TEST_F(client_log, masks_credentials_however_they_are_given) {
    const local_server server(path_of);
    const std::string authority = server.addresses().front().to_string();
    client_.get(server.url()).bearer(secret("hidden-token")).wait();
    client_.get(server.url()).basic("hidden", secret("hidden")).wait();
    client_.get(server.url()).header("Authorization", "Mine hidden").wait();
    client_.get("http://hidden:hidden@" + authority + "/").wait();
    EXPECT_THAT(lines(), Contains("> Authorization: ***").Times(4));
    EXPECT_THAT(all(), Not(HasSubstr("hidden")));
    // "hidden:hidden" in base64.
    EXPECT_THAT(all(), Not(HasSubstr("aGlkZGVu")));
}

TEST_F(client_log, masks_fields_that_are_secrets) {
    const local_server server([](http::request& req) { return std::string(req.header("X-Pin")); });
    const auto r = client_.get(server.url()).header("X-Pin", secret("hidden")).wait();
    EXPECT_EQ(r.body, "hidden");
    EXPECT_THAT(lines(), Contains("> X-Pin: ***"));
    EXPECT_THAT(all(), Not(HasSubstr("hidden")));
}

TEST_F(client_log, masks_secrets_in_the_target) {
    const local_server server(path_of);
    client_.get(server.url("/cb?access_token=hidden&page=2")).wait();
    EXPECT_THAT(lines(), Contains("> GET /cb?access_token=***&page=2 HTTP/1.1"));
    EXPECT_THAT(all(), Not(HasSubstr("hidden")));
}

TEST_F(client_log, masks_credentials_for_a_proxy) {
    const local_server proxy(tell_request);
    const std::string options =
        "proxy=\"http://hidden:hidden@" + proxy.addresses().front().to_string() + '"';
    const auto r = client_.get("http://target.test/x").options(options).options("verbose=1").wait();
    EXPECT_THAT(r.body, HasSubstr("Proxy-Authorization: Basic aGlkZGVuOmhpZGRlbg==\n"));
    const auto told = lines();
    EXPECT_THAT(told, Contains("> GET http://target.test/x HTTP/1.1"));
    EXPECT_THAT(told, Contains("> Proxy-Authorization: ***"));
    EXPECT_THAT(all(), Not(HasSubstr("hidden")));
    EXPECT_THAT(all(), Not(HasSubstr("aGlkZGVu")));
}

TEST_F(client_log, has_the_head_of_a_response_that_comes_before_the_body_was_sent_once) {
    const scripted_peer peer(
        script()
            .read_head()
            .send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig")
            .stall());
    const std::string body(20'000'000, 'b');
    client_.post(peer.url()).body(body).wait();
    const auto told = lines();
    EXPECT_EQ(std::ranges::count(told, "< HTTP/1.1 413 Content Too Large"), 1);
    EXPECT_THAT(all(), Not(HasSubstr("bbb")));
}

}  // namespace
}  // namespace coracle::testing
