// The credentials for proxies that demand more than Basic.

#include "support/client_calls.hpp"
#include "support/environment_variable.hpp"

#include <coracle/connect/proxy.hpp>
#include <coracle/testing/scripted_peer.hpp>

#include <gmock/gmock.h>

namespace coracle::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* challenge =
    "HTTP/1.1 407 Who?\r\nProxy-Authenticate: Basic realm=\"b\"\r\n"
    "Proxy-Authenticate: Digest realm=\"r\", nonce=\"one\", qop=\"auth\", algorithm=SHA-256\r\n"
    "Content-Length: 0\r\n\r\n";

http::client_options through(const scripted_peer& proxy, http::auth_scheme scheme) {
    http::client_options o;
    o.proxy = proxy.url();
    o.proxy_authentication = {scheme, "boat", coracle::secret("paddle")};
    return o;
}

/// Neither the password nor what Basic makes of it.
void expect_nothing_said(const std::string& heard) {
    EXPECT_THAT(heard, AllOf(Not(HasSubstr("paddle")), Not(HasSubstr("Basic"))));
}

TEST(client_proxy_logins, digest_what_a_proxy_that_forwards_asks_for) {
    const scripted_peer proxy(
        script().read_head().send(challenge).read_head().respond("one").read_head().respond("two"));
    http::client client(through(proxy, http::auth_scheme::digest));
    EXPECT_EQ(client.get("http://origin.test/a?b").wait().body, "one");
    EXPECT_EQ(client.get("http://origin.test/c").wait().body, "two");
    EXPECT_EQ(proxy.connections(), 1U);
    const std::string heard = proxy.record().received;
    expect_nothing_said(heard);
    const std::size_t second = heard.find("\r\n\r\n") + 4;
    EXPECT_THAT(heard.substr(0, second), Not(HasSubstr("Proxy-Authorization")));
    EXPECT_THAT(heard.substr(second),
                AllOf(HasSubstr("Proxy-Authorization: Digest username=\"boat\""),
                      HasSubstr("uri=\"http://origin.test/a?b\""), HasSubstr("nc=00000001"),
                      HasSubstr("nc=00000002")));
}

TEST(client_proxy_logins, digest_a_body_that_can_be_sent_once) {
    std::vector<script> scripts;
    scripts.push_back(script().read_head().send(challenge).read_to_end());
    scripts.push_back(script().read_until("data").respond("in"));
    const scripted_peer proxy(std::move(scripts));
    http::client client(through(proxy, http::auth_scheme::digest));
    const auto write = [](http::body_writer& out) -> task<> { co_await out.write("data"); };
    const auto r = client.put("http://origin.test/").body(http::body::stream(write, 4)).wait();
    EXPECT_EQ(r.body, "in");
    EXPECT_THAT(proxy.record(0).received,
                AllOf(HasSubstr("Expect: 100-continue"), Not(HasSubstr("data"))));
}

TEST(client_proxy_logins, digest_what_a_tunnel_is_asked_for) {
    const script refuses = script().read_head().send(challenge).close();
    const script opens = script().read_head().send("HTTP/1.1 200 OK\r\n\r\n").close();
    const scripted_peer proxy({refuses, opens, opens});
    http::client client(through(proxy, http::auth_scheme::digest));
    // There is no TLS behind the tunnel.
    EXPECT_EQ(failure_of(client.get("https://origin.test/")).phase(), phase::tls);
    EXPECT_EQ(failure_of(client.get("https://other.test/")).phase(), phase::tls);
    ASSERT_EQ(proxy.connections(), 3U);
    EXPECT_THAT(proxy.record(0).received, AllOf(StartsWith("CONNECT origin.test:443 "),
                                                Not(HasSubstr("Proxy-Authorization"))));
    EXPECT_THAT(proxy.record(1).received,
                AllOf(HasSubstr("Proxy-Authorization: Digest username=\"boat\""),
                      HasSubstr("uri=\"origin.test:443\""), HasSubstr("nc=00000001")));
    EXPECT_THAT(proxy.record(2).received,
                AllOf(HasSubstr("uri=\"other.test:443\""), HasSubstr("nc=00000002")));
    for (std::size_t i = 0; i != 3; ++i) expect_nothing_said(proxy.record(i).received);
}

TEST(client_proxy_logins, end_where_the_proxy_refuses_them) {
    const scripted_peer forwards(script().read_head().send(challenge).again());
    http::client client(through(forwards, http::auth_scheme::digest));
    EXPECT_EQ(client.get("http://origin.test/").wait().status,
              http::status::proxy_authentication_required);
    const scripted_peer tunnels(script().read_head().send(challenge).close());
    http::client other(through(tunnels, http::auth_scheme::digest));
    const error e = failure_of(other.get("https://origin.test/"));
    EXPECT_EQ(e.code(), make_error_code(connect::proxy_errc::credentials_refused)) << e;
    EXPECT_EQ(tunnels.connections(), 2U);
}

TEST(client_proxy_logins, give_a_token_at_once) {
    const scripted_peer proxy(script().read_head().respond("one"));
    http::client_options o = through(proxy, http::auth_scheme::bearer);
    http::client client(o);
    EXPECT_EQ(client.get("http://origin.test/").wait().body, "one");
    EXPECT_THAT(proxy.record().received, HasSubstr("Proxy-Authorization: Bearer paddle\r\n"));
}

// The part behind it would be taken for the password.
TEST(client_proxy_logins, are_not_given_as_basic_where_the_user_has_a_colon) {
    const scripted_peer proxy(script().read_head().respond("one"));
    http::client_options o;
    o.proxy = "http://bo%3Aat:paddle@" + proxy.address().to_string();
    http::client client(o);
    for (const char* url : {"http://origin.test/", "https://origin.test/"}) {
        const error e = failure_of(client.get(url));
        EXPECT_EQ(e, std::errc::invalid_argument) << e;
        EXPECT_THAT(e.message(), HasSubstr("a colon in the proxy's user"));
    }
    EXPECT_EQ(proxy.connections(), 0U);
}

TEST(client_proxy_logins, are_user_and_password_for_socks) {
    const scripted_peer proxy(script().read_head());
    http::client_options o = through(proxy, http::auth_scheme::digest);
    o.proxy = "socks5://" + proxy.address().to_string();
    http::client client(o);
    EXPECT_EQ(failure_of(client.get("http://origin.test/")), std::errc::invalid_argument);
    EXPECT_EQ(proxy.connections(), 0U);
}

TEST(client_proxy_logins, digest_what_stands_in_the_url_of_the_proxy) {
    const scripted_peer proxy(script().read_head().send(challenge).read_head().respond("one"));
    http::client_options o;
    o.proxy = "http://ada:geheim@" + proxy.address().to_string();
    o.proxy_authentication.scheme = http::auth_scheme::digest;
    http::client client(o);
    EXPECT_EQ(client.get("http://origin.test/").wait().body, "one");
    const std::string heard = proxy.record().received;
    expect_nothing_said(heard);
    EXPECT_THAT(heard, HasSubstr("Digest username=\"ada\""));
}

TEST(client_proxy_logins, are_those_of_each_user_of_a_proxy) {
    const script forwards = script().read_head().send(challenge).read_head().respond("one");
    const script refuses = script().read_head().send(challenge).close();
    const script opens = script().read_head().send("HTTP/1.1 200 OK\r\n\r\n").close();
    const scripted_peer proxy({forwards, refuses, opens});
    const std::string at = '@' + proxy.address().to_string();
    const environment_variable for_http("http_proxy", ("http://ada:a" + at).c_str());
    const environment_variable for_https("https_proxy", ("http://bob:b" + at).c_str());
    http::client_options o;
    o.proxy_authentication.scheme = http::auth_scheme::digest;
    http::client client(o);
    EXPECT_EQ(client.get("http://origin.test/").wait().body, "one");
    EXPECT_EQ(failure_of(client.get("https://origin.test/")).phase(), phase::tls);
    ASSERT_EQ(proxy.connections(), 3U);
    EXPECT_THAT(proxy.record(0).received, HasSubstr("Digest username=\"ada\""));
    EXPECT_THAT(proxy.record(1).received, Not(HasSubstr("Proxy-Authorization")));
    EXPECT_THAT(proxy.record(2).received, HasSubstr("Digest username=\"bob\""));
}

}  // namespace
}  // namespace coracle::testing
