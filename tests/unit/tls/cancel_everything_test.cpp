#include "support/cancel_everywhere.hpp"
#include "support/connected.hpp"
#include "support/test_ca.hpp"

#include <coracle/runtime/with_timeout.hpp>
#include <coracle/tls/reload.hpp>
#include <coracle/tls/stream.hpp>

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

// As tests/unit/runtime/cancel_everything_test.cpp, for TLS: handshakes and what a stream gives to
// await.

using namespace coracle;
using namespace coracle::testing;

namespace {

tls::server_options server_options() {
    static const certificate_request request{.names = {"boats"}};
    static const test_ca ca;
    static const tls::certificate_source made = ca.issue(request);
    tls::server_options o;
    o.certificates.push_back(made);
    return o;
}

tls::client_options client_options() {
    tls::client_options o;
    // The clock of the simulated world is not that of the certificate.
    o.insecure = true;
    return o;
}

/// Each operation has a connection of its own: one that is made takes it.
struct handshake_row : cancel_row {
    tls::server_context server{server_options()};
    tls::client_context client{client_options()};
    std::array<connection_pair, 2> pairs;
    std::size_t next = 0;
    task<> prepare() {
        for (connection_pair& p : pairs) p = co_await connected();
    }
    connection_pair& take() { return pairs[next++]; }
    connection_pair& taken() { return pairs[next - 1]; }
};

struct accept_row : handshake_row {
    auto make() { return tls::accept(server, std::move(take().server)); }
    task<> help() {
        co_await turns(2);
        auto s = co_await as_result(tls::connect(client, std::move(taken().client), "boats"));
    }
};

struct connect_row : handshake_row {
    auto make() { return tls::connect(client, std::move(take().client), "boats"); }
    task<> help() {
        co_await turns(2);
        auto s = co_await as_result(tls::accept(server, std::move(taken().server)));
    }
};

struct stream_row : cancel_row {
    tls::server_context server{server_options()};
    tls::client_context client{client_options()};
    std::unique_ptr<tls::stream> c;
    std::unique_ptr<tls::stream> s;

    static task<> accept_into(tls::server_context& context, std::unique_ptr<net::socket> beneath,
                              std::unique_ptr<tls::stream>& to) {
        to = co_await tls::accept(context, std::move(beneath));
    }
    static task<> connect_into(tls::client_context& context, std::unique_ptr<net::socket> beneath,
                               std::unique_ptr<tls::stream>& to) {
        to = co_await tls::connect(context, std::move(beneath), "boats");
    }
    task<> prepare() {
        connection_pair both = co_await connected();
        co_await when_all(connect_into(client, std::move(both.client), c),
                          accept_into(server, std::move(both.server), s));
    }
};

struct receive_row : stream_row {
    static constexpr bool again = true;
    auto make() { return s->receive(); }
    task<> help() {
        co_await turns(2);
        static_cast<void>(co_await c->send("hello"));
    }
};

/// More than fits, so that it waits for the reader.
struct send_row : stream_row {
    std::string text = std::string(300'000, 'x');
    auto make() { return c->send(text); }
    task<> help() {
        co_await turns(2);
        for (;;) {
            auto some =
                co_await as_result(with_timeout(std::chrono::milliseconds(1), s->receive()));
            if (!some) co_return;
        }
    }
};

struct reload_row : stream_row {
    static constexpr bool endless = true;
    auto make() { return tls::reload_on_change(server, std::chrono::microseconds(3)); }
};

constexpr cancel_case cases[] = {
    row<accept_row>("tls::accept(context, stream, received)"),
    row<connect_row>("tls::connect(context, stream, host)"),
    row<receive_row>("byte_stream::receive(n)"),
    row<send_row>("byte_stream::send(pieces)"),
    row<reload_row>("tls::reload_on_change(context, period)"),
};

class cancelled_in_tls : public ::testing::TestWithParam<cancel_case> {};

}  // namespace

TEST_P(cancelled_in_tls, unwinds_and_loses_nothing) {
    GetParam().run();
}

INSTANTIATE_TEST_SUITE_P(tls, cancelled_in_tls, ::testing::ValuesIn(cases),
                         [](const auto& i) { return test_name(i.param.name); });
