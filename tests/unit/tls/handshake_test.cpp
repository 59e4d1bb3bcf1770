#include "support/temporary_directory.hpp"
#include "tls_pair.hpp"

#include <coracle/runtime/runtime.hpp>

#include <gtest/gtest.h>

namespace coracle {
namespace {

using testing::tls_pair;
using testing::tls_world;

std::error_code refusal(const tls::client_options& co, const tls::server_options& so,
                        const std::string& host) {
    std::error_code code;
    block_on([&]() -> task<> {
        tls::client_context c(co);
        tls::server_context s(so);
        tls_pair ends = co_await testing::shake_hands(c, s, host);
        if (!ends.client) {
            code = ends.client.error().code();
        }
    });
    return code;
}

TEST(tls_handshake, agrees_on_1_3_and_names_what_it_agreed_on) {
    const tls_world world;
    block_on([&]() -> task<> {
        auto so = world.server_options();
        auto co = world.client_options();
        so.protocols = {"h2", "http/1.1"};
        co.protocols = {"http/1.1"};
        tls::server_context s(so);
        tls::client_context c(co);
        tls_pair ends = co_await testing::shake_hands(c, s, "localhost");
        EXPECT_TRUE(ends.client) << ends.client.error();
        EXPECT_TRUE(ends.server) << ends.server.error();
        if (!ends.client || !ends.server) co_return;
        EXPECT_EQ((*ends.client)->version(), tls::version::tls_1_3);
        EXPECT_EQ((*ends.server)->protocol(), "http/1.1");
        EXPECT_EQ((*ends.client)->protocol(), "http/1.1");
        EXPECT_EQ((*ends.server)->server_name(), "localhost");
        EXPECT_TRUE((*ends.client)->verified());
        EXPECT_FALSE((*ends.server)->verified());
        EXPECT_FALSE((*ends.server)->peer_certificate());
        const tls::certificate shown = (*ends.client)->peer_certificate();
        EXPECT_EQ(shown.common_name(), "localhost");
        EXPECT_EQ(shown.names(), (std::vector<std::string>{"localhost", "127.0.0.1"}));
        EXPECT_EQ(shown.issuer(), "CN=Test CA");
        EXPECT_EQ(shown.fingerprint().size(), 64U);
        EXPECT_LT(shown.not_before(), shown.not_after());
    });
}

TEST(tls_handshake, exports_keying_material_that_both_ends_have) {
    const tls_world world;
    block_on([&]() -> task<> {
        std::string before;
        for (const tls::version most : {tls::version::tls_1_2, tls::version::tls_1_3}) {
            auto so = world.server_options();
            so.maximum = most;
            tls::server_context s(so);
            tls::client_context c(world.client_options());
            tls_pair ends = co_await testing::shake_hands(c, s, "localhost");
            EXPECT_TRUE(ends.client && ends.server);
            if (!ends.client || !ends.server) co_return;
            const tls::stream& client = **ends.client;
            const std::string label = "EXPORTER-test";
            const secret key = client.export_keying_material(label, "of ours", 40);
            EXPECT_EQ(key.reveal().size(), 40U);
            EXPECT_EQ(key, (*ends.server)->export_keying_material(label, "of ours", 40));
            EXPECT_NE(key, client.export_keying_material(label, "other", 40));
            EXPECT_NE(key, client.export_keying_material("EXPORTER-other", "of ours", 40));
            EXPECT_NE(key.reveal(), std::exchange(before, key.reveal())) << "another connection";
            if (most == tls::version::tls_1_2) {
                EXPECT_THROW(client.export_keying_material("client finished", "", 12), exception);
            }
        }
    });
}

TEST(tls_handshake, agrees_on_1_2_where_that_is_the_most) {
    const tls_world world;
    block_on([&]() -> task<> {
        auto co = world.client_options();
        co.maximum = tls::version::tls_1_2;
        tls::server_context s(world.server_options());
        tls::client_context c(co);
        tls_pair ends = co_await testing::shake_hands(c, s, "127.0.0.1");
        EXPECT_TRUE(ends.client) << ends.client.error();
        if (!ends.client) co_return;
        EXPECT_EQ((*ends.client)->version(), tls::version::tls_1_2);
        EXPECT_EQ((*ends.client)->cipher(), "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256");
    });
}

TEST(tls_handshake, refuses_a_certificate_for_another_host) {
    const tls_world world;
    EXPECT_EQ(refusal(world.client_options(), world.server_options(), "example.org"),
              tls::errc::certificate_for_another_host);
}

TEST(tls_handshake, takes_the_common_name_for_no_name_of_a_host) {
    const tls_world world;
    tls::server_options so;
    so.certificates = {world.ca.issue({.names = {"localhost"}, .alternative_names = false})};
    block_on([&]() -> task<> {
        tls::server_context s(so);
        tls::client_context c(world.client_options());
        tls_pair ends = co_await testing::shake_hands(c, s, "localhost");
        EXPECT_FALSE(ends.client);
        if (ends.client) co_return;
        EXPECT_EQ(ends.client.error(), tls::errc::certificate_for_another_host);
        EXPECT_NE(ends.client.error().message().find("names no host"), std::string::npos)
            << ends.client.error();
    });
}

TEST(tls_handshake, says_why_a_certificate_is_not_trusted) {
    const tls_world world;
    auto co = world.client_options();
    co.authorities = testing::test_ca("Another").pem();
    block_on([&]() -> task<> {
        tls::server_context s(world.server_options());
        tls::client_context c(co);
        tls_pair ends = co_await testing::shake_hands(c, s, "localhost");
        EXPECT_FALSE(ends.client);
        if (ends.client) co_return;
        EXPECT_NE(ends.client.error().message().find("unable to get local issuer certificate"),
                  std::string::npos)
            << ends.client.error();
    });
}

TEST(tls_handshake, takes_an_asterisk_for_a_whole_label_and_for_no_part_of_one) {
    const tls_world world;
    const auto with_name = [&](const std::string& name) {
        tls::server_options so;
        so.certificates = {world.ca.issue({.names = {name}, .common_name = false})};
        return so;
    };
    const auto whole = with_name("*.harbour.test");
    EXPECT_EQ(refusal(world.client_options(), whole, "boat.harbour.test"), std::error_code());
    EXPECT_EQ(refusal(world.client_options(), whole, "a.boat.harbour.test"),
              tls::errc::certificate_for_another_host);
    // RFC 9525 section 6.3.
    for (const char* part : {"b*.harbour.test", "*t.harbour.test", "b*t.harbour.test"}) {
        EXPECT_EQ(refusal(world.client_options(), with_name(part), "boat.harbour.test"),
                  tls::errc::certificate_for_another_host)
            << part;
    }
}

TEST(tls_handshake, refuses_a_certificate_for_another_address) {
    const tls_world world;
    EXPECT_EQ(refusal(world.client_options(), world.server_options(), "127.0.0.2"),
              tls::errc::certificate_for_another_address);
    EXPECT_EQ(refusal(world.client_options(), world.server_options(), "::1"),
              tls::errc::certificate_for_another_address);
}

TEST(tls_handshake, refuses_an_expired_certificate) {
    const tls_world world;
    auto so = world.server_options();
    so.certificates = {
        world.ca.issue({.names = {"localhost"}, .valid_since = -7200, .valid_for = -60})};
    EXPECT_EQ(refusal(world.client_options(), so, "localhost"), tls::errc::certificate_expired);
}

TEST(tls_handshake, refuses_a_certificate_that_is_not_valid_yet) {
    const tls_world world;
    auto so = world.server_options();
    so.certificates = {
        world.ca.issue({.names = {"localhost"}, .valid_since = 600, .valid_for = 6000})};
    EXPECT_EQ(refusal(world.client_options(), so, "localhost"),
              tls::errc::certificate_not_yet_valid);
}

TEST(tls_handshake, refuses_a_self_signed_certificate) {
    const tls_world world;
    tls::server_options so;
    so.certificates = {tls::self_signed({"localhost", "127.0.0.1"})};
    EXPECT_EQ(refusal(world.client_options(), so, "localhost"), tls::errc::certificate_self_signed);
}

TEST(tls_handshake, trusts_a_self_signed_certificate_that_it_was_given) {
    tls::server_options so;
    so.certificates = {tls::self_signed({"localhost", "127.0.0.1", "::1"})};
    tls::client_options co;
    co.authorities = so.certificates.front().certificate;
    EXPECT_EQ(refusal(co, so, "localhost"), std::error_code());
    EXPECT_EQ(refusal(co, so, "::1"), std::error_code());
}

TEST(tls_handshake, verifies_an_address_without_its_zone) {
    tls::server_options so;
    so.certificates = {tls::self_signed({"fe80::1"})};
    tls::client_options co;
    co.authorities = so.certificates.front().certificate;
    EXPECT_EQ(refusal(co, so, "fe80::1%eth0"), std::error_code());
    EXPECT_EQ(refusal(co, so, "fe80::2%eth0"), tls::errc::certificate_for_another_address);
    EXPECT_EQ(refusal(co, so, "localhost%eth0"), tls::errc::certificate_for_another_host);
}

TEST(tls_handshake, refuses_an_unknown_authority) {
    const tls_world world;
    const testing::test_ca other("Other CA");
    auto co = world.client_options();
    co.authorities = other.pem();
    EXPECT_EQ(refusal(co, world.server_options(), "localhost"), tls::errc::certificate_untrusted);
}

TEST(tls_handshake, says_whose_certificate_it_refused) {
    const tls_world world;
    std::string text;
    block_on([&]() -> task<> {
        tls::client_context c(world.client_options());
        tls::server_context s(world.server_options());
        tls_pair ends = co_await testing::shake_hands(c, s, "example.org");
        EXPECT_FALSE(ends.client);
        EXPECT_FALSE(ends.server);
        if (!ends.client) text = ends.client.error().message();
    });
    EXPECT_NE(text.find("example.org"), std::string::npos) << text;
    EXPECT_NE(text.find("localhost, 127.0.0.1"), std::string::npos) << text;
}

TEST(tls_handshake, takes_anything_when_told_to_and_says_so) {
    tls_world world;
    auto co = world.client_options();
    co.authorities.clear();
    co.insecure = true;
    EXPECT_EQ(refusal(co, world.server_options(), "example.org"), std::error_code());
}

TEST(tls_handshake, fails_where_no_version_is_allowed_by_both) {
    const tls_world world;
    auto so = world.server_options();
    auto co = world.client_options();
    so.minimum = tls::version::tls_1_3;
    co.maximum = tls::version::tls_1_2;
    EXPECT_EQ(refusal(co, so, "localhost"), tls::errc::protocol_version);
}

TEST(tls_handshake, ends_with_an_alert_where_no_protocol_is_common) {
    const tls_world world;
    auto so = world.server_options();
    auto co = world.client_options();
    so.protocols = {"http/1.1"};
    co.protocols = {"smtp"};
    EXPECT_EQ(refusal(co, so, "localhost"), tls::errc::no_application_protocol);
}

TEST(tls_handshake, asks_clients_for_a_certificate) {
    const tls_world world;
    block_on([&]() -> task<> {
        auto so = world.server_options();
        so.clients = tls::client_certificates::required;
        so.client_authorities = world.ca.pem();
        auto co = world.client_options();
        co.identity = world.ca.issue({.names = {"alice"}});
        tls::server_context s(so);
        tls::client_context c(co);
        tls_pair ends = co_await testing::shake_hands(c, s, "localhost");
        EXPECT_TRUE(ends.server) << ends.server.error();
        if (!ends.server) co_return;
        EXPECT_TRUE((*ends.server)->verified());
        EXPECT_EQ((*ends.server)->peer_certificate().common_name(), "alice");
    });
}

TEST(tls_handshake, refuses_a_client_without_a_certificate_where_one_is_required) {
    const tls_world world;
    block_on([&]() -> task<> {
        auto so = world.server_options();
        so.clients = tls::client_certificates::required;
        so.client_authorities = world.ca.pem();
        tls::server_context s(so);
        tls::client_context c(world.client_options());
        tls_pair ends = co_await testing::shake_hands(c, s, "localhost");
        EXPECT_FALSE(ends.server);
        if (!ends.server) {
            EXPECT_EQ(ends.server.error().code(), tls::errc::certificate_required);
        }
    });
}

TEST(tls_handshake, lets_a_client_without_a_certificate_in_where_it_is_optional) {
    const tls_world world;
    block_on([&]() -> task<> {
        auto so = world.server_options();
        so.clients = tls::client_certificates::optional;
        so.client_authorities = world.ca.pem();
        tls::server_context s(so);
        tls::client_context c(world.client_options());
        tls_pair ends = co_await testing::shake_hands(c, s, "localhost");
        EXPECT_TRUE(ends.server) << ends.server.error();
        if (!ends.server) co_return;
        EXPECT_FALSE((*ends.server)->verified());
    });
}

TEST(tls_handshake, refuses_a_client_that_another_authority_vouches_for) {
    const tls_world world;
    const testing::test_ca other("Other CA");
    block_on([&]() -> task<> {
        auto so = world.server_options();
        so.clients = tls::client_certificates::optional;
        so.client_authorities = world.ca.pem();
        auto co = world.client_options();
        co.identity = other.issue({.names = {"mallory"}});
        tls::server_context s(so);
        tls::client_context c(co);
        tls_pair ends = co_await testing::shake_hands(c, s, "localhost");
        EXPECT_FALSE(ends.server);
        if (!ends.server) {
            EXPECT_EQ(ends.server.error().code(), tls::errc::certificate_untrusted);
        }
    });
}

/// Returns the error of a server that looks these lists up, and is shown `identity`.
std::error_code refusal_by(const std::string& lists, const tls_world& world,
                           const tls::certificate_source& identity) {
    std::error_code code;
    block_on([&]() -> task<> {
        auto so = world.server_options();
        so.clients = tls::client_certificates::required;
        so.client_authorities = world.ca.pem();
        so.client_revocations = lists;
        auto co = world.client_options();
        co.identity = identity;
        tls::server_context s(so);
        tls::client_context c(co);
        tls_pair ends = co_await testing::shake_hands(c, s, "localhost");
        if (!ends.server) code = ends.server.error().code();
    });
    return code;
}

TEST(tls_handshake, refuses_clients_whose_certificates_were_revoked) {
    const tls_world world;
    const testing::test_ca between("Between", &world.ca);
    const auto alice = world.ca.issue({.names = {"alice"}});
    const auto bob = world.ca.issue({.names = {"bob"}});
    auto carol = between.issue({.names = {"carol"}});
    carol.certificate += between.pem();
    const std::string lists = world.ca.revocations({bob});
    EXPECT_EQ(refusal_by(lists, world, alice), std::error_code());
    EXPECT_EQ(refusal_by(lists, world, bob), tls::errc::certificate_revoked);
    // Each authority of the chain has to have one that is up to date.
    EXPECT_EQ(refusal_by(lists, world, carol), tls::errc::certificate_invalid);
    EXPECT_EQ(refusal_by(lists + between.revocations({}), world, carol), std::error_code());
    EXPECT_EQ(refusal_by(lists + between.revocations({}, -3600), world, carol),
              tls::errc::certificate_invalid);
    EXPECT_EQ(refusal_by(lists + between.revocations({carol}), world, carol),
              tls::errc::certificate_revoked);
    tls::certificate_source authority;
    authority.certificate = between.pem();
    EXPECT_EQ(refusal_by(world.ca.revocations({authority}) + between.revocations({}), world, carol),
              tls::errc::certificate_revoked);
    for (const std::string& none :
         {std::string("/nowhere"), world.ca.pem(), lists + lists.substr(0, lists.size() - 60)}) {
        tls::server_options so = world.server_options();
        so.clients = tls::client_certificates::required;
        so.client_authorities = world.ca.pem();
        so.client_revocations = none;
        EXPECT_THROW(tls::server_context{so}, exception) << none;
    }
}

/// Returns the certificate that a client which requests `host` is shown.
tls::certificate shown_for(const tls_world& world, const tls::server_options& so,
                           const std::string& host) {
    tls::certificate shown;
    block_on([&]() -> task<> {
        auto co = world.client_options();
        co.insecure = true;
        tls::server_context s(so);
        tls::client_context c(co);
        tls_pair ends = co_await testing::shake_hands(c, s, host);
        EXPECT_TRUE(ends.client) << ends.client.error();
        if (ends.client) shown = (*ends.client)->peer_certificate();
    });
    return shown;
}

TEST(tls_handshake, shows_the_certificate_for_the_name_that_was_asked_for) {
    const tls_world world;
    tls::server_options so;
    so.certificates = {world.ca.issue({.names = {"first.example"}}),
                       world.ca.issue({.names = {"second.example", "2.example"}}),
                       world.ca.issue({.names = {"*.wild.example"}})};
    EXPECT_EQ(shown_for(world, so, "first.example").common_name(), "first.example");
    EXPECT_EQ(shown_for(world, so, "2.EXAMPLE").common_name(), "second.example");
    EXPECT_EQ(shown_for(world, so, "a.wild.example").common_name(), "*.wild.example");
    EXPECT_EQ(shown_for(world, so, "a.b.wild.example").common_name(), "first.example");
    EXPECT_EQ(shown_for(world, so, "wild.example").common_name(), "first.example");
    EXPECT_EQ(shown_for(world, so, "127.0.0.1").common_name(), "first.example");
    // A whole name goes before a wildcard, whichever stands first.
    so.certificates.push_back(world.ca.issue({.names = {"b.wild.example"}}));
    EXPECT_EQ(shown_for(world, so, "b.wild.example").common_name(), "b.wild.example");
    EXPECT_EQ(shown_for(world, so, "a.wild.example").common_name(), "*.wild.example");
}

TEST(tls_handshake, shows_the_certificates_that_took_the_place_of_others) {
    const tls_world world;
    block_on([&]() -> task<> {
        const testing::temporary_directory directory;
        auto first = world.ca.issue({.names = {"localhost", "first.example"}});
        tls::server_options so;
        so.certificates = {first};
        tls::server_context s(so);
        const auto shown = [&](std::string host) -> task<std::string> {
            auto co = world.client_options();
            co.sessions = 0;
            tls::client_context c(co);
            tls_pair ends = co_await testing::shake_hands(c, s, std::move(host));
            co_return ends.client ? (*ends.client)->peer_certificate().names().back() : "none";
        };
        EXPECT_EQ(co_await shown("localhost"), "first.example");
        auto second = world.ca.issue({.names = {"localhost", "second.example"}});
        const auto third = world.ca.issue({.names = {"third.example"}});
        second.certificate = directory.write("c.pem", second.certificate).string();
        EXPECT_TRUE(s.replace({second, third}));
        EXPECT_EQ(co_await shown("localhost"), "second.example");
        EXPECT_EQ(co_await shown("third.example"), "third.example");
        // A set that is no good leaves all as it was.
        EXPECT_FALSE(s.replace({third, tls::certificate_source{"/nowhere"}}));
        EXPECT_FALSE(s.replace({}));
        EXPECT_EQ(co_await shown("localhost"), "second.example");
        EXPECT_EQ(co_await shown("third.example"), "third.example");
        // These are the ones that are read again.
        const auto same = s.reload_if_changed();
        EXPECT_TRUE(same && !*same);
        directory.write("c.pem", world.ca.pem());
        EXPECT_FALSE(s.reload_if_changed());
    });
}

TEST(tls_handshake, has_two_kinds_of_keys_for_one_name) {
    const tls_world world;
    tls::server_options so;
    so.certificates = {world.ca.issue({.names = {"localhost"}}),
                       world.ca.issue({.names = {"localhost"}, .rsa = true})};
    auto co = world.client_options();
    co.maximum = tls::version::tls_1_2;
    co.ciphers = "ECDHE-RSA-AES128-GCM-SHA256";
    EXPECT_EQ(refusal(co, so, "localhost"), std::error_code());
    co.ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256";
    EXPECT_EQ(refusal(co, so, "localhost"), std::error_code());
}

TEST(tls_handshake, shows_the_first_of_two_certificates_of_one_kind_for_one_name) {
    const tls_world world;
    tls::server_options so;
    so.certificates = {world.ca.issue({.names = {"first.example", "localhost"}}),
                       world.ca.issue({.names = {"second.example", "both.example"}}),
                       world.ca.issue({.names = {"second.example", "both.example"}})};
    tls::server_options second;
    second.certificates = {so.certificates[1]};
    EXPECT_EQ(shown_for(world, so, "both.example").fingerprint(),
              shown_for(world, second, "both.example").fingerprint());
}

TEST(tls_handshake, takes_no_two_certificates_without_names_for_those_of_one_host) {
    const tls_world world;
    tls::server_options so;
    so.certificates = {world.ca.issue({.names = {"127.0.0.1"}, .common_name = false}),
                       world.ca.issue({.names = {"192.0.2.1"}, .rsa = true, .common_name = false})};
    auto co = world.client_options();
    co.maximum = tls::version::tls_1_2;
    co.ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256";
    EXPECT_EQ(refusal(co, so, "127.0.0.1"), std::error_code());
    co.ciphers = "ECDHE-RSA-AES128-GCM-SHA256";
    EXPECT_EQ(refusal(co, so, "127.0.0.1"), tls::errc::alert);
}

TEST(tls_handshake, asks_for_a_name_without_the_dot_at_its_end) {
    const tls_world world;
    block_on([&]() -> task<> {
        tls::server_context s(world.server_options());
        tls::client_context c(world.client_options());
        tls_pair ends = co_await testing::shake_hands(c, s, "localhost.");
        EXPECT_TRUE(ends.client) << ends.client.error();
        EXPECT_TRUE(ends.server) << ends.server.error();
        if (!ends.client || !ends.server) co_return;
        EXPECT_TRUE((*ends.client)->verified());
        EXPECT_EQ((*ends.server)->server_name(), "localhost");
    });
    EXPECT_EQ(refusal(world.client_options(), world.server_options(), "example.org."),
              tls::errc::certificate_for_another_host);
}

/// Returns true if the second of two connections resumes the session of the first.
bool is_taken_up(tls::version most, std::string_view first, std::string_view second) {
    const tls_world world;
    bool resumed = false;
    block_on([&]() -> task<> {
        tls::server_options so;
        so.certificates = {world.ca.issue({.names = {"localhost", "127.0.0.1", "::1"}})};
        auto co = world.client_options();
        co.maximum = most;
        tls::server_context s(so);
        tls::client_context c(co);
        for (const std::string_view host : {first, second}) {
            tls_pair ends = co_await testing::shake_hands(c, s, std::string(host));
            EXPECT_TRUE(ends.client) << ends.client.error();
            EXPECT_TRUE(ends.server) << ends.server.error();
            if (!ends.client || !ends.server) co_return;
            resumed = (*ends.client)->resumed();
            // The tickets of TLS 1.3 come in front of the first bytes.
            co_await (*ends.server)->send("x");
            co_await testing::read_exactly(**ends.client, 1);
        }
    });
    return resumed;
}

TEST(tls_handshake, takes_up_sessions_with_names_and_addresses_however_they_are_written) {
    for (const auto most : {tls::version::tls_1_2, tls::version::tls_1_3}) {
        EXPECT_TRUE(is_taken_up(most, "localhost", "localhost"));
        EXPECT_TRUE(is_taken_up(most, "localhost", "localhost."));
        EXPECT_TRUE(is_taken_up(most, "127.0.0.1", "127.0.0.1"));
        EXPECT_TRUE(is_taken_up(most, "::1", "::1"));
        EXPECT_TRUE(is_taken_up(most, "::1", "0:0:0:0:0:0:0:1"));
        EXPECT_FALSE(is_taken_up(most, "::1", "127.0.0.1"));
    }
}

TEST(tls_handshake, gives_up_after_its_time) {
    const tls_world world;
    block_on([&]() -> task<> {
        auto so = world.server_options();
        so.handshake_timeout = std::chrono::milliseconds(1);
        tls::server_context s(so);
        auto both = co_await testing::connected();
        auto accepted = co_await as_result(tls::accept(s, std::move(both.server)));
        EXPECT_FALSE(accepted);
        if (!accepted) {
            EXPECT_EQ(accepted.error().code(), std::errc::timed_out);
            EXPECT_EQ(accepted.error().phase(), phase::tls);
        }
    });
}

TEST(tls_handshake, knows_plain_http_and_other_noise) {
    const tls_world world;
    const auto response_to = [&](std::string bytes) {
        std::error_code code;
        block_on([&]() -> task<> {
            tls::server_context s(world.server_options());
            auto both = co_await testing::connected();
            co_await both.client->send(bytes);
            auto accepted = co_await as_result(tls::accept(s, std::move(both.server)));
            if (!accepted) code = accepted.error().code();
        });
        return code;
    };
    EXPECT_EQ(response_to("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), tls::errc::http_request);
    EXPECT_EQ(response_to("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"), tls::errc::not_tls);
}

}  // namespace
}  // namespace coracle
