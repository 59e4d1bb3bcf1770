// The mail client that delivers to the hosts of each domain, in a simulated world.

#include "support/mx_world.hpp"

#include <coracle/runtime/sleep.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

/// Content of which 100,000 bytes can be read.
class broken_source final : public io::source {
public:
    task<std::expected<std::size_t, error>> read_some(std::span<char> to) override {
        if (given_ == 100'000) co_return std::unexpected(error(std::errc::io_error, "read"));
        const std::size_t n = std::min(to.size(), 100'000 - given_);
        std::fill_n(to.data(), n, 'x');
        given_ += n;
        co_return n;
    }

private:
    std::size_t given_ = 0;
};

bool heard(const smtp_sink& sink, std::string_view what) {
    for (const std::string& line : sink.dialogue()) {
        if (line.find(what) != std::string::npos) return true;
    }
    return false;
}

}  // namespace

TEST(smtp_mx, delivers_to_the_preferred_host_without_credentials) {
    mx_world w;
    w.host("a.example");
    w.host("b.example");
    w.mail_of("boats.example", {{20, "b.example"}, {10, "a.example"}});
    w.options.authentication.user = "joe";
    w.options.authentication.password = secret("secret");
    w.options.authentication.in_clear = true;
    const auto r = w.send(to("bob@Boats.Example"));
    ASSERT_TRUE(r) << r.error();
    EXPECT_TRUE(r->all_accepted());
    EXPECT_EQ(r->server, "10.0.0.1:25");
    ASSERT_EQ(w["a.example"].count(), 1u);
    EXPECT_EQ(w["a.example"].messages()[0].recipients,
              std::vector<std::string>{"bob@Boats.Example"});
    EXPECT_EQ(w["b.example"].count(), 0u);
    EXPECT_FALSE(heard(w["a.example"], "AUTH PLAIN"));
}

TEST(smtp_mx, chooses_among_equals_at_random) {
    mx_world w;
    for (const char* name : {"a.example", "b.example", "c.example"}) w.host(name);
    w.mail_of("boats.example", {{10, "a.example"}, {10, "b.example"}, {20, "c.example"}});
    w.run([](smtp::client& mail) -> task<> {
        for (int i = 0; i != 40; ++i) {
            const smtp::message m = to("bob@boats.example");
            co_await mail.send(m);
        }
    });
    EXPECT_GE(w["a.example"].count(), 5u);
    EXPECT_GE(w["b.example"].count(), 5u);
    EXPECT_EQ(w["c.example"].count(), 0u);
    EXPECT_EQ(w["a.example"].connections(), 1u) << "each host has its own pool";
}

TEST(smtp_mx, goes_on_to_the_next_host_after_a_failure_for_now) {
    const std::vector<sink_rule> rules = {
        {.command = "greeting", .text = "421 4.3.2 later"},
        {.command = "greeting", .text = "554 5.3.2 nobody may send here"},
        {.command = "greeting", .what = sink_rule::action::close},
        {.command = "greeting", .text = "what is this"},
        {.command = "EHLO", .text = "451 4.3.0 later"},
        {.command = "HELO", .text = "550 5.7.1 not you"},
        {.command = "STARTTLS", .text = "554 5.7.0 not today"},
        {.command = "MAIL", .text = "451 4.3.0 later"},
        {.command = "RCPT", .text = "451 4.7.1 greylisted"},
        {.command = "RCPT", .what = sink_rule::action::close},
        {.command = "DATA", .text = "451 4.3.0 later"},
        {.command = "end of data", .text = "451 4.3.0 later"},
    };
    for (const sink_rule& rule : rules) {
        mx_world w;
        const test_ca ca;
        smtp_sink_options o = with_certificate(ca, "a.example");
        o.chunking = false;
        w.options.starttls =
            rule.command == "STARTTLS" ? smtp::starttls::required : smtp::starttls::off;
        w.options.insecure = true;
        smtp_sink& a = w.host("a.example", o);
        a.misbehave(rule);
        if (rule.command == "HELO") a.misbehave({.command = "EHLO", .text = rule.text});
        w.host("b.example", with_certificate(ca, "b.example"));
        w.mail_of("boats.example", {{10, "a.example"}, {20, "b.example"}});
        const auto r = w.send(to("bob@boats.example"));
        ASSERT_TRUE(r) << rule.command << ' ' << rule.text << ": " << r.error();
        EXPECT_EQ(r->server, "10.0.0.2:25");
        EXPECT_EQ(r->attempts, 1u);
        EXPECT_EQ(w["a.example"].count(), 0u);
        EXPECT_EQ(w["b.example"].count(), 1u);
    }
    mx_world w;
    w.dead("a.example");
    w.host("b.example");
    w.mail_of("boats.example", {{10, "a.example"}, {15, "nowhere.example"}, {20, "b.example"}});
    EXPECT_TRUE(w.send(to("bob@boats.example")));
}

TEST(smtp_mx, stops_where_it_is_refused_for_good_or_may_have_been_accepted) {
    const std::vector<std::pair<sink_rule, smtp::errc>> rows = {
        {{.command = "RCPT", .text = "550 5.1.1 nobody"}, smtp::errc::rejected},
        {{.command = "MAIL", .text = "550 5.7.1 no"}, smtp::errc::rejected},
        {{.command = "end of data", .text = "554 5.6.0 no"}, smtp::errc::rejected},
        {{.command = "end of data", .what = sink_rule::action::close}, smtp::errc::uncertain},
    };
    for (const auto& [rule, why] : rows) {
        mx_world w;
        smtp_sink_options o;
        o.chunking = false;
        w.options.retry.retries = 3;
        w.host("a.example", o).misbehave(rule);
        w.host("b.example");
        w.mail_of("boats.example", {{10, "a.example"}, {20, "b.example"}});
        const auto r = w.send(to("bob@boats.example"));
        ASSERT_FALSE(r) << rule.command;
        EXPECT_EQ(r.error(), why) << r.error();
        EXPECT_FALSE(r.error().safe_to_retry());
        EXPECT_TRUE(r.error().subject().starts_with("boats.example by a.example: ")) << r.error();
        EXPECT_EQ(w["b.example"].connections(), 0u);
    }
}

TEST(smtp_mx, stops_where_the_content_of_the_mail_cannot_be_read) {
    for (const bool chunking : {false, true}) {
        mx_world w;
        smtp_sink_options o;
        o.chunking = chunking;
        w.options.retry.retries = 3;
        w.host("a.example", o);
        w.host("b.example", o);
        w.mail_of("boats.example", {{10, "a.example"}, {20, "b.example"}});
        smtp::message m = to("bob@boats.example");
        m.attach_stream("a.bin", [] { return std::make_unique<broken_source>(); });
        const auto r = w.send(m);
        ASSERT_FALSE(r);
        EXPECT_EQ(r.error(), std::errc::io_error) << r.error();
        EXPECT_FALSE(r.error().safe_to_retry());
        EXPECT_EQ(smtp::failure_of(r.error())->command(), "content");
        EXPECT_EQ(w["a.example"].connections(), 1u);
        EXPECT_EQ(w["a.example"].count(), 0u);
        EXPECT_EQ(w["b.example"].connections(), 0u);
    }
}

TEST(smtp_mx, sends_nothing_to_a_domain_that_takes_no_mail) {
    mx_world w;
    w.host("boats.example");
    w.mail_of("boats.example", {{0, ""}});
    const auto r = w.send(to("bob@boats.example"));
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error(), smtp::errc::null_mx);
    EXPECT_FALSE(r.error().safe_to_retry());
    EXPECT_EQ(r.error().message(),
              "smtp boats.example: the domain takes no mail, phase resolve, attempt 1");
    EXPECT_EQ(w["boats.example"].connections(), 0u);
}

TEST(smtp_mx, falls_back_to_the_addresses_of_a_domain_without_hosts) {
    for (const std::string at : {"10.1.0.1", "[2001:db8::1]"}) {
        mx_world w;
        w.host("boats.example", {}, at);
        const auto r = w.send(to("bob@boats.example"));
        ASSERT_TRUE(r) << r.error();
        EXPECT_EQ(r->server, at + ":25");
    }
    mx_world none;
    const auto r = none.send(to("bob@boats.example"));
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error(), net::resolve_errc::no_such_host);
    EXPECT_FALSE(r.error().safe_to_retry());
}

TEST(smtp_mx, never_falls_back_where_a_host_is_named_or_none_can_be_asked) {
    mx_world w;
    w.host("boats.example");
    w.dead("a.example");
    w.mail_of("boats.example", {{10, "a.example"}});
    EXPECT_FALSE(w.send(to("bob@boats.example")));
    EXPECT_EQ(w["boats.example"].connections(), 0u);

    mx_world broken;
    broken.host("boats.example");
    broken.backend().fail_name("boats.example", EIO);
    const auto r = broken.send(to("bob@boats.example"));
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().phase(), phase::resolve);
    EXPECT_TRUE(r.error().safe_to_retry()) << r.error();
}

TEST(smtp_mx, looks_the_hosts_up_again_when_it_tries_again) {
    mx_world w;
    w.options.retry.retries = 3;
    w.pool.resolver.longest_ttl = 0s;
    w.host("b.example");
    w.dead("a.example");
    w.mail_of("boats.example", {{10, "a.example"}});
    mail_outcome r = std::unexpected(error());
    w.run([&](smtp::client& mail) -> task<> {
        auto heal = [&]() -> task<> {
            co_await sleep_for(2s);
            w.mail_of("boats.example", {{10, "b.example"}});
        };
        spawn(heal);
        const smtp::message m = to("bob@boats.example");
        auto sending = mail.send(m);
        r = co_await as_result(sending);
    });
    ASSERT_TRUE(r) << r.error();
    EXPECT_GT(r->attempts, 1u);
}

TEST(smtp_mx, has_one_transaction_for_each_domain) {
    mx_world w;
    w.host("mx.one.example");
    w.host("mx.two.example");
    w.mail_of("one.example", {{10, "mx.one.example"}});
    w.mail_of("two.example", {{10, "mx.two.example"}});
    smtp::message m = to("a@one.example, b@two.example, c@ONE.example");
    m.bcc("d@two.example");
    const auto r = w.send(m);
    ASSERT_TRUE(r) << r.error();
    ASSERT_EQ(w["mx.one.example"].count(), 1u);
    ASSERT_EQ(w["mx.two.example"].count(), 1u);
    const auto one = w["mx.one.example"].messages()[0];
    const auto two = w["mx.two.example"].messages()[0];
    EXPECT_EQ(one.recipients, (std::vector<std::string>{"a@one.example", "c@ONE.example"}));
    EXPECT_EQ(two.recipients, (std::vector<std::string>{"b@two.example", "d@two.example"}));
    EXPECT_EQ(one.text, two.text) << "the mail is the same for all, and has no Bcc";
    EXPECT_NE(one.text.find("To: a@one.example, b@two.example, c@ONE.example\r\n"),
              std::string::npos);
    ASSERT_EQ(r->recipients.size(), 4u);
    EXPECT_EQ(r->recipients[1].address, "b@two.example");
    EXPECT_TRUE(r->all_accepted());
}

// The hosts of other domains never see a recipient in Bcc.
TEST(smtp_mx, asks_for_smtputf8_only_where_an_address_needs_it) {
    mx_world w;
    smtp_sink_options plain;
    plain.utf8 = false;
    w.host("a.example", plain);
    w.host("b.example");
    w.mail_of("boats.example", {{10, "a.example"}});
    w.mail_of("boote.example", {{10, "b.example"}});
    ASSERT_TRUE(w.send(to("bob@boats.example").bcc("j\u00fcrgen@boote.example")));
    EXPECT_EQ(w["a.example"].count(), 1U);
    EXPECT_FALSE(heard(w["a.example"], "SMTPUTF8"));
    EXPECT_TRUE(heard(w["b.example"], "SMTPUTF8"));
}

TEST(smtp_mx, says_what_became_of_each_domain) {
    for (const bool allowed : {false, true}) {
        mx_world w;
        w.host("one.example");
        w.host("two.example").misbehave({.command = "RCPT", .text = "550 5.1.1 nobody"});
        w.mail_of("three.example", {{0, ""}});
        w.options.rcpt_allow_fails = allowed;
        const auto r = w.send(to("a@one.example, b@two.example, c@three.example"));
        EXPECT_EQ(w["one.example"].count(), 1u);
        std::vector<smtp::recipient_result> all;
        if (allowed) {
            ASSERT_TRUE(r) << r.error();
            all = r->recipients;
        } else {
            ASSERT_FALSE(r);
            EXPECT_EQ(r.error(), smtp::errc::recipients_rejected);
            EXPECT_FALSE(r.error().safe_to_retry()) << "one has it";
            all = smtp::failure_of(r.error())->recipients();
        }
        ASSERT_EQ(all.size(), 3u);
        EXPECT_TRUE(all[0].accepted && !all[0].problem);
        EXPECT_FALSE(all[1].accepted);
        EXPECT_EQ(all[1].reply.to_string(), "550 5.1.1 nobody");
        ASSERT_TRUE(all[2].problem);
        EXPECT_EQ(*all[2].problem, smtp::errc::null_mx);
    }
}

TEST(smtp_mx, is_safe_to_send_again_only_when_nobody_has_it) {
    for (const bool some : {false, true}) {
        mx_world w;
        w.host("one.example").misbehave({.command = "RCPT", .text = "451 4.7.1 later"});
        w.dead("two.example");
        w.host("three.example");
        const auto r = w.send(to(some ? "a@one.example,b@two.example,c@three.example"
                                      : "a@one.example,b@two.example"));
        ASSERT_FALSE(r);
        EXPECT_EQ(r.error().safe_to_retry(), !some);
    }
}

TEST(smtp_mx, tries_so_many_hosts_of_a_domain_and_no_more) {
    for (const unsigned most : {2u, 3u}) {
        mx_world w;
        w.dead("a.example");
        w.dead("b.example");
        w.host("c.example");
        w.mail_of("boats.example", {{1, "a.example"}, {2, "b.example"}, {3, "c.example"}});
        w.options.mx_hosts = most;
        EXPECT_EQ(w.send(to("bob@boats.example")).has_value(), most == 3);
    }
}

TEST(smtp_mx, delivers_to_so_many_domains_at_a_time) {
    for (const unsigned most : {1u, 4u}) {
        mx_world w;
        smtp_sink_options slow;
        slow.deliver = [](sink_message&) -> task<bool> {
            co_await sleep_for(10s);
            co_return true;
        };
        std::string all;
        for (const char* name : {"a.example", "b.example", "c.example", "d.example"}) {
            w.host(name, slow);
            all.append(all.empty() ? "" : ", ").append("x@").append(name);
        }
        w.options.mx_domains = most;
        EXPECT_TRUE(w.send(to(all)));
        EXPECT_EQ(w.world.elapsed() > 35s, most == 1) << w.world.elapsed();
    }
}

TEST(smtp_mx, takes_addresses_for_domains) {
    mx_world w;
    w.host("x.example");
    EXPECT_TRUE(w.send(to("bob@[10.0.0.1]")));
    EXPECT_EQ(w["x.example"].count(), 1u);
}

TEST(smtp_mx, keeps_the_pools_of_many_domains_in_bounds) {
    mx_world w;
    w.pool.idle_time = 1h;
    constexpr unsigned domains = 300;
    for (unsigned i = 0; i != domains; ++i) w.host("d" + std::to_string(i) + ".example");
    std::size_t open = 0;
    w.run([&](smtp::client& mail) -> task<> {
        for (unsigned i = 0; i != domains; ++i) {
            const smtp::message m = to("bob@d" + std::to_string(i) + ".example");
            co_await mail.send(m);
        }
        open = mail.statistics().connections;
    });
    EXPECT_EQ(open, 256u) << "pools of one loop";
}

TEST(smtp_mx, tells_recipients_apart_when_the_time_is_over) {
    mx_world w;
    w.host("one.example");
    w.host("two.example").misbehave({.command = "greeting", .what = sink_rule::action::stall});
    w.options.total_timeout = 20s;
    const auto r = w.send(to("a@one.example, b@two.example"));
    ASSERT_FALSE(r);
    EXPECT_FALSE(r.error().safe_to_retry()) << "one has it";
    const auto& all = smtp::failure_of(r.error())->recipients();
    ASSERT_EQ(all.size(), 2u);
    EXPECT_TRUE(all[0].accepted);
    EXPECT_FALSE(all[1].accepted);
}

TEST(smtp_mx, refuses_a_url_that_is_none) {
    for (const char* url : {"mx:x", "mx:0", "mx:65536", "mx://host", "mx"}) {
        block_on([&]() -> task<> {
            smtp::client mail(url, plain_options());
            const smtp::message m = to("a@one.example");
            auto sending = mail.send(m);
            const auto r = co_await as_result(sending);
            EXPECT_FALSE(r) << url;
            if (!r) {
                EXPECT_NE(r.error().code(), std::error_code()) << r.error();
                EXPECT_EQ(r.error().operation(), "url:") << url;
            }
        });
    }
}

// ---- TLS ----------------------------------------------------------------------------------------
