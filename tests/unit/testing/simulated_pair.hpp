#pragma once

#include <coracle/net/listener.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/testing/peer.hpp>
#include <coracle/testing/simulation.hpp>

#include <string>

namespace simulated {

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

inline simulation_options seeded(std::uint64_t seed) {
    simulation_options o;
    o.seed = seed;
    return o;
}

inline net::address at(std::string_view text) {
    return *net::address::parse(text);
}

inline net::listener open_listener(loop& on, std::string_view where = "127.0.0.1:0") {
    auto l = net::listener::open(on, at(where));
    if (!l) throw_exception(l.error());
    return std::move(*l);
}

inline std::string counted_bytes(std::size_t n) {
    std::string s(n, '\0');
    for (std::size_t i = 0; i != n; ++i) s[i] = static_cast<char>(i * 131 + (i >> 8));
    return s;
}

}  // namespace simulated
