#pragma once

#include "support/connected.hpp"
#include "support/test_ca.hpp"

#include <coracle/runtime/with_timeout.hpp>
#include <coracle/tls/error.hpp>
#include <coracle/tls/stream.hpp>

#include <expected>

namespace coracle::testing {

using tls_result = std::expected<std::unique_ptr<tls::stream>, error>;

/// Both sides' ends of one handshake over the loopback.
struct tls_pair {
    tls_result client;
    tls_result server;
};

inline task<> accept_into(tls::server_context& c, std::unique_ptr<net::socket> s, tls_result& to) {
    to = co_await as_result(tls::accept(c, std::move(s)));
}

inline task<> connect_into(tls::client_context& c, std::unique_ptr<net::socket> s, std::string host,
                           tls_result& to) {
    to = co_await as_result(tls::connect(c, std::move(s), host));
    // TLS 1.3: a client is done before the server has looked at its certificate, and only then come
    // tickets.
}

inline task<tls_pair> shake_hands(tls::client_context& c, tls::server_context& s,
                                  std::string host) {
    connection_pair both = co_await connected();
    tls_pair ends;
    co_await when_all(connect_into(c, std::move(both.client), host, ends.client),
                      accept_into(s, std::move(both.server), ends.server));
    co_return ends;
}

/// An authority, a server that it vouches for ("localhost", 127.0.0.1), and a client that trusts
/// it.
struct tls_world {
    test_ca ca;

    tls::server_options server_options() const {
        tls::server_options o;
        o.certificates.push_back(ca.issue({.names = {"localhost", "127.0.0.1"}}));
        return o;
    }
    tls::client_options client_options() const {
        tls::client_options o;
        o.system_authorities = false;
        o.authorities = ca.pem();
        return o;
    }
};

}  // namespace coracle::testing
