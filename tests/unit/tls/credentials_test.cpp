#include "tls/credentials.hpp"

#include "support/temporary_directory.hpp"
#include "tls/client_context.hpp"
#include "tls/encrypted_stream.hpp"
#include "tls_pair.hpp"

#include <coracle/runtime/runtime.hpp>
#include <coracle/tls/context.hpp>

#include <gtest/gtest.h>

#include <fstream>

namespace coracle {
namespace {

using testing::test_ca;
using tls::certificate_source;
using tls::detail::read_credentials;

class credentials : public ::testing::Test {
protected:
    test_ca ca;
    certificate_source made = ca.issue({.names = {"a.example", "*.b.example"}});
    testing::temporary_directory directory;

    std::string file(const std::string& name, std::string_view text) const {
        return directory.write(name, text).string();
    }
    static certificate_source source(std::string certificate, secret key = {},
                                     secret password = {}) {
        certificate_source s;
        s.certificate = std::move(certificate);
        s.key = std::move(key);
        s.password = std::move(password);
        return s;
    }
    static std::error_code failure(const certificate_source& s) {
        const auto read = read_credentials(s);
        return read ? std::error_code() : read.error().code();
    }
};

TEST_F(credentials, are_read_in_every_form) {
    const std::string pem = file("cert.pem", made.certificate);
    const std::string key = file("key.pem", made.key.reveal());
    const std::string der = file("cert.der", testing::certificate_der(made));
    const std::string key_der = file("key.der", testing::key_der(made));
    const std::string locked = testing::encrypted_key(made, "sesame");
    const std::string p12 = testing::to_pkcs12(made, "sesame");
    const std::string both = made.certificate + std::string(made.key.reveal());
    const certificate_source forms[] = {
        made,
        source(pem, key),
        source(der, key_der),
        source(testing::certificate_der(made), testing::key_der(made)),
        source(file("both.pem", both)),
        source(both),
        source(pem, file("locked.pem", locked), "sesame"),
        source(pem, locked, "sesame"),
        source(file("all.p12", p12), {}, "sesame"),
        source(p12, {}, "sesame"),
        source("file:" + pem, "file:" + key),
    };
    for (const certificate_source& form : forms) {
        const auto c = read_credentials(form);
        ASSERT_TRUE(c) << &form - forms << ": " << c.error();
        EXPECT_EQ(tls::detail::dns_names(c->certificate.get()),
                  (std::vector<std::string>{"a.example", "*.b.example"}));
        EXPECT_TRUE(c->chain.empty());
    }
}

TEST_F(credentials, have_to_be_in_the_encoding_that_is_asked_for) {
    using tls::encoding;
    const std::string pem = file("cert.pem", made.certificate);
    const std::string der = file("cert.der", testing::certificate_der(made));
    const std::string key = file("key.pem", made.key.reveal());
    const std::string key_der = file("key.der", testing::key_der(made));
    const std::string p12 = file("all.p12", testing::to_pkcs12(made, "sesame"));
    const auto code = [&](const std::string& certificate, encoding e,
                          const std::string& private_key, encoding k, const char* password = "") {
        certificate_source s = source(certificate, private_key, password);
        s.certificate_encoding = e;
        s.key_encoding = k;
        return failure(s);
    };
    const std::error_code good;
    EXPECT_EQ(code(pem, encoding::pem, key, encoding::pem), good);
    EXPECT_EQ(code(der, encoding::der, key_der, encoding::der), good);
    EXPECT_EQ(code(p12, encoding::pkcs12, "", encoding::any, "sesame"), good);
    EXPECT_EQ(code("file:" + pem, encoding::provider, "file:" + key, encoding::provider), good);
    for (const encoding wrong : {encoding::der, encoding::pkcs12, encoding::provider}) {
        EXPECT_EQ(code(pem, wrong, key, encoding::any), tls::errc::certificate_unreadable);
        EXPECT_EQ(code(pem, encoding::any, key, wrong), tls::errc::key_unreadable);
    }
    EXPECT_EQ(code(der, encoding::pem, key, encoding::any), tls::errc::certificate_unreadable);
    EXPECT_EQ(code(der, encoding::pkcs12, key, encoding::any), tls::errc::certificate_unreadable);
    EXPECT_EQ(code(p12, encoding::der, "", encoding::any, "sesame"),
              tls::errc::certificate_unreadable);
    EXPECT_EQ(code(pem, encoding::any, key_der, encoding::pem), tls::errc::key_unreadable);
}

TEST_F(credentials, keep_the_chain_behind_the_certificate) {
    const auto c = read_credentials(source(made.certificate + ca.pem(), made.key));
    ASSERT_TRUE(c) << c.error();
    EXPECT_EQ(c->chain.size(), 1U);
}

TEST_F(credentials, that_cannot_be_used_are_refused_by_name) {
    const std::string pem = file("cert.pem", made.certificate);
    const std::string locked = testing::encrypted_key(made, "sesame");
    const certificate_source other = ca.issue({.names = {"other"}});
    EXPECT_EQ(failure(source("/nowhere/cert.pem")), std::errc::no_such_file_or_directory);
    EXPECT_EQ(failure(source(file("noise", "noise"))), tls::errc::certificate_unreadable);
    EXPECT_EQ(failure(source(file("empty", ""))), tls::errc::certificate_unreadable);
    EXPECT_EQ(failure(source(pem)), tls::errc::key_unreadable);
    EXPECT_EQ(failure(source(pem, file("noise", "noise"))), tls::errc::key_unreadable);
    EXPECT_EQ(failure(source(pem, other.key)), tls::errc::key_mismatch);
    EXPECT_EQ(failure(source(pem, locked)), tls::errc::wrong_password);
    EXPECT_EQ(failure(source(pem, locked, "wrong")), tls::errc::wrong_password);
    EXPECT_EQ(failure(source(testing::to_pkcs12(made, "sesame"), {}, "wrong")),
              tls::errc::wrong_password);
    EXPECT_NE(failure(source("pkcs11:object=none")), std::error_code());
}

TEST_F(credentials, are_never_shown_in_an_error) {
    const certificate_source other = ca.issue({.names = {"other"}});
    for (const certificate_source& s :
         {source(made.certificate, other.key), source(made.certificate, "-----BEGIN x secret"),
          source(made.certificate, testing::encrypted_key(made, "sesame"), "wrongpassword")}) {
        const auto read = read_credentials(s);
        ASSERT_FALSE(read);
        const std::string said = read.error().message();
        EXPECT_EQ(said.find("BEGIN"), std::string::npos) << said;
        EXPECT_EQ(said.find("wrongpassword"), std::string::npos) << said;
    }
}

// A part of a chain would be served, and be refused by some clients.
TEST_F(credentials, are_not_read_in_part) {
    const test_ca second("Second CA", &ca);
    const certificate_source one = second.issue({.names = {"a.example"}});
    const std::string whole = one.certificate + second.pem();
    const std::string key(one.key.reveal());
    EXPECT_EQ(failure(source(file("chain.pem", whole), one.key)), std::error_code());
    EXPECT_EQ(failure(source(file("remarks.pem", "# a leaf\n" + whole + "\nthe end\n"), one.key)),
              std::error_code());
    std::string broken = whole;
    broken.replace(one.certificate.size() + 100, 20, "!!!!!!!!!!!!!!!!!!!!");
    const std::string forms[] = {
        whole.substr(0, whole.size() - 100),
        broken,
        key + whole.substr(0, whole.size() - 100),
        one.certificate + "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n" + second.pem(),
    };
    for (const std::string& form : forms) {
        const auto read = read_credentials(source(file("part.pem", form), one.key));
        EXPECT_FALSE(read) << form;
        if (read) continue;
        EXPECT_EQ(read.error().code(), tls::errc::certificate_unreadable);
        EXPECT_NE(read.error().subject().find("certificate 2 of "), std::string::npos)
            << read.error();
    }
    EXPECT_TRUE(tls::detail::read_authorities(whole));
    for (const std::string& form : forms) EXPECT_FALSE(tls::detail::read_authorities(form)) << form;
}

TEST_F(credentials, of_a_context_must_be_there_and_good) {
    EXPECT_THROW(tls::server_context{tls::server_options()}, exception);
    EXPECT_THROW(tls::server_context("/nowhere", "/nowhere"), exception);
    tls::server_options o;
    o.certificates.push_back(made);
    o.ciphers = "NO-SUCH-CIPHER";
    EXPECT_THROW(tls::server_context{o}, exception);
    o.ciphers.clear();
    o.groups = "no-such-group";
    EXPECT_THROW(tls::server_context{o}, exception);
    o.groups.clear();
    o.clients = tls::client_certificates::required;
    EXPECT_THROW(tls::server_context{o}, exception);
    o.client_authorities = ca.pem();
    EXPECT_NO_THROW(tls::server_context{o});
    o.key_log = "/nowhere/keys";
    EXPECT_THROW(tls::server_context{o}, exception);
    tls::client_options c;
    c.authorities = "/nowhere";
    EXPECT_THROW(tls::client_context{c}, exception);
}

/// The response that is stapled for a client of TLS 1.2 that takes these ciphers only.
std::string stapled(const tls::server_options& so, const char* ciphers) {
    std::string got;
    block_on([&]() -> task<> {
        tls::client_options co;
        co.insecure = true;
        co.maximum = tls::version::tls_1_2;
        co.ciphers = ciphers;
        tls::server_context s(so);
        tls::client_context c(co);
        auto both = co_await testing::connected();
        auto ssl = c.internal().make("a.example", {});
        SSL_set_connect_state(ssl->get());
        SSL_set_tlsext_status_type(ssl->get(), TLSEXT_STATUSTYPE_ocsp);
        tls::detail::encrypted_stream client(std::move(*ssl), std::move(both.client), buffer(), co);
        const auto connecting = [&]() -> task<> {
            const auto done = co_await client.handshake();
            EXPECT_TRUE(done) << done.error();
        };
        testing::tls_result accepted;
        co_await when_all(connecting(), testing::accept_into(s, std::move(both.server), accepted));
        const unsigned char* bytes = nullptr;
        const long size = SSL_get_tlsext_status_ocsp_resp(client.native(), &bytes);
        if (size > 0) {
            got.assign(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
        }
    });
    return got;
}

constexpr const char* ec_only = "ECDHE-ECDSA-AES128-GCM-SHA256";
constexpr const char* rsa_only = "ECDHE-RSA-AES128-GCM-SHA256";

TEST_F(credentials, of_a_server_come_with_a_stapled_response) {
    tls::server_options so;
    so.certificates.push_back(made);
    // The client checks the stapled response: any bytes go through.
    const std::string response(300, '\x30');
    so.certificates.front().ocsp_response = file("ocsp.der", response);
    EXPECT_EQ(stapled(so, ec_only), response);
}

TEST_F(credentials, of_each_kind_of_key_come_with_their_own_stapled_response) {
    tls::server_options so;
    so.certificates = {made, ca.issue({.names = {"a.example", "*.b.example"}, .rsa = true})};
    so.certificates[0].ocsp_response = file("ec.der", "of EC");
    so.certificates[1].ocsp_response = file("rsa.der", "of RSA");
    EXPECT_EQ(stapled(so, ec_only), "of EC");
    EXPECT_EQ(stapled(so, rsa_only), "of RSA");
    so.certificates[1].ocsp_response.clear();
    EXPECT_EQ(stapled(so, ec_only), "of EC");
    EXPECT_EQ(stapled(so, rsa_only), "");
}

/// Returns the error of a client that trusts a folder.
std::error_code trusting(const std::string& folder, const certificate_source& shown) {
    std::error_code code;
    block_on([&]() -> task<> {
        tls::server_options so;
        so.certificates.push_back(shown);
        tls::client_options co;
        co.system_authorities = false;
        co.authority_folder = folder;
        tls::server_context s(so);
        tls::client_context c(co);
        testing::tls_pair ends = co_await testing::shake_hands(c, s, "a.example");
        if (!ends.client) code = ends.client.error().code();
    });
    return code;
}

TEST_F(credentials, are_trusted_for_an_authority_in_a_folder_of_hashed_names) {
    const std::string folder = directory.path().string();
    EXPECT_EQ(trusting(folder, made), tls::errc::certificate_untrusted);
    file(testing::hashed_name(ca.pem()), ca.pem());
    EXPECT_EQ(trusting(folder, made), std::error_code());
    EXPECT_EQ(trusting(folder, testing::test_ca("Other").issue({.names = {"a.example"}})),
              tls::errc::certificate_untrusted);
}

TEST_F(credentials, are_refused_with_a_folder_of_authorities_that_is_none) {
    tls::client_options o;
    const auto code = [&o]() -> std::error_code {
        try {
            const tls::client_context c(o);
            return {};
        } catch (const exception& e) {
            return e.error().code();
        }
    };
    o.authority_folder = "/nowhere";
    EXPECT_EQ(code(), std::errc::no_such_file_or_directory);
    o.authority_folder = file("cert.pem", made.certificate);
    EXPECT_EQ(code(), std::errc::not_a_directory);
}

TEST_F(credentials, may_be_with_a_provider_that_is_named) {
    tls::server_options so;
    so.certificates.push_back(made);
    so.provider = "no-such-provider";
    tls::client_options co;
    co.provider = so.provider;
    const auto expect_refusal = [](auto make) {
        try {
            make();
            ADD_FAILURE() << "it must throw";
        } catch (const exception& e) {
            EXPECT_EQ(e.error().code(), tls::errc::provider_unavailable);
            EXPECT_NE(e.error().message().find("no-such-provider"), std::string::npos);
        }
    };
    expect_refusal([&] { const tls::server_context s(so); });
    expect_refusal([&] { const tls::client_context c(co); });
    // One that is part of OpenSSL, and has no ciphers: those of the default one are still there.
    so.provider = co.provider = "base";
    co.system_authorities = false;
    co.authorities = ca.pem();
    block_on([&]() -> task<> {
        tls::server_context s(so);
        tls::client_context c(co);
        testing::tls_pair ends = co_await testing::shake_hands(c, s, "a.example");
        EXPECT_TRUE(ends.client) << ends.client.error();
    });
}

TEST_F(credentials, leave_their_secrets_in_a_key_log_on_demand) {
    const std::string path = (directory.path() / "keys").string();
    block_on([&]() -> task<> {
        tls::server_options so;
        so.certificates.push_back(made);
        so.key_log = path;
        tls::client_options co;
        co.system_authorities = false;
        co.authorities = ca.pem();
        tls::server_context s(so);
        tls::client_context c(co);
        testing::tls_pair ends = co_await testing::shake_hands(c, s, "a.example");
        EXPECT_TRUE(ends.client) << ends.client.error();
    });
    std::ifstream log(path);
    std::string first;
    std::getline(log, first);
    EXPECT_NE(first.find("_TRAFFIC_SECRET"), std::string::npos) << first;
}

}  // namespace
}  // namespace coracle
