#include "http/client/auth/authenticator.hpp"

#include <gtest/gtest.h>

using namespace coracle;
using namespace coracle::http;
using namespace coracle::http::detail;

namespace {

constexpr std::array<std::uint64_t, 2> random_bits{1, 0xabc};
constexpr std::string_view cnonce_text = "00000000000000010000000000000abc";
constexpr digest_request get{.method = "GET", .target = "/dir/index.html"};

std::vector<challenge> challenges(std::string_view line) {
    std::vector<challenge> all;
    read_challenges(line, all);
    return all;
}

/// Returns the response to a challenge, with a cnonce of its own.
std::string response_to(std::string_view line, const digest_identity& who, const digest_request& r,
                        std::string_view cnonce, std::uint32_t count = 1) {
    const auto c = strongest(challenges(line));
    if (!c) return {};
    const auto key = digest_key(*c, who, cnonce);
    return digest_authorization(*c, key.value(), who.user, r, cnonce, count).value_or("");
}

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

fields asking(std::string_view challenge) {
    fields f;
    f.add("WWW-Authenticate", challenge);
    return f;
}

std::string said(const std::expected<secret, error>& value) {
    return value ? std::string(value->reveal()) : "error: " + std::string(value.error().subject());
}

constexpr std::string_view simple = "Digest realm=\"r\", nonce=\"n1\", qop=\"auth\"";
const credentials mufasa{auth_scheme::digest, "Mufasa", "Circle Of Life"};

}  // namespace

TEST(digest_authorization, is_that_of_rfc_7616_for_sha_256_and_md5) {
    const digest_identity who{"Mufasa", "Circle of Life"};
    const std::string rest =
        "realm=\"http-auth@example.org\", qop=\"auth, auth-int\", "
        "nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", "
        "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"";
    const std::string sha = "Digest algorithm=SHA-256, " + rest;
    const std::string md5 = "Digest algorithm=MD5, " + rest;
    constexpr std::string_view cnonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ";
    const auto expected = [](std::string_view algorithm, std::string_view response) {
        return std::string(
                   "Digest username=\"Mufasa\", realm=\"http-auth@example.org\", "
                   "uri=\"/dir/index.html\", algorithm=")
            .append(algorithm)
            .append(
                ", nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", nc=00000001, "
                "cnonce=\"f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ\", qop=auth, "
                "response=\"")
            .append(response)
            .append("\", opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"");
    };
    EXPECT_EQ(
        response_to(sha, who, get, cnonce),
        expected("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"));
    EXPECT_EQ(response_to(md5, who, get, cnonce),
              expected("MD5", "8ca523f5e9506fed4657c9700eebdbec"));
    // The stronger of the two is used, whichever comes first.
    EXPECT_TRUE(has(response_to(md5 + ", " + sha, who, get, cnonce), "algorithm=SHA-256"));
    EXPECT_TRUE(has(response_to(sha + ", " + md5, who, get, cnonce), "algorithm=SHA-256"));
}

// Section 3.9.2 as its erratum 4897 corrects it.
TEST(digest_authorization, is_that_of_rfc_7616_for_sha_512_256_and_userhash) {
    const digest_identity who{"J\xC3\xA4s\xC3\xB8n Doe", "Secret, or not?"};
    const digest_request r{.method = "GET", .target = "/doe.json"};
    const std::string asked =
        "Digest realm=\"api@example.org\", qop=\"auth\", algorithm=SHA-512-256, "
        "nonce=\"5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK\", "
        "opaque=\"HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS\", charset=UTF-8, userhash=";
    constexpr std::string_view cnonce = "NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v";
    const std::string common =
        "realm=\"api@example.org\", uri=\"/doe.json\", algorithm=SHA-512-256, "
        "nonce=\"5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK\", nc=00000001, "
        "cnonce=\"NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v\", qop=auth, "
        "response=\"3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5\", "
        "opaque=\"HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS\"";
    EXPECT_EQ(response_to(asked + "true", who, r, cnonce),
              "Digest "
              "username=\"793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b\", " +
                  common + ", userhash=true");
    EXPECT_EQ(response_to(asked + "false", who, r, cnonce),
              "Digest username*=UTF-8''J%C3%A4s%C3%B8n%20Doe, " + common);
}

TEST(digest_authorization, is_that_of_rfc_2617) {
    const std::string value = response_to(
        "Digest realm=\"testrealm@host.com\", qop=\"auth,auth-int\", "
        "nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\", "
        "opaque=\"5ccc069c403ebaf9f0171e9517f40e41\"",
        {"Mufasa", "Circle Of Life"}, get, "0a4f113b");
    EXPECT_TRUE(has(value, "response=\"6629fae49393a05397450978507c4ef1\"")) << value;
    EXPECT_FALSE(has(value, "algorithm"));
}

TEST(digest_authorization, without_qop_is_that_of_rfc_2069) {
    // The request-digest of RFC 2069 section 2.4 as its erratum 749 corrects it.
    EXPECT_EQ(response_to("Digest realm=\"testrealm@host.com\", "
                          "nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\", "
                          "opaque=\"5ccc069c403ebaf9f0171e9517f40e41\"",
                          {"Mufasa", "CircleOfLife"}, get, "unused"),
              "Digest username=\"Mufasa\", realm=\"testrealm@host.com\", uri=\"/dir/index.html\", "
              "nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\", "
              "response=\"1949323746fe6a43ef61f9606e7febea\", "
              "opaque=\"5ccc069c403ebaf9f0171e9517f40e41\"");
}

TEST(digest_authorization, covers_the_body_where_only_that_is_offered) {
    constexpr std::string_view asked = "Digest realm=\"r\", nonce=\"n\", qop=\"auth-int\"";
    const digest_identity who{"u", "p"};
    digest_request r{.method = "POST", .target = "/x", .body = "hello"};
    // md5(md5("u:r:p") ":n:00000002:c:auth-int:" md5("POST:/x:" md5("hello")))
    const std::string value = response_to(asked, who, r, "c", 2);
    EXPECT_TRUE(has(value,
                    "nc=00000002, cnonce=\"c\", qop=auth-int, "
                    "response=\"e54f87f7142943ac23f019a752c5370c\""))
        << value;
    r.body = "hellp";
    EXPECT_NE(response_to(asked, who, r, "c", 2), value);
    r.body.reset();
    EXPECT_EQ(response_to(asked, who, r, "c", 2), "");
    EXPECT_TRUE(has(response_to("Digest realm=r, nonce=n, qop=\"auth-int, auth\"", who, r, "c"),
                    "qop=auth,"));
}

TEST(digest_authorization, of_a_session_has_both_nonces_in_its_key) {
    // md5(md5(md5("u:r:p") ":n:c") ":n:00000001:c:auth:" md5("GET:/dir/index.html"))
    const std::string value =
        response_to("Digest realm=r, nonce=n, qop=auth, algorithm=md5-SESS", {"u", "p"}, get, "c");
    EXPECT_TRUE(has(value, "algorithm=md5-SESS, ")) << value;
    EXPECT_TRUE(has(value, "response=\"0abe11747db4fe75b9d027c31a167c62\"")) << value;
}

TEST(digest_authorization, quotes_what_it_sends_back) {
    const std::string value =
        response_to("Digest realm=\"a\\\"b\\\\c\", nonce=\"\\\"\", opaque=\"\", qop=auth",
                    {"o\"r", "p"}, {.method = "GET", .target = "/?\"\\"}, "c");
    EXPECT_TRUE(
        value.starts_with("Digest username=\"o\\\"r\", realm=\"a\\\"b\\\\c\", "
                          "uri=\"/?\\\"\\\\\", nonce=\"\\\"\", "))
        << value;
    EXPECT_TRUE(value.ends_with(", opaque=\"\""));
}

TEST(strongest, passes_over_what_it_does_not_know) {
    const auto algorithm = [](std::string_view line) {
        const auto c = strongest(challenges(line));
        return c ? c->algorithm : "none";
    };
    EXPECT_EQ(algorithm("Digest realm=r, nonce=n, algorithm=MD5, "
                        "Digest realm=r, nonce=n, algorithm=SHA-512-256, "
                        "Digest realm=r, nonce=n, algorithm=SHA-256"),
              "SHA-512-256");
    EXPECT_EQ(algorithm("Digest realm=r, nonce=n, algorithm=SHA-256-sess, "
                        "Digest realm=r, nonce=n, algorithm=SHA-256"),
              "SHA-256-sess");
    EXPECT_EQ(algorithm("Digest realm=r, nonce=n, algorithm=SHA-3"), "none");
    EXPECT_EQ(algorithm("Digest realm=r, nonce=n, algorithm=-sess"), "none");
    EXPECT_EQ(algorithm("Digest realm=r, nonce=n, qop=token"), "none");
    EXPECT_EQ(algorithm("Digest realm=r, qop=auth"), "none");
    EXPECT_EQ(algorithm("Digest nonce=n, qop=auth"), "none");
    EXPECT_EQ(algorithm("Digest realm=r, nonce=\"a\x01\", qop=auth"), "none");
    EXPECT_EQ(algorithm("Basic realm=r, nonce=n"), "none");
}

TEST(authenticator, sends_basic_at_once) {
    authenticator who({auth_scheme::basic, "Aladdin", "open sesame"});
    EXPECT_EQ(said(who.authorize(get, random_bits)), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    EXPECT_FALSE(who.challenged(asking("Basic realm=x"), 0));
    // RFC 7617 section 2.1.
    authenticator utf8({auth_scheme::basic, "test", "123\xC2\xA3"});
    EXPECT_EQ(said(utf8.authorize(get, random_bits)), "Basic dGVzdDoxMjPCow==");
    authenticator empty({auth_scheme::basic, "", ""});
    EXPECT_EQ(said(empty.authorize(get, random_bits)), "Basic Og==");
    authenticator colon({auth_scheme::basic, "a:b", "c"});
    EXPECT_EQ(said(colon.authorize(get, random_bits)),
              "error: the user's name holds a colon, which Basic cannot carry");
}

TEST(authenticator, sends_a_token_at_once) {
    authenticator who({auth_scheme::bearer, "", "mF_9.B5f-4.1JqM"});
    EXPECT_EQ(said(who.authorize(get, random_bits)), "Bearer mF_9.B5f-4.1JqM");
    EXPECT_FALSE(who.challenged(asking("Bearer error=invalid_token"), 0));
    for (const std::string_view bad : {"", "a\r\nb", "a\n"}) {
        authenticator other({auth_scheme::bearer, "", bad});
        EXPECT_EQ(said(other.authorize(get, random_bits)),
                  "error: the token is empty or holds a byte that no field may hold");
    }
}

TEST(authenticator, without_credentials_says_nothing) {
    authenticator nobody;
    EXPECT_EQ(said(nobody.authorize(get, random_bits)), "");
    EXPECT_FALSE(nobody.challenged(asking(simple), 0));
    nobody.received(asking(simple));
}

TEST(authenticator, responds_to_a_digest_and_then_goes_on_by_itself) {
    authenticator who(mufasa);
    EXPECT_EQ(said(who.authorize(get, random_bits)), "");
    ASSERT_TRUE(who.challenged(asking(simple), 0));
    const std::string first = said(who.authorize(get, random_bits));
    EXPECT_TRUE(has(first, "nonce=\"n1\", nc=00000001, cnonce=\"" + std::string(cnonce_text)));
    who.received({});
    EXPECT_TRUE(has(said(who.authorize(get, random_bits)), "nonce=\"n1\", nc=00000002"));
    // The server has forgotten the nonce, and says so or not.
    ASSERT_TRUE(who.challenged(asking("Digest realm=r, nonce=n2, qop=auth"), 0));
    EXPECT_TRUE(has(said(who.authorize(get, random_bits)), "nonce=\"n2\", nc=00000001"));
    // One nonce for all is counted on.
    ASSERT_TRUE(who.challenged(asking("Digest realm=r, nonce=n2, qop=auth"), 0));
    EXPECT_TRUE(has(said(who.authorize(get, random_bits)), "nonce=\"n2\", nc=00000002"));
}

TEST(authenticator, gives_up_when_it_is_refused) {
    authenticator who(mufasa);
    EXPECT_FALSE(who.challenged(asking("Basic realm=r, Negotiate"), 0));
    EXPECT_FALSE(who.challenged({}, 0));
    ASSERT_TRUE(who.challenged(asking(simple), 0));
    EXPECT_FALSE(who.challenged(asking(simple), 1));
    const std::string stale = std::string(simple).append(", stale=TRUE");
    EXPECT_TRUE(who.challenged(asking(stale), 1));
    EXPECT_TRUE(who.challenged(asking(stale), 2));
    EXPECT_FALSE(who.challenged(asking(stale), 3));
}

TEST(authenticator, takes_the_next_nonce) {
    authenticator who(mufasa);
    ASSERT_TRUE(who.challenged(asking("Digest realm=r, nonce=n1, qop=auth"), 0));
    who.authorize(get, random_bits).value();
    fields res;
    res.add("Authentication-Info", "nextnonce=\"n2\", qop=auth");
    who.received(res);
    EXPECT_TRUE(has(said(who.authorize(get, random_bits)), "nonce=\"n2\", nc=00000001"));
    who.received(res);
    EXPECT_TRUE(has(said(who.authorize(get, random_bits)), "nonce=\"n2\", nc=00000002"));
}

TEST(authenticator, keeps_the_key_of_a_session) {
    authenticator who({auth_scheme::digest, "u", "p"});
    ASSERT_TRUE(who.challenged(asking("Digest realm=r, nonce=n, qop=auth, algorithm=MD5-sess"), 0));
    const std::string first = said(who.authorize(get, random_bits));
    const std::string second = said(who.authorize(get, {7, 7}));
    EXPECT_TRUE(has(first, "nc=00000001, cnonce=\"" + std::string(cnonce_text) + '"'));
    EXPECT_TRUE(has(second, "nc=00000002, cnonce=\"" + std::string(cnonce_text) + '"'));
    // Elsewhere each request has its own.
    authenticator other(mufasa);
    ASSERT_TRUE(other.challenged(asking(simple), 0));
    const std::string one = said(other.authorize(get, random_bits));
    EXPECT_FALSE(has(said(other.authorize(get, {7, 7})), cnonce_text));
    EXPECT_TRUE(has(one, cnonce_text));
}

TEST(authenticator, says_when_it_needs_the_body) {
    authenticator who(mufasa);
    ASSERT_TRUE(who.challenged(asking("Digest realm=r, nonce=n, qop=auth-int"), 0));
    EXPECT_EQ(said(who.authorize(get, random_bits)), "error: body");
    EXPECT_TRUE(has(said(who.authorize({.method = "PUT", .target = "/", .body = ""}, random_bits)),
                    "nc=00000001"));
}

TEST(authenticator, responds_to_a_proxy_in_its_own_fields) {
    authenticator who(mufasa, auth_side::proxy);
    EXPECT_FALSE(who.challenged(asking(simple), 0));
    fields f;
    f.add("proxy-authenticate", simple);
    ASSERT_TRUE(who.challenged(f, 0));
    EXPECT_TRUE(has(said(who.authorize({.method = "CONNECT", .target = "a.org:443"}, random_bits)),
                    "uri=\"a.org:443\""));
    EXPECT_EQ(credentials_field(auth_side::proxy), "Proxy-Authorization");
    EXPECT_EQ(challenge_status(auth_side::proxy), 407);
    EXPECT_EQ(challenge_status(auth_side::origin), 401);
}
