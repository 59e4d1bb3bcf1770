#include "net/resolver/message.hpp"
#include "support/dns_server.hpp"

#include <gtest/gtest.h>

using namespace coracle;
using coracle::net::detail::read_response;
using coracle::net::detail::record_kind;
using coracle::testing::dns_query;
using coracle::testing::dns_reply;
using net::resolve_errc;

namespace {

/// The question for the addresses of boats.example.
dns_query question() {
    dns_query q;
    q.name = "boats.example";
    q.type = coracle::testing::dns_a;
    q.bytes = std::string("\x12\x34\x01\0\0\1\0\0\0\0\0\0\5boats\7example\0\0\1\0\1", 31);
    return q;
}

net::detail::dns_response read(const std::string& message, std::size_t most = 64) {
    return read_response(message, "boats.example", record_kind::v4, most);
}

}  // namespace

TEST(dns_message, gives_addresses_and_the_smallest_ttl) {
    const auto a = read(dns_reply(question())
                            .cname("boats.example", "b.example", 50)
                            .a("b.example", "192.0.2.1", 70)
                            .a("B.EXAMPLE", "192.0.2.2", 60)
                            .a("c.example", "192.0.2.3", 10));
    ASSERT_FALSE(a.failure);
    ASSERT_EQ(a.found.addresses.size(), 2u);
    EXPECT_EQ(a.found.addresses[1].host(), "192.0.2.2");
    EXPECT_EQ(a.ttl, 50u);
}

TEST(dns_message, takes_the_negative_ttl_from_the_authority) {
    EXPECT_EQ(read(dns_reply(question()).code(3).soa(900, 60)).ttl, 60u);
    EXPECT_EQ(read(dns_reply(question()).code(3).soa(30, 60)).ttl, 30u);
    EXPECT_EQ(read(dns_reply(question()).soa(30, 60)).failure, resolve_errc::no_addresses);
    EXPECT_EQ(read(dns_reply(question()).code(3)).ttl, 0u);
}

TEST(dns_message, takes_a_ttl_beyond_the_largest_for_none) {
    const auto a = read(dns_reply(question()).a("boats.example", "192.0.2.1", 0xffffffff));
    EXPECT_EQ(a.found.addresses.size(), 1u);
    EXPECT_EQ(a.ttl, 0u);
}

TEST(dns_message, stops_at_so_many_addresses) {
    dns_reply r(question());
    for (int i = 0; i != 100; ++i) r.a("boats.example", "192.0.2.1");
    EXPECT_EQ(read(r, 7).found.addresses.size(), 7u);
}

TEST(dns_message, refuses_what_is_no_response_to_the_question) {
    const std::string good = dns_reply(question()).a("boats.example", "192.0.2.1");
    std::string query = good;
    query[2] = '\x01';
    EXPECT_EQ(read(query).failure, resolve_errc::malformed_response);
    EXPECT_EQ(read_response(good, "other.example", record_kind::v4, 9).failure,
              resolve_errc::malformed_response);
    EXPECT_EQ(read_response(good, "boats.example", record_kind::v6, 9).failure,
              resolve_errc::malformed_response);
}

TEST(dns_message, refuses_a_message_that_was_cut_anywhere) {
    const std::string good =
        dns_reply(question()).cname("boats.example", "b.example").a("b.example", "192.0.2.1");
    ASSERT_FALSE(read(good).failure);
    for (std::size_t size = 0; size != good.size(); ++size) {
        EXPECT_EQ(read(good.substr(0, size)).failure, resolve_errc::malformed_response) << size;
    }
}

TEST(dns_message, survives_any_byte_that_is_changed) {
    const std::string good = dns_reply(question())
                                 .cname("boats.example", "b.example")
                                 .a("b.example", "192.0.2.1")
                                 .soa(1, 2);
    for (std::size_t at = 0; at != good.size(); ++at) {
        for (int value = 0; value != 256; ++value) {
            std::string bad = good;
            bad[at] = static_cast<char>(value);
            const auto a = read(bad);
            EXPECT_TRUE(a.failure || a.found.addresses.size() == 1);
        }
    }
}

TEST(dns_message, does_not_follow_pointers_in_circles_or_for_long) {
    const std::string head = dns_reply(question()).bytes().substr(0, 31);
    std::string circle = head;
    circle[7] = 1;
    circle += std::string("\xc0\x1f\0\1\0\1\0\0\0\1\0\4\1\2\3\4", 16);
    EXPECT_EQ(read(circle).failure, resolve_errc::malformed_response);

    // A text record full of pointers, each to the one before, and then a name that uses them.
    std::string chain = head;
    chain[7] = 2;
    chain += std::string("\0\0\x10\0\1\0\0\0\1\3\xe8", 11);
    std::size_t target = 12;
    for (int i = 0; i != 500; ++i) {
        const std::size_t here = chain.size();
        chain += static_cast<char>(0xc0 | target >> 8);
        chain += static_cast<char>(target & 0xff);
        target = here;
    }
    chain += static_cast<char>(0xc0 | target >> 8);
    chain += static_cast<char>(target & 0xff);
    chain += std::string("\0\1\0\1\0\0\0\1\0\4\1\2\3\4", 14);
    EXPECT_EQ(read(chain).failure, resolve_errc::malformed_response);
}

namespace {

/// The question for the hosts that take the mail of boats.example.
dns_query mail_question() {
    dns_query q = question();
    q.type = coracle::testing::dns_mx;
    q.bytes[q.bytes.size() - 3] = '\x0f';
    return q;
}

net::detail::dns_response read_mail(const std::string& message, std::size_t most = 64) {
    return read_response(message, "boats.example", record_kind::mail, most);
}

}  // namespace

TEST(dns_message, gives_the_hosts_for_mail) {
    const auto a = read_mail(dns_reply(mail_question())
                                 .cname("boats.example", "b.example", 50)
                                 .mx("b.example", 20, "MX2.example", 70)
                                 .mx("b.example", 10, "mx1.example", 60)
                                 .mx("c.example", 5, "mx3.example"));
    ASSERT_FALSE(a.failure);
    ASSERT_EQ(a.found.mail.size(), 2u);
    EXPECT_EQ(a.found.mail[0], (net::mail_host{20, "mx2.example"}));
    EXPECT_EQ(a.found.mail[1], (net::mail_host{10, "mx1.example"}));
    EXPECT_EQ(a.ttl, 50u);
    EXPECT_TRUE(a.found.addresses.empty());
}

TEST(dns_message, keeps_the_root_as_a_host_without_a_name) {
    const auto a = read_mail(dns_reply(mail_question()).mx("boats.example", 0, ""));
    ASSERT_EQ(a.found.mail.size(), 1u);
    EXPECT_EQ(a.found.mail[0], net::mail_host());
}

TEST(dns_message, takes_a_domain_whose_hosts_have_no_names_for_broken) {
    // The mail would go to the domain itself, which the records say is wrong.
    const auto bad = read_mail(dns_reply(mail_question()).mx("boats.example", 1, "a b.example"));
    EXPECT_EQ(bad.failure, resolve_errc::malformed_response);
    const auto some = read_mail(dns_reply(mail_question())
                                    .mx("boats.example", 1, "a b.example")
                                    .mx("boats.example", 2, "mx.example"));
    ASSERT_EQ(some.found.mail.size(), 1u);
    EXPECT_EQ(some.found.mail[0].name, "mx.example");
    EXPECT_EQ(read_mail(dns_reply(mail_question())).failure, resolve_errc::no_addresses);
}

TEST(dns_message, refuses_hosts_for_mail_that_were_cut_or_changed_anywhere) {
    const std::string good = dns_reply(mail_question()).mx("boats.example", 10, "mx.example");
    ASSERT_FALSE(read_mail(good).failure);
    for (std::size_t at = 0; at != good.size(); ++at) {
        EXPECT_EQ(read_mail(good.substr(0, at)).failure, resolve_errc::malformed_response) << at;
        for (int value = 0; value != 256; ++value) {
            std::string bad = good;
            bad[at] = static_cast<char>(value);
            const auto a = read_mail(bad);
            EXPECT_TRUE(a.failure || a.found.mail.size() == 1);
        }
    }
}

TEST(dns_message, stops_at_so_many_hosts_for_mail) {
    dns_reply r(mail_question());
    for (int i = 0; i != 100; ++i) r.mx("boats.example", 1, "mx.example");
    EXPECT_EQ(read_mail(r, 7).found.mail.size(), 7u);
}
