#include "http/client/auth/challenge.hpp"

#include <gtest/gtest.h>

using namespace coracle::http;
using namespace coracle::http::detail;

namespace {

/// "scheme(token68)[name=value|...]" of each.
std::string shown(const std::vector<challenge>& all) {
    std::string text;
    for (const challenge& c : all) {
        text += c.scheme;
        if (!c.token68.empty()) text += '(' + c.token68 + ')';
        text += '[';
        for (const auto& p : c.parameters) text.append(p.name + '=' + p.value + '|');
        text += ']';
    }
    return text;
}

std::string read(std::string_view line, const challenge_limits& limits = {}) {
    std::vector<challenge> all;
    read_challenges(line, all, limits);
    return shown(all);
}

}  // namespace

TEST(challenge, may_be_several_in_a_line) {
    EXPECT_EQ(read("Basic realm=\"simple\""), "basic[realm=simple|]");
    EXPECT_EQ(read("Basic realm=\"a, b\", Digest realm=x, nonce=\"n\" ,qop=\"auth,auth-int\""),
              "basic[realm=a, b|]digest[realm=x|nonce=n|qop=auth,auth-int|]");
    EXPECT_EQ(read("Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\", Basic "
                   "realm=\"simple\""),
              "newauth[realm=apps|type=1|title=Login to \"apps\"|]basic[realm=simple|]");
    EXPECT_EQ(read("Negotiate, NTLM , Basic realm=x"), "negotiate[]ntlm[]basic[realm=x|]");
    EXPECT_EQ(read("Negotiate YII+/=="), "negotiate(YII+/==)[]");
    EXPECT_EQ(read("Negotiate abc= , Basic realm=x"), "negotiate(abc=)[]basic[realm=x|]");
    EXPECT_EQ(read(" ,, ,Basic  REALM = \"x\" ,, ,b=c, , Bearer,"), "basic[realm=x|b=c|]bearer[]");
    EXPECT_EQ(read("Digest realm=\"\", opaque=\"\\\\\""), "digest[realm=|opaque=\\|]");
    EXPECT_EQ(read(""), "");
    EXPECT_EQ(read(" , "), "");
}

TEST(challenge, may_stand_in_several_lines) {
    fields res;
    res.add("WWW-Authenticate", "Basic realm=a");
    res.add("Proxy-Authenticate", "Basic realm=p");
    res.add("www-authenticate", "Digest realm=b, nonce=c");
    const auto all = challenges_in(res, "WWW-Authenticate");
    EXPECT_EQ(shown(all), "basic[realm=a|]digest[realm=b|nonce=c|]");
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(*all[1].find("nonce"), "c");
    EXPECT_EQ(all[1].find("opaque"), nullptr);
}

TEST(challenge, that_is_malformed_ends_its_line) {
    for (const std::string_view bad :
         {"Digest realm=\"open", "Digest realm=\"open\\", "Digest realm=a b", "Digest realm=\"a\"b",
          "Digest @", "=", "\"x\"", "Digest, realm=a", "Digest/ realm=a"}) {
        // Only what is complete counts.
        const std::string with = std::string("Basic realm=a, ").append(bad);
        EXPECT_EQ(read(bad).find("realm=a"), std::string::npos) << bad;
        EXPECT_EQ(read(with + ", Later realm=z").find("later"), std::string::npos) << bad;
        EXPECT_TRUE(read(with).starts_with("basic[realm=a|]")) << bad;
    }
}

TEST(challenge, holds_its_limits) {
    EXPECT_EQ(read("A x=1, B y=2", {.bytes = 12}), "a[x=1|]b[y=2|]");
    EXPECT_EQ(read("A x=1, B y=2", {.bytes = 11}), "");
    EXPECT_EQ(read("A x=1, B y=2, C", {.challenges = 2}), "a[x=1|]b[y=2|]");
    EXPECT_EQ(read("A x=1, y=2, B z=3", {.parameters = 2}), "a[x=1|y=2|]b[z=3|]");
    EXPECT_EQ(read("A x=1, y=2, z=3, B z=3", {.parameters = 2}), "");
    fields res;
    for (int i = 0; i != 100; ++i) res.add("WWW-Authenticate", "A x=" + std::string(996, 'x'));
    EXPECT_EQ(challenges_in(res, "WWW-Authenticate").size(), 16u);
    EXPECT_EQ(challenges_in(res, "WWW-Authenticate", {.bytes = 5000}).size(), 5u);
}

TEST(challenge, may_be_endless) {
    std::string endless = "Digest realm=x";
    while (endless.size() < 8'000'000) endless += ", p=\"" + std::string(90, '\\') + '"';
    EXPECT_EQ(read(endless), "");
    EXPECT_EQ(read("Digest realm=\"" + std::string(8'000'000, 'x')), "");
    EXPECT_EQ(read(std::string(8'000'000, ',')), "");
    // Without a limit in the way it takes no longer for that.
    const challenge_limits none{
        .bytes = 100'000'000, .challenges = 8'000'000, .parameters = 8'000'000};
    EXPECT_EQ(read("Digest realm=\"" + std::string(8'000'000, 'x'), none), "");
    EXPECT_EQ(read("A " + std::string(8'000'000, '=')), "");
    std::string many;
    for (int i = 0; i != 100'000; ++i) many += "A,";
    std::vector<challenge> all;
    read_challenges(many, all, none);
    EXPECT_EQ(all.size(), 100'000u);
}

TEST(info_parameter, is_found_in_a_line_of_parameters) {
    EXPECT_EQ(info_parameter("nextnonce=\"a,b\", qop=auth,rspauth=\"\"", "nextnonce"), "a,b");
    EXPECT_EQ(info_parameter("nextnonce=\"a,b\", QOP=auth", "qop"), "auth");
    EXPECT_EQ(info_parameter("nextnonce=\"a,b\", qop=auth", "nonce"), "");
    EXPECT_EQ(info_parameter("nextnonce=\"a", "nextnonce"), "");
    EXPECT_EQ(info_parameter("", "nextnonce"), "");
}
