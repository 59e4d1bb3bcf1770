// Requests to one origin over a connection of HTTP/2 to another (RFC 9113 section 9.1.1).

#include "support/client_calls.hpp"
#include "support/dns_server.hpp"
#include "support/temporary_directory.hpp"
#include "support/test_ca.hpp"

#include <coracle/http/server.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/tls/context.hpp>

#include <gtest/gtest.h>

namespace coracle::testing {
namespace {

enum class way { good, not_wanted, insecure, misdirected };

/// Names the host that was asked for; by `misdirected` only to those who were there first.
http::response name_host(http::request& req, way how) {
    http::connection_info& connection = req.connection();
    if (connection.data<std::string>() == nullptr) connection.set_data(std::string(req.host()));
    if (how == way::misdirected && *connection.data<std::string>() != req.host()) {
        return {http::status::misdirected_request, "no"};
    }
    return http::response(std::string(req.host()));
}

http::client_options trusting(const temporary_directory& files, const std::string& authorities) {
    http::client_options o;
    o.proxy_from_environment = false;
    o.certificates.authorities = files.write("ca.pem", authorities);
    return o;
}

http::client_statistics visit_both(way how) {
    local_server_options served;
    served.self_signed = true;
    const local_server server([how](http::request& req) { return name_host(req, how); }, served);
    const temporary_directory files;
    http::client_options o = trusting(files, server.authorities());
    o.insecure = how == way::insecure;
    http::pool_options p;
    p.h2.coalesce = how != way::not_wanted;
    http::client client(o, p);
    for (const char* host : {"127.0.0.1", "localhost", "localhost", "127.0.0.1"}) {
        const std::string authority = std::string(host) + ':' + std::to_string(server.port());
        const auto r = client.get("https://" + authority + "/").wait();
        EXPECT_EQ(r.body, authority);
        EXPECT_EQ(r.info.version, http::version::http_2);
    }
    const auto s = client.statistics();
    EXPECT_EQ(server.counters().h2_connections, s.opened);
    return s;
}

}  // namespace

TEST(client_h2_coalescing, needs_the_same_address_and_a_certificate_for_both) {
    const auto s = visit_both(way::good);
    EXPECT_EQ(s.opened, 1u);
    EXPECT_EQ(s.h2.coalesced, 2u);
}

TEST(client_h2_coalescing, may_be_switched_off) {
    const auto s = visit_both(way::not_wanted);
    EXPECT_EQ(s.opened, 2u);
    EXPECT_EQ(s.h2.coalesced, 0u);
}

TEST(client_h2_coalescing, needs_a_certificate_that_was_looked_at) {
    const auto s = visit_both(way::insecure);
    EXPECT_EQ(s.opened, 2u);
    EXPECT_EQ(s.h2.coalesced, 0u);
}

// A name server that is silent about the other family would hold it up.
TEST(client_h2_coalescing, looks_up_only_addresses_of_the_family_of_the_connection) {
    dns_server names([](const dns_query& q) -> std::vector<std::string> {
        if (q.type != dns_a) return {};
        return {dns_reply(q).a(q.name, "127.0.0.1")};
    });
    const test_ca ca;
    http::server_options served;
    tls::server_options secure;
    secure.certificates.push_back(ca.issue({.names = {"a.test", "b.test"}}));
    served.tls = std::make_shared<tls::server_context>(secure);
    const local_server server([](http::request& req) { return std::string(req.host()); }, served);
    const temporary_directory files;
    http::pool_options p;
    p.resolver = asking({names.at()});
    http::client client(trusting(files, ca.pem()), p);
    for (const char* host : {"a.test", "b.test"}) {
        const std::string authority = std::string(host) + ':' + std::to_string(server.port());
        EXPECT_EQ(client.get("https://" + authority + "/").wait().body, authority);
    }
    EXPECT_EQ(client.statistics().opened, 1U);
    EXPECT_EQ(client.statistics().h2.coalesced, 1U);
    EXPECT_EQ(names.asked("b.test", dns_a), 1U);
    EXPECT_EQ(names.asked("b.test", dns_aaaa), 0U);
}

TEST(client_h2_coalescing, ends_also_for_requests_that_cannot_be_repeated) {
    local_server_options served;
    served.self_signed = true;
    const local_server server([](http::request& req) { return name_host(req, way::misdirected); },
                              served);
    const temporary_directory files;
    http::client client(trusting(files, server.authorities()));
    EXPECT_EQ(client.get(server.url("/")).wait().status, http::status::ok);
    const auto write = [](http::body_writer& out) -> task<> { co_await out.write("x"); };
    const std::string other = "https://localhost:" + std::to_string(server.port()) + "/";
    for (const auto expected : {http::status::misdirected_request, http::status::ok}) {
        EXPECT_EQ(client.post(other).body(http::body::stream(write)).wait().status, expected);
    }
}

TEST(client_h2_coalescing, ends_where_the_server_says_that_it_was_misdirected) {
    const auto s = visit_both(way::misdirected);
    EXPECT_EQ(s.opened, 2u);
    EXPECT_EQ(s.h2.coalesced, 1u);
    EXPECT_EQ(s.retries, 0u);
}

}  // namespace coracle::testing
