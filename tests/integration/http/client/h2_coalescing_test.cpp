// Requests to one origin over a connection of HTTP/2 to another (RFC 9113 section 9.1.1).

#include "support/client_calls.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/http/server.hpp>
#include <coracle/testing/local_server.hpp>

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

http::client_statistics visit_both(way how) {
    local_server_options served;
    served.self_signed = true;
    const local_server server([how](http::request& req) { return name_host(req, how); }, served);
    const temporary_directory files;
    http::client_options o;
    o.proxy_from_environment = false;
    o.insecure = how == way::insecure;
    o.certificates.authorities = files.write("ca.pem", server.authorities());
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

TEST(client_h2_coalescing, ends_where_the_server_says_that_it_was_misdirected) {
    const auto s = visit_both(way::misdirected);
    EXPECT_EQ(s.opened, 2u);
    EXPECT_EQ(s.h2.coalesced, 1u);
    EXPECT_EQ(s.retries, 0u);
}

}  // namespace coracle::testing
