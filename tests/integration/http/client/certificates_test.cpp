// Certificates: what a client shows, and whom it trusts, by the options of curl's names. Each test
// is made twice, for a server and for an https proxy on the way.

#include "support/client_calls.hpp"
#include "support/temporary_directory.hpp"
#include "support/test_ca.hpp"

#include <coracle/testing/local_server.hpp>
#include <coracle/tls/error.hpp>
#include <coracle/tls/stream.hpp>

#include <gmock/gmock.h>
#include <openssl/provider.h>

#include <map>

namespace coracle::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

http::response name_of_caller(http::request& req) {
    const tls::certificate shown = req.tls()->peer_certificate();
    return http::response(shown.common_name() + " asks for " + std::string(req.target()));
}

enum class demanding : std::uint8_t { server, proxy };

/// Something that demands a certificate of our authority.
class client_certificates : public ::testing::TestWithParam<demanding> {
protected:
    using settings = std::map<std::string, std::string>;

    bool is_proxy() const { return GetParam() == demanding::proxy; }
    http::call get() {
        if (!is_proxy()) return client_.get(server_.url("/x"));
        return client_.get("http://target.test/x").options("proxy=" + server_.url(""));
    }
    /// A call with these options, of the proxy where there is one. The authority is trusted unless
    /// they say otherwise.
    http::call get(settings with) {
        if (!with.contains("cainfo") && !with.contains("capath")) with["cainfo"] = authority_;
        return get(is_proxy() ? "proxy_" : "", with);
    }
    http::call get(const std::string& prefix, const settings& with) {
        http::call c = get();
        for (const auto& [key, value] : with) c.options(prefix + key + "=\"" + value + '"');
        return c;
    }
    std::string body_of(settings with) { return get(std::move(with)).wait().body; }
    error failure(settings with) { return failure_of(get(std::move(with))); }
    std::string welcome() const {
        return is_proxy() ? "ada asks for http://target.test/x" : "ada asks for /x";
    }
    settings pem() const { return {{"sslcert", certificate_}, {"sslkey", key_}}; }
    static local_server_options asking(const test_ca& ca) {
        tls::server_options t;
        t.certificates.push_back(ca.issue({.names = {"127.0.0.1"}}));
        t.clients = tls::client_certificates::required;
        t.client_authorities = ca.pem();
        local_server_options o;
        o.tls = std::make_shared<tls::server_context>(t);
        return o;
    }
    std::string write(const char* name, std::string_view content) const {
        return folder_.write(name, content);
    }

    const test_ca ca_;
    const tls::certificate_source ada_ = ca_.issue({.names = {"ada"}});
    const temporary_directory folder_;
    const std::string authority_ = write("ca.pem", ca_.pem());
    const std::string certificate_ = write("ada.pem", ada_.certificate);
    const std::string key_ = write("ada.key", ada_.key.reveal());
    const local_server server_{name_of_caller, asking(ca_)};
    http::client client_;
};

TEST_P(client_certificates, are_shown_where_they_are_demanded) {
    EXPECT_EQ(body_of(pem()), welcome());
    const std::string both = write("both.pem", ada_.certificate + std::string(ada_.key.reveal()));
    EXPECT_EQ(body_of({{"sslcert", both}}), welcome());
}

TEST_P(client_certificates, are_missed_where_there_are_none) {
    EXPECT_EQ(failure({}), tls::errc::certificate_required);
    EXPECT_EQ(server_.counters().requests, 0U);
}

TEST_P(client_certificates, of_another_authority_are_refused) {
    const tls::certificate_source eve = test_ca("Other").issue({.names = {"eve"}});
    EXPECT_EQ(failure({{"sslcert", write("eve.pem", eve.certificate)},
                       {"sslkey", write("eve.key", eve.key.reveal())}}),
              tls::errc::alert);
    EXPECT_EQ(server_.counters().requests, 0U);
}

TEST_P(client_certificates, are_not_those_for_the_other) {
    settings trusting = pem();
    trusting["cainfo"] = authority_;
    http::call c = get(is_proxy() ? "" : "proxy_", trusting);
    // Only the authority to trust is set for this side.
    c.options((is_proxy() ? "proxy_cainfo=" : "cainfo=") + authority_);
    EXPECT_EQ(failure_of(std::move(c)), tls::errc::certificate_required);
}

TEST_P(client_certificates, are_read_in_the_encoding_that_is_named) {
    const std::string der = write("ada.der", certificate_der(ada_));
    const std::string key = write("ada.key.der", key_der(ada_));
    const std::string container = write("ada.p12", to_pkcs12(ada_, "sesame"));
    const settings table[] = {
        {{"sslcert", certificate_},
         {"sslkey", key_},
         {"sslcerttype", "PEM"},
         {"sslkeytype", "PEM"}},
        {{"sslcert", der}, {"sslkey", key}, {"sslcerttype", "DER"}, {"sslkeytype", "DER"}},
        {{"sslcert", der}, {"sslkey", key_}, {"sslcerttype", "DER"}, {"sslkeytype", "PEM"}},
        {{"sslcert", der}, {"sslkey", key}},
        {{"sslcert", certificate_}, {"sslkey", "file:" + key_}, {"sslkeytype", "PROV"}},
        {{"sslcert", certificate_}, {"sslkey", "file:" + key_}, {"sslkeytype", "ENG"}},
        {{"sslcert", container}, {"keypasswd", "sesame"}, {"sslcerttype", "P12"}},
        {{"sslcert", container}, {"keypasswd", "sesame"}},
    };
    for (const settings& s : table) EXPECT_EQ(body_of(s), welcome()) << s.at("sslcert");
}

TEST_P(client_certificates, are_refused_in_another_encoding_than_the_one_that_is_named) {
    settings s = pem();
    for (const char* type : {"DER", "P12"}) {
        s["sslcerttype"] = type;
        const error e = failure(s);
        EXPECT_EQ(e, tls::errc::certificate_unreadable) << type;
        EXPECT_THAT(e.message(), HasSubstr(certificate_));
    }
    s["sslcerttype"] = "PEM";
    // A provider opens URIs.
    for (const char* type : {"DER", "PROV"}) {
        s["sslkeytype"] = type;
        const error e = failure(s);
        EXPECT_EQ(e, tls::errc::key_unreadable) << type;
        EXPECT_THAT(e.message(), HasSubstr(key_));
    }
}

TEST_P(client_certificates, have_keys_that_a_password_opens) {
    settings s = {{"sslcert", certificate_},
                  {"sslkey", write("locked.key", encrypted_key(ada_, "sesame"))},
                  {"keypasswd", "sesame"}};
    EXPECT_EQ(body_of(s), welcome());
    s["keypasswd"] = "wrong horse";
    const error e = failure(s);
    EXPECT_EQ(e, tls::errc::wrong_password);
    EXPECT_THAT(e.message(), HasSubstr("locked.key"));
    EXPECT_THAT(e.message(), Not(HasSubstr("wrong horse")));
    s.erase("keypasswd");
    EXPECT_EQ(failure(s), tls::errc::wrong_password);
    const std::string container = write("ada.p12", to_pkcs12(ada_, "sesame"));
    EXPECT_EQ(failure({{"sslcert", container}, {"keypasswd", "wrong"}}), tls::errc::wrong_password);
}

TEST_P(client_certificates, need_the_key_that_is_theirs) {
    const tls::certificate_source other = ca_.issue({.names = {"other"}});
    settings s = pem();
    s["sslkey"] = write("other.key", other.key.reveal());
    EXPECT_EQ(failure(s), tls::errc::key_mismatch);
    s["sslkey"] = folder_.path() / "none";
    EXPECT_EQ(failure(s), std::errc::no_such_file_or_directory);
}

TEST_P(client_certificates, of_others_are_trusted_for_an_authority_in_the_file) {
    settings s = pem();
    s["cainfo"] = write("other.pem", test_ca("Other").pem());
    const error e = failure(s);
    EXPECT_EQ(e, tls::errc::certificate_untrusted);
    EXPECT_EQ(e.phase(), phase::tls);
    s["cainfo"] = certificate_ + ".none";
    EXPECT_EQ(failure(s), std::errc::no_such_file_or_directory);
    EXPECT_EQ(server_.counters().requests, 0U);
}

TEST_P(client_certificates, of_others_are_trusted_for_an_authority_in_the_folder) {
    settings s = pem();
    s["capath"] = folder_.path() / "trusted";
    EXPECT_EQ(failure(s), std::errc::no_such_file_or_directory);
    folder_.write("trusted/notes", "no certificate has a name like this");
    EXPECT_EQ(failure(s), tls::errc::certificate_untrusted);
    folder_.write("trusted/" + hashed_name(ca_.pem()), ca_.pem());
    EXPECT_EQ(body_of(s), welcome());
}

TEST_P(client_certificates, of_proxies_are_verified_even_by_the_careless) {
    settings s = pem();
    s["cainfo"] = write("other.pem", test_ca("Other").pem());
    http::call c = get(s);
    c.options("insecure=1");
    if (is_proxy()) {
        EXPECT_EQ(failure_of(std::move(c)), tls::errc::certificate_untrusted);
    } else {
        EXPECT_EQ(std::move(c).wait().body, welcome());
    }
}

INSTANTIATE_TEST_SUITE_P(for_a, client_certificates,
                         ::testing::Values(demanding::server, demanding::proxy),
                         [](const auto& with) {
                             return with.param == demanding::proxy ? "proxy" : "server";
                         });

TEST(client_engine, is_a_provider_that_there_is) {
    local_server_options so;
    so.self_signed = true;
    const local_server server(path_of, so);
    const temporary_directory folder;
    http::client client;
    client.set_defaults("cainfo=" + folder.write("ca.pem", server.authorities()).string());
    const error e = failure_of(client.get(server.url("/a")).options("engine=no-such-thing"));
    EXPECT_EQ(e, tls::errc::provider_unavailable);
    EXPECT_THAT(e.message(), HasSubstr("no-such-thing"));
    EXPECT_EQ(server.counters().connections, 0U);
    EXPECT_EQ(client.get(server.url("/b")).options("engine=default").wait().body, "/b");
    // Not every OpenSSL comes with it. The default one is there all the same.
    OSSL_PROVIDER* const legacy = OSSL_PROVIDER_try_load(nullptr, "legacy", 1);
    if (legacy == nullptr) GTEST_SKIP() << "OpenSSL has no legacy provider here";
    EXPECT_EQ(client.get(server.url("/c")).options("engine=legacy").wait().body, "/c");
    OSSL_PROVIDER_unload(legacy);
}

}  // namespace
}  // namespace coracle::testing
