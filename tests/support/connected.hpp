#pragma once

#include <coracle/net/listener.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/when_all.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace coracle::testing {

/// Both ends of a connection over the loopback.
struct connection_pair {
    std::unique_ptr<net::socket> client;
    std::unique_ptr<net::socket> server;
};

inline net::address loopback() {
    return net::address::v4({127, 0, 0, 1}, 0);
}

inline task<connection_pair> connect_to(net::listener& l) {
    auto [client, server] = co_await when_all(net::connect(l.local()), l.accept());
    connection_pair both;
    both.client = std::move(client);
    both.server = std::move(server);
    co_return both;
}

inline task<connection_pair> connected() {
    auto l = net::listener::open(*loop::current(), loopback());
    if (!l) throw exception(l.error());
    auto both = co_await connect_to(*l);
    co_return both;
}

/// Reads until `size` bytes have come.
inline task<std::string> read_exactly(net::byte_stream& s, std::size_t size) {
    std::string all;
    while (all.size() < size) {
        const buffer b = co_await s.receive();
        all += b.view();
    }
    co_return all;
}

}  // namespace coracle::testing
