#include "http/client/transport.hpp"

#include <gtest/gtest.h>

using namespace coracle;
using namespace coracle::http;
using http::detail::transport;

namespace {

const connect::proxy_environment environment("http://plain.test:1", "https://secure.test:2", "",
                                             "direct.test");

std::shared_ptr<const transport> make(const client_options& o) {
    return transport::make(o, environment).value();
}

}  // namespace

TEST(transport, gives_its_credentials_to_a_proxy_of_the_environment) {
    client_options o;
    o.proxy_authentication = {auth_scheme::basic, "Ada", secret("geheim")};
    const auto way = make(o);
    const auto plain = way->proxy_for("http", "boats.test", 80).value();
    EXPECT_EQ(plain->user(), "Ada");
    EXPECT_EQ(plain->password().reveal(), "geheim");
    EXPECT_EQ(plain->host(), "plain.test");
    EXPECT_EQ(way->proxy_for("http", "direct.test", 80).value(), nullptr);
}

TEST(transport, speaks_to_an_https_proxy_of_the_environment_as_it_is_told) {
    client_options o;
    const auto plain = make(o)->proxy_for("http", "boats.test", 80).value();
    EXPECT_EQ(plain->tls(), nullptr);
    const auto way = make(o);
    const auto one = way->proxy_for("https", "boats.test", 443).value();
    const auto other = way->proxy_for("https", "ships.test", 443).value();
    EXPECT_NE(one->tls(), nullptr);
    EXPECT_EQ(one->tls(), other->tls());
    o.proxy_certificates.authorities = "/nowhere/ca.pem";
    EXPECT_FALSE(transport::make(o, environment));
}

TEST(transport, has_one_login_for_each_proxy_that_wants_a_digest) {
    client_options o;
    o.proxy_authentication = {auth_scheme::digest, "Ada", secret("geheim")};
    const auto way = make(o);
    const auto plain = way->proxy_for("http", "boats.test", 80).value();
    const auto again = way->proxy_for("http", "ships.test", 80).value();
    const auto secure = way->proxy_for("https", "boats.test", 443).value();
    EXPECT_NE(plain->authenticator(), nullptr);
    EXPECT_EQ(plain->authenticator(), again->authenticator());
    EXPECT_NE(plain->authenticator(), secure->authenticator());
    EXPECT_EQ(way->proxy_for("http", "direct.test", 80).value(), nullptr);
}

TEST(transport, names_the_variable_that_makes_no_sense) {
    const connect::proxy_environment odd("garbage://x", "", "", "");
    const auto found = odd.find("http", "boats.test", 80);
    ASSERT_FALSE(found);
    EXPECT_TRUE(found.error().subject().starts_with("http_proxy: ")) << found.error();
}
