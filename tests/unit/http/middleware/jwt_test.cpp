#include "unit/http/middleware/asked.hpp"
#include "unit/http/middleware/jwt_samples.hpp"

#include <coracle/http/middleware/authenticate.hpp>
#include <coracle/http/middleware/jwt.hpp>
#include <coracle/mime/base64.hpp>
#include <coracle/tls/error.hpp>
#include <coracle/tls/hash.hpp>

#include <algorithm>

using namespace middleware_test;
using namespace jwt_samples;

namespace {

constexpr std::int64_t now = 1'790'000'000;  // in 2026

// RFC 7515 appendix A.1.
constexpr std::string_view rfc_secret =
    "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
constexpr std::string_view rfc_token =
    "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9."
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVl"
    "fQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

std::string url64(std::string_view bytes) {
    return mime::base64_encode(bytes, mime::base64_alphabet::url);
}
std::string from_url64(std::string_view text) {
    return mime::base64_decode(text, mime::base64_alphabet::url).value();
}

const std::string own_secret = "0123456789abcdef0123456789abcdef";

/// A token signed with our own secret.
std::string token(std::string_view claims, std::string_view header = R"({"alg":"HS256"})",
                  std::string_view key = own_secret) {
    const std::string text = url64(header) + '.' + url64(claims);
    return text + '.' + url64(tls::hmac(tls::hash::sha256, key, text));
}

http::jwt_keys own_keys() {
    http::jwt_keys keys;
    keys.add_secret(secret(own_secret));
    return keys;
}

http::jwt_options lenient() {
    http::jwt_options o;
    o.requires_expiry = false;
    return o;
}

/// "ok", or why not.
std::string verdict(const http::jwt_keys& keys, std::string_view text,
                    const http::jwt_options& o = lenient(), std::int64_t at = now) {
    const auto r = keys.verify(text, o, at);
    if (r) return "ok";
    if (text.size() > 20) {
        EXPECT_EQ(r.error().message().find(text.substr(0, 20)), std::string::npos);
    }
    const std::string_view why = r.error() == std::errc::bad_message         ? "malformed "
                                 : r.error() == std::errc::permission_denied ? "refused "
                                 : r.error() == std::errc::timed_out         ? "time "
                                                                             : "wrong ";
    return std::string(why) + std::string(r.error().subject());
}

http::jwt_keys public_key(std::string_view pem, std::string_view id = {}) {
    http::jwt_keys keys;
    keys.add(tls::verifying_key::read(pem).value(), id);
    return keys;
}

}  // namespace

TEST(jwt_keys, verify_the_example_of_the_rfc) {
    http::jwt_keys keys;
    keys.add_secret(secret(from_url64(rfc_secret)));
    const auto claims = keys.verify(rfc_token, {}, 1'300'819'379);
    ASSERT_TRUE(claims.has_value());
    EXPECT_EQ(claims->issuer, "joe");
    EXPECT_EQ(claims->expires, 1'300'819'380);
    EXPECT_EQ(claims->json,
              "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n "
              "\"http://example.com/is_root\":true}");
    EXPECT_EQ(verdict(keys, rfc_token, {}, 1'300'819'380 + 59), "ok");
    EXPECT_EQ(verdict(keys, rfc_token, {}, 1'300'819'380 + 60), "time exp");
}

TEST(jwt_keys, verify_tokens_of_each_kind_of_public_key) {
    for (const auto& [pem, text] : {std::pair(rsa_pem, rs256), std::pair(p256_pem, es256)}) {
        const auto claims = public_key(pem).verify(text, {}, now);
        ASSERT_TRUE(claims.has_value());
        EXPECT_EQ(claims->issuer, "joe");
        EXPECT_EQ(claims->subject, "ann");
        EXPECT_EQ(claims->audience, (std::vector<std::string>{"boats", "maps"}));
        EXPECT_EQ(claims->not_before, 1'700'000'000);
        EXPECT_EQ(claims->issued, 1'700'000'000);
        EXPECT_EQ(claims->id, "7");
        // Each part that is changed spoils it.
        for (std::size_t at = 0; at < text.size(); at += 7) {
            std::string other(text);
            other[at] = other[at] == 'A' ? 'B' : 'A';
            EXPECT_NE(verdict(public_key(pem), other), "ok") << at;
        }
    }
    // RFC 8037 appendix A.4, of which the payload is no JSON: the signature is right.
    http::jwt_keys keys;
    keys.add(tls::verifying_key::ed25519(from_url64("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"))
                 .value());
    const std::string head = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.";
    const std::string rest =
        "gyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
    EXPECT_EQ(verdict(keys, head + 'h' + rest), "malformed claims");
    EXPECT_EQ(verdict(keys, head + 'i' + rest), "refused signature");
}

TEST(jwt_keys, let_no_token_choose_its_algorithm) {
    // No signature at all.
    const std::string none = url64(R"({"alg":"none"})") + '.' + url64(R"({"sub":"eve"})") + '.';
    EXPECT_EQ(verdict(own_keys(), none), "refused signature");
    // The public key as a shared secret.
    const std::string confused = token(R"({"sub":"eve"})", R"({"alg":"HS256"})", rsa_pem);
    EXPECT_EQ(verdict(public_key(rsa_pem), confused), "refused signature");
    EXPECT_EQ(verdict(public_key(rsa_pem), es256), "refused signature");
    EXPECT_EQ(verdict(own_keys(), rs256), "refused signature");
    for (const char* algorithm : {"hs256", "HS512", "HS256 ", ""}) {
        const std::string header = std::string(R"({"alg":")") + algorithm + "\"}";
        EXPECT_EQ(verdict(own_keys(), token("{}", header)), "refused signature") << algorithm;
    }
    EXPECT_EQ(verdict(own_keys(), token("{}", "{}")), "refused signature");
    EXPECT_EQ(verdict(own_keys(), token("{}", R"({"alg":1})")), "refused signature");
    EXPECT_EQ(verdict(http::jwt_keys(), token("{}")), "refused signature");
    // A signature of ECDSA of zeros (CVE-2022-21449).
    const std::string zeros =
        std::string(es256.substr(0, es256.rfind('.') + 1)) + url64(std::string(64, '\0'));
    EXPECT_EQ(verdict(public_key(p256_pem), zeros), "refused signature");
}

TEST(jwt_keys, are_chosen_by_their_id) {
    http::jwt_keys keys;
    keys.add_secret(secret(std::string(32, 'x')), "other");
    keys.add_secret(secret(own_secret), "mine");
    EXPECT_EQ(verdict(keys, token("{}", R"({"alg":"HS256","kid":"mine"})")), "ok");
    EXPECT_EQ(verdict(keys, token("{}", R"({"alg":"HS256"})")), "ok");
    EXPECT_EQ(verdict(keys, token("{}", R"({"alg":"HS256","kid":"other"})")), "refused signature");
    EXPECT_EQ(verdict(keys, token("{}", R"({"alg":"HS256","kid":"third"})")), "refused signature");
    EXPECT_EQ(verdict(own_keys(), token("{}", R"({"alg":"HS256","kid":"third"})")), "ok");
    EXPECT_EQ(refusal_of([] { http::jwt_keys().add_secret(secret(std::string(31, 'x'))); }),
              "secret of less than 32 bytes");
}

TEST(jwt_keys, refuse_what_is_malformed) {
    const auto keys = own_keys();
    const std::string good = token("{}");
    ASSERT_EQ(verdict(keys, good), "ok");
    const std::size_t dot = good.find('.');
    for (const std::string& text :
         {std::string(), std::string("."), std::string(".."), good + ".", "." + good, good + "=",
          good + " ", std::string(good).insert(dot, "="), good.substr(0, good.rfind('.'))}) {
        EXPECT_TRUE(verdict(keys, text).starts_with("malformed")) << text;
    }
    for (const char* header : {"[]", "", "{\"alg\":\"HS256\"", R"({"alg":"HS256"}x)",
                               R"({"alg":"none","alg":"HS256"})", R"({"alg":"HS256",})"}) {
        EXPECT_EQ(verdict(keys, token("{}", header)), "malformed header") << header;
    }
    EXPECT_EQ(verdict(keys, token("{}", std::string("{\"alg\":\"HS256\"}\0", 16))),
              "malformed header");
    EXPECT_EQ(verdict(keys, token("{}", R"({"alg":"HS256","crit":["exp"]})")), "wrong crit");
    for (const char* claims :
         {"[]", "null", "", "{\"exp\":\"soon\"}", "{\"exp\":1e300}", "{\"nbf\":[]}", "{\"sub\":1}",
          "{\"iss\":null}", "{\"aud\":5}", R"({"sub":"a","sub":"b"})"}) {
        EXPECT_EQ(verdict(keys, token(claims)), "malformed claims") << claims;
    }
    std::string deep = "{\"a\":";
    for (int i = 0; i != 1000; ++i) deep += '[';
    EXPECT_EQ(verdict(keys, token(deep)), "malformed claims");
    EXPECT_EQ(verdict(keys, token("{\"a\":{\"b\":[[{\"c\":[1,true,null,{}]}]]}}")), "ok");
    http::jwt_options small = lenient();
    small.longest = good.size();
    EXPECT_EQ(verdict(keys, good, small), "ok");
    small.longest = good.size() - 1;
    EXPECT_EQ(verdict(keys, good, small), "malformed size");
}

TEST(jwt_keys, hold_tokens_to_time_issuer_and_audience) {
    const auto keys = own_keys();
    EXPECT_EQ(verdict(keys, token("{}"), {}), "time exp");
    const std::string later = "{\"nbf\":" + std::to_string(now + 61) + "}";
    EXPECT_EQ(verdict(keys, token(later)), "time nbf");
    EXPECT_EQ(verdict(keys, token(later), lenient(), now + 1), "ok");
    http::jwt_options endless = lenient();
    endless.leeway = std::chrono::seconds::max();
    EXPECT_EQ(verdict(keys, token(R"({"nbf":9e14,"exp":1})"), endless), "ok");
    endless.leeway = std::chrono::seconds::min();
    EXPECT_EQ(verdict(keys, token(R"({"exp":9e14})"), endless), "time exp");
    http::jwt_options o = lenient();
    o.issuer = "joe";
    EXPECT_EQ(verdict(keys, token("{}"), o), "wrong iss");
    EXPECT_EQ(verdict(keys, token(R"({"iss":"jo"})"), o), "wrong iss");
    EXPECT_EQ(verdict(keys, token(R"({"iss":"joe"})"), o), "ok");
    o.issuer = "";
    o.audience = "maps";
    EXPECT_EQ(verdict(keys, token("{}"), o), "wrong aud");
    EXPECT_EQ(verdict(keys, token(R"({"aud":"map"})"), o), "wrong aud");
    EXPECT_EQ(verdict(keys, token(R"({"aud":"maps"})"), o), "ok");
    EXPECT_EQ(verdict(keys, token(R"({"aud":["boats","maps"]})"), o), "ok");
    EXPECT_EQ(verdict(keys, token(R"({"aud":[]})"), o), "wrong aud");
}

TEST(jwt_keys, come_from_a_key_set) {
    const std::string set =
        R"({"keys":[{"kty":"RSA","kid":"two","use":"sig","alg":"RS256","e":"AQAB","n":")" +
        std::string(rsa_modulus) + R"("},{"kty":"EC","crv":"P-256","kid":"one","x":")" +
        std::string(p256_x) + R"(","y":")" + std::string(p256_y) +
        R"("},{"kty":"oct","k":"AAAA","kid":"one"},{"kty":"EC","crv":"P-384","x":"","y":""},)"
        R"({"kty":"RSA","use":"enc","e":"AQAB","n":")" +
        std::string(rsa_modulus) + R"("},{"kty":"RSA","alg":"RS512","e":"AQAB","n":")" +
        std::string(rsa_modulus) + R"("},{"kty":"EC","crv":"P-256","x":")" + std::string(p256_x) +
        R"(","y":")" + std::string(p256_x) + R"("},{}]})";
    http::jwt_keys keys;
    const auto added = keys.add_set(set);
    ASSERT_TRUE(added.has_value());
    EXPECT_EQ(*added, 2u);
    EXPECT_EQ(verdict(keys, es256), "ok");
    // The token names the other key.
    EXPECT_EQ(verdict(keys, rs256), "refused signature");
    for (const char* bad : {"", "[]", "{}", R"({"keys":{}})", R"({"keys":[})"}) {
        EXPECT_FALSE(keys.add_set(bad)) << bad;
    }
    EXPECT_EQ(keys.add_set(R"({"keys":[]})").value(), 0u);
}

TEST(verifying_key, is_of_a_kind_and_size_that_is_safe) {
    EXPECT_EQ(tls::verifying_key::read(rsa_pem)->scheme(), tls::signature_scheme::rsa_sha256);
    EXPECT_EQ(tls::verifying_key::read(p256_pem)->scheme(),
              tls::signature_scheme::ecdsa_p256_sha256);
    for (const std::string_view pem : {short_rsa_pem, p384_pem}) {
        const auto key = tls::verifying_key::read(pem);
        EXPECT_TRUE(!key && key.error() == tls::errc::bad_option);
    }
    const auto nothing =
        tls::verifying_key::read("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n");
    EXPECT_TRUE(!nothing && nothing.error() == tls::errc::key_unreadable);
    const std::string modulus = from_url64(rsa_modulus);
    EXPECT_TRUE(tls::verifying_key::rsa(modulus, std::string("\x01\x00\x01", 3)));
    EXPECT_FALSE(tls::verifying_key::rsa(modulus, "\x02"));
    EXPECT_FALSE(tls::verifying_key::rsa(modulus, ""));
    EXPECT_FALSE(tls::verifying_key::rsa(modulus.substr(0, 128), "\x03"));
    EXPECT_FALSE(tls::verifying_key::rsa(std::string(1025, '\xff'), "\x03"));
    EXPECT_FALSE(tls::verifying_key::p256(std::string(32, '\1'), std::string(32, '\1')));
    EXPECT_FALSE(tls::verifying_key::p256("", ""));
    EXPECT_FALSE(tls::verifying_key::ed25519(std::string(31, 'x')));
}

TEST(jwt_authentication, serves_who_has_a_valid_token) {
    const http::handler inner = [](http::request& req) {
        return req.data<http::identity>()->name + ' ' + req.data<http::jwt_claims>()->json;
    };
    const http::handler h = http::jwt_authentication(own_keys())(inner);
    const std::string good = token(R"({"sub":"ann","exp":4102444800})");
    asked right("GET", {{"Authorization", "bearer " + good}});
    asked wrong("GET", {{"Authorization", "Bearer " + token("{}")}});
    asked basic("GET", {{"Authorization", "Basic YTpi"}});
    asked without("GET");
    run_virtually([&]() -> task<> {
        co_await right.by(h);
        co_await wrong.by(h);
        co_await basic.by(h);
        co_await without.by(h);
    });
    EXPECT_EQ(right.text(), R"(ann {"sub":"ann","exp":4102444800})");
    EXPECT_EQ(right.header("WWW-Authenticate"), "");
    EXPECT_EQ(wrong.status(), 401);
    EXPECT_EQ(wrong.header("WWW-Authenticate"),
              "Bearer realm=\"restricted\", error=\"invalid_token\"");
    EXPECT_EQ(basic.status(), 401);
    EXPECT_EQ(without.header("WWW-Authenticate"), "Bearer realm=\"restricted\"");
    EXPECT_EQ(refusal_of([] { http::jwt_authentication(own_keys(), {.realm = "\""}); }), "realm");
}

// They are compared with each other before anything is verified.
TEST(jwt, takes_no_header_with_endless_members) {
    for (const int members : {32, 33}) {
        std::string header = R"({"alg":"HS256")";
        for (int i = 1; i != members; ++i) header += ",\"m" + std::to_string(i) + "\":1";
        EXPECT_EQ(verdict(own_keys(), token("{}", header + '}')) == "ok", members == 32);
    }
}
