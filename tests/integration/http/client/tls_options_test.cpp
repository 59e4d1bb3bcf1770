// The client's options for TLS, and its view of the peer's certificate.

#include "support/client_calls.hpp"
#include "support/temporary_directory.hpp"
#include "support/test_ca.hpp"

#include <coracle/testing/local_server.hpp>
#include <coracle/tls/context.hpp>
#include <coracle/tls/error.hpp>

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

namespace coracle::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class client_tls : public ::testing::Test {
protected:
    static local_server_options with(const test_ca& ca, tls::version newest) {
        tls::server_options t;
        t.certificates.push_back(ca.issue({.names = {"127.0.0.1", "boat.test"}}));
        t.maximum = newest;
        local_server_options o;
        o.tls = std::make_shared<tls::server_context>(t);
        return o;
    }
    http::client_options trusting() const {
        http::client_options o;
        o.certificates.authorities = ca_.pem();
        return o;
    }

    const test_ca ca_;
    const local_server server_{path_of, with(ca_, tls::version::tls_1_3)};
    const local_server old_{path_of, with(ca_, tls::version::tls_1_2)};
};

TEST_F(client_tls, tells_whom_it_spoke_to) {
    http::client client(trusting());
    for (int i = 0; i != 2; ++i) {
        const auto r = client.get(server_.url("/x")).wait();
        EXPECT_EQ(r.body, "/x");
        const tls::certificate& shown = r.info.certificate;
        ASSERT_TRUE(shown);
        EXPECT_EQ(shown.subject(), "CN=127.0.0.1");
        EXPECT_EQ(shown.issuer(), "CN=Test CA");
        EXPECT_THAT(shown.names(), ElementsAre("127.0.0.1", "boat.test"));
        EXPECT_LT(shown.not_before(), shown.not_after());
        EXPECT_THAT(shown.pem(), HasSubstr("-----BEGIN CERTIFICATE-----"));
        EXPECT_EQ(shown.der().substr(0, 2), "\x30\x82");
    }
    const local_server plain(path_of);
    EXPECT_FALSE(client.get(plain.url()).wait().info.certificate);
}

TEST_F(client_tls, has_the_versions_that_it_is_told) {
    http::client client(trusting());
    const auto version = [&](const local_server& s, std::string_view options) {
        return client.get(s.url()).options(options).wait().info.tls_version;
    };
    EXPECT_EQ(version(server_, ""), "TLSv1.3");
    EXPECT_EQ(version(server_, "tls_maximum=1.2"), "TLSv1.2");
    EXPECT_EQ(version(old_, ""), "TLSv1.2");
    const error e = failure_of(client.get(old_.url()).options("tls_minimum=1.3"));
    EXPECT_EQ(e.phase(), phase::tls);
    const error bad = failure_of(client.get(old_.url()).options("tls_ciphers=NONE-SUCH"));
    EXPECT_EQ(bad, tls::errc::bad_option);
}

TEST_F(client_tls, has_the_ciphers_and_groups_that_it_is_told) {
    http::client client(trusting());
    const auto cipher = [&](const local_server& s, std::string_view options) {
        return client.get(s.url()).options(options).wait().info.cipher;
    };
    EXPECT_EQ(cipher(old_, "tls_ciphers=ECDHE-ECDSA-AES256-GCM-SHA384"),
              "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384");
    EXPECT_EQ(cipher(server_, "tls_cipher_suites=TLS_CHACHA20_POLY1305_SHA256, tls_groups=P-384"),
              "TLS_CHACHA20_POLY1305_SHA256");
    EXPECT_EQ(failure_of(client.get(server_.url()).options("tls_groups=none")),
              tls::errc::bad_option);
}

TEST_F(client_tls, writes_its_secrets_where_it_is_told) {
    const temporary_directory folder;
    http::client_options o = trusting();
    o.tls.key_log = (folder.path() / "keys").string();
    http::client client(o);
    EXPECT_EQ(client.get(server_.url("/x")).wait().body, "/x");
    std::ifstream in(o.tls.key_log);
    std::ostringstream all;
    all << in.rdbuf();
    EXPECT_THAT(all.str(), HasSubstr("CLIENT_TRAFFIC_SECRET_0 "));
}

TEST_F(client_tls, takes_a_context_that_others_use_too) {
    tls::client_options t;
    t.system_authorities = false;
    t.authorities = ca_.pem();
    http::client_options o;
    o.tls_context = std::make_shared<tls::client_context>(t);
    http::client one(o);
    http::client two(o);
    EXPECT_EQ(one.get(server_.url("/x")).wait().body, "/x");
    EXPECT_EQ(two.get(server_.url("/x")).wait().body, "/x");
    t.protocols = {"h2", "spdy/1"};
    o.tls_context = std::make_shared<tls::client_context>(t);
    const error e = failure_of(one.get(server_.url()).options(o));
    EXPECT_EQ(e, std::errc::invalid_argument);
    EXPECT_THAT(e.message(), HasSubstr("spdy/1"));
}

}  // namespace
}  // namespace coracle::testing
