// TLS, and policies (RFC 8461), of the mail client that delivers to the hosts of each domain, in a
// simulated world.

#include "support/mx_world.hpp"

#include <coracle/net/listener.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_any.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

TEST(smtp_mx, takes_any_certificate_where_no_policy_speaks) {
    const test_ca ca;
    mx_world w;
    w.host("mx.example", with_certificate(ca, "other.example"));
    w.mail_of("boats.example", {{10, "mx.example"}});
    const auto r = w.send(to("bob@boats.example"));
    ASSERT_TRUE(r) << r.error();
    EXPECT_TRUE(r->secure);
}

// It would take mail in clear if it offered no TLS.
TEST(smtp_mx, sends_in_clear_to_a_host_whose_tls_does_not_work) {
    const test_ca ca;
    for (const auto mode : {smtp::starttls::wanted, smtp::starttls::required}) {
        for (const bool enforces : {false, true}) {
            mx_world w;
            trust(w, ca);
            w.options.starttls = mode;
            w.options.tls.minimum = tls::version::tls_1_3;
            w.host("mx.example", with_certificate(ca, "mx.example", tls::version::tls_1_2));
            w.mail_of("boats.example", {{10, "mx.example"}});
            if (enforces) w.policies["boats.example"] = enforced({"mx.example"});
            const auto r = w.send(to("bob@boats.example"));
            const bool may_be_clear = mode == smtp::starttls::wanted && !enforces;
            EXPECT_EQ(r.has_value(), may_be_clear) << (r ? "sent" : r.error().message());
            EXPECT_EQ(w["mx.example"].count(), may_be_clear ? 1U : 0U);
            if (r) {
                EXPECT_FALSE(r->secure);
            }
        }
    }
}

TEST(smtp_mx, sends_in_clear_to_a_host_that_leaves_the_handshake) {
    const test_ca ca;
    for (const auto what : {sink_rule::action::close, sink_rule::action::stall}) {
        mx_world w;
        w.host("mx.example", with_certificate(ca, "mx.example"))
            .misbehave({.command = "handshake", .what = what});
        w.mail_of("boats.example", {{10, "mx.example"}});
        const auto r = w.send(to("bob@boats.example"));
        ASSERT_TRUE(r) << r.error();
        EXPECT_FALSE(r->secure);
    }
}

// A fault there says nothing of the TLS of the host.
TEST(smtp_mx, does_not_send_in_clear_for_a_fault_of_a_proxy) {
    mx_world w;
    w.host("mx.example");
    w.mail_of("boats.example", {{10, "mx.example"}});
    w.options.proxy = secret("https://10.9.9.9:3128");
    unsigned connections = 0;
    auto at = net::listener::open(w.world.loop(), *net::address::parse("10.9.9.9:3128")).value();
    w.run([&](smtp::client& mail) -> task<> {
        const auto hang_up = [&]() -> task<> {
            for (;; ++connections) co_await at.accept();
        };
        const auto send = [&]() -> task<> {
            const smtp::message m = to("bob@boats.example");
            auto sending = mail.send(m);
            const auto r = co_await as_result(sending);
            EXPECT_FALSE(r);
            if (!r) {
                EXPECT_EQ(r.error().phase(), phase::tls) << r.error();
            }
        };
        auto either = when_any(send(), hang_up());
        co_await std::move(either);
    });
    EXPECT_EQ(connections, 1U);
    EXPECT_EQ(w["mx.example"].count(), 0U);
}

TEST(smtp_mx, verifies_where_tls_is_required) {
    const test_ca ca;
    for (const char* name : {"other.example", "mx.example"}) {
        mx_world w;
        trust(w, ca);
        w.options.starttls = smtp::starttls::required;
        w.host("mx.example", with_certificate(ca, name));
        w.mail_of("boats.example", {{10, "mx.example"}});
        EXPECT_EQ(w.send(to("bob@boats.example")).has_value(), name == std::string("mx.example"));
    }
}

TEST(smtp_mx, heeds_a_policy_however_the_domain_is_written) {
    const test_ca ca;
    for (const char* name : {"xn--bcher-kva.example", "XN--bcher-kva.Example.",
                             "b\u00fccher.example", "b\u00fccher.example."}) {
        mx_world w;
        trust(w, ca);
        w.host("mx.example", with_certificate(ca, "mx.example"));
        w.mail_of("xn--bcher-kva.example", {{10, "mx.example"}});
        w.policies[name] = enforced({"other.example"});
        const auto r = w.send(to("bob@b\u00fccher.example"));
        EXPECT_FALSE(r) << name;
        EXPECT_EQ(w["mx.example"].count(), 0u) << name;
    }
}

TEST(smtp_mx, heeds_a_policy_that_is_enforced) {
    const test_ca ca;
    const struct {
        const char* certificate;  ///< "": no TLS
        std::vector<std::string> patterns;
        bool delivered;
        smtp::errc why = {};
    } rows[] = {
        {"mx.example", {"mx.example"}, true},
        {"mx.example", {"x.example", "*.example"}, true},
        {"other.example", {"mx.example"}, false},
        {"", {"mx.example"}, false, smtp::errc::starttls_unavailable},
        {"mx.example", {"*.mx.example"}, false, smtp::errc::policy_not_met},
    };
    for (const auto& row : rows) {
        mx_world w;
        trust(w, ca);
        // A policy goes before what the options say.
        w.options.insecure = true;
        w.options.starttls = smtp::starttls::off;
        smtp_sink_options o;
        if (*row.certificate != '\0') o = with_certificate(ca, row.certificate);
        w.host("mx.example", o);
        w.mail_of("boats.example", {{10, "mx.example"}});
        w.policies["Boats.example"] = enforced(row.patterns);
        const auto r = w.send(to("bob@boats.example"));
        EXPECT_EQ(r.has_value(), row.delivered) << row.certificate << ' ' << row.patterns[0];
        EXPECT_EQ(w["mx.example"].count(), row.delivered ? 1u : 0u);
        if (r) {
            EXPECT_TRUE(r->secure);
            continue;
        }
        EXPECT_TRUE(r.error().safe_to_retry()) << "RFC 8461 section 5: " << r.error();
        if (row.why != smtp::errc()) {
            EXPECT_EQ(r.error(), row.why) << r.error();
        }
    }
}

TEST(smtp_mx, calls_no_failure_safe_to_retry_that_no_policy_has_made) {
    const test_ca ca;
    for (const smtp::sts_mode mode : {smtp::sts_mode::enforce, smtp::sts_mode::testing}) {
        mx_world w;
        trust(w, ca);
        smtp_sink_options o = with_certificate(ca, "mx.example");
        o.message_bytes = 10'000;
        w.host("mx.example", o);
        w.mail_of("boats.example", {{10, "mx.example"}});
        w.policies["boats.example"] = enforced({"mx.example"});
        w.policies["boats.example"].mode = mode;
        const auto r = w.send(to("bob@boats.example").attach("a.bin", std::string(20'000, '\x01')));
        ASSERT_FALSE(r);
        EXPECT_EQ(r.error(), smtp::errc::too_large) << r.error();
        EXPECT_FALSE(r.error().safe_to_retry());
    }
}

TEST(smtp_mx, changes_no_failure_where_a_policy_is_tested) {
    for (const bool known : {false, true}) {
        mx_world w;
        w.options.starttls = smtp::starttls::required;
        w.host("mx.example");
        w.mail_of("boats.example", {{10, "mx.example"}});
        if (known) {
            w.policies["boats.example"] = enforced({"mx.example"});
            w.policies["boats.example"].mode = smtp::sts_mode::testing;
        }
        const auto r = w.send(to("bob@boats.example"));
        ASSERT_FALSE(r);
        EXPECT_EQ(r.error(), smtp::errc::starttls_unavailable) << r.error();
        EXPECT_FALSE(r.error().safe_to_retry()) << known;
    }
}

TEST(smtp_mx, is_bound_by_no_policy_that_has_gone) {
    mx_world w;
    w.options.retry.retries = 5;
    w.host("mx.example");
    w.mail_of("boats.example", {{10, "mx.example"}});
    w.policies["boats.example"] = enforced({"mx.example"});
    mail_outcome r = std::unexpected(error());
    w.run([&](smtp::client& mail) -> task<> {
        auto later = [&]() -> task<> {
            co_await sleep_for(500ms);
            mail.set_policy("boats.example", std::nullopt);
        };
        spawn(later);
        const smtp::message m = to("bob@boats.example");
        auto sending = mail.send(m);
        r = co_await as_result(sending);
    });
    ASSERT_TRUE(r) << r.error();
    EXPECT_GT(r->attempts, 1U);
}

TEST(smtp_mx, goes_to_the_host_that_meets_the_policy) {
    const test_ca ca;
    mx_world w;
    trust(w, ca);
    w.host("a.example", with_certificate(ca, "other.example"));
    w.host("b.elsewhere", with_certificate(ca, "b.elsewhere"));
    w.host("c.example", with_certificate(ca, "c.example"));
    w.mail_of("boats.example", {{1, "a.example"}, {2, "b.elsewhere"}, {3, "c.example"}});
    w.policies["boats.example"] = enforced({"*.example"});
    const auto r = w.send(to("bob@boats.example"));
    ASSERT_TRUE(r) << r.error();
    EXPECT_EQ(w["c.example"].count(), 1u);
    EXPECT_EQ(w["b.elsewhere"].connections(), 0u);
}

TEST(smtp_mx, reports_and_goes_on_where_a_policy_is_tested) {
    const test_ca ca;
    mx_world w;
    trust(w, ca);
    std::set<std::string> warnings;
    const auto hear = [](void* into, log_level level, log_layer layer, std::string_view text) {
        if (level != log_level::warning || layer != log_layer::smtp) return;
        static_cast<std::set<std::string>*>(into)->emplace(text);
    };
    w.world.log().set_sink(hear, &warnings);
    w.world.log().set_level(log_level::warning);
    w.host("mx.example");
    w.host("two.example");
    w.host("three.example", with_certificate(ca, "other.example"));
    w.host("four.example", with_certificate(ca, "four.example"));
    w.mail_of("boats.example", {{10, "mx.example"}});
    w.policies["boats.example"] = enforced({"other.example"});
    for (const char* own : {"two.example", "three.example", "four.example"}) {
        w.policies[own] = enforced({own});
    }
    for (auto& [domain, policy] : w.policies) policy.mode = smtp::sts_mode::testing;
    EXPECT_TRUE(w.send(to("bob@boats.example, b@two.example, c@three.example, d@four.example")));
    EXPECT_EQ(w["three.example"].messages().size(), 1u);
    const std::set<std::string> expected = {
        "MTA-STS (testing) boats.example by mx.example: a host that the policy does not allow",
        "MTA-STS (testing) two.example by two.example: sent in clear",
        "MTA-STS (testing) three.example by three.example: the certificate is for another host",
    };
    EXPECT_EQ(warnings, expected);
}

TEST(smtp_mx, reports_no_policy_where_there_is_none) {
    const test_ca ca;
    mx_world w;
    tls::client_options t;
    t.authorities = ca.pem();
    w.options.tls_context = std::make_shared<tls::client_context>(t);
    std::string warnings;
    const auto hear = [](void* into, log_level, log_layer, std::string_view text) {
        static_cast<std::string*>(into)->append(text);
    };
    w.world.log().set_sink(hear, &warnings);
    w.world.log().set_level(log_level::warning);
    w.host("mx.example", with_certificate(ca, "other.example"));
    EXPECT_FALSE(w.send(to("bob@mx.example")));
    EXPECT_EQ(warnings.find("MTA-STS"), std::string::npos) << warnings;
}

TEST(smtp_mx, sends_nothing_to_a_wrong_certificate_where_tls_is_required) {
    const test_ca ca;
    mx_world w;
    trust(w, ca);
    w.options.starttls = smtp::starttls::required;
    w.host("mx.example", with_certificate(ca, "other.example"));
    w.policies["mx.example"] = enforced({"mx.example"});
    w.policies["mx.example"].mode = smtp::sts_mode::testing;
    EXPECT_FALSE(w.send(to("bob@mx.example")));
    EXPECT_EQ(w["mx.example"].count(), 0u);
}

TEST(smtp_mx, forgets_a_policy_that_has_ended_or_says_none) {
    for (const bool none : {false, true}) {
        mx_world w;
        w.host("mx.example");
        w.mail_of("boats.example", {{10, "mx.example"}});
        auto& policy = w.policies["boats.example"] = enforced({"other.example"});
        if (none) {
            policy.mode = smtp::sts_mode::none;
        } else {
            policy.fetched = w.world.loop().unix_time() - 100;
            policy.max_age = 100s;
        }
        EXPECT_TRUE(w.send(to("bob@boats.example")));
    }
}

TEST(smtp_mx, promises_tls_all_the_way_only_under_a_policy) {
    const test_ca ca;
    for (const bool known : {false, true}) {
        mx_world w;
        trust(w, ca);
        w.options.require_tls = true;
        w.host("mx.example", with_certificate(ca, "mx.example"));
        w.mail_of("boats.example", {{10, "mx.example"}});
        if (known) w.policies["boats.example"] = enforced({"mx.example"});
        const auto r = w.send(to("bob@boats.example"));
        ASSERT_EQ(r.has_value(), known);
        if (!r) {
            EXPECT_EQ(r.error(), smtp::errc::requiretls_unavailable);
            continue;
        }
        EXPECT_NE(w["mx.example"].messages()[0].parameters.find("REQUIRETLS"), std::string::npos);
    }
}

TEST(smtp_mx, does_not_believe_a_context_that_trusts_everybody) {
    const test_ca ca;
    mx_world w;
    tls::client_options t;
    t.insecure = true;
    w.options.tls_context = std::make_shared<tls::client_context>(t);
    w.host("mx.example", with_certificate(ca, "mx.example"));
    w.mail_of("boats.example", {{10, "mx.example"}});
    w.policies["boats.example"] = enforced({"mx.example"});
    const auto r = w.send(to("bob@boats.example"));
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error(), smtp::errc::policy_not_met);
}
