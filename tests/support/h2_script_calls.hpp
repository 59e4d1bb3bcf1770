#pragma once

#include "support/h2_script.hpp"

#include <coracle/http/client.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace coracle::testing {

/// Options of a client that speaks HTTP/2 alone.
inline http::client_options over_h2() {
    http::client_options o;
    o.proxy_from_environment = false;
    o.http_version = http::version_choice::http_2;
    return o;
}

/// Runs `body(peer, client)` beside a peer, once for each of some seeds.
template <class F>
void with_peer(F body, http::pool_options p = {}, http::client_options o = over_h2(),
               std::uint64_t seeds = 5) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        simulation_options options;
        options.seed = seed;
        simulation sim(options);
        sim.run([&]() -> task<> {
            h2_script_server peer;
            peer.on_end = [](h2_script_connection& c, h2_script_stream& r) {
                c.respond(r, r.method + ' ' + r.path);
            };
            http::client client(o, p);
            bool finished = false;
            const auto block = [&](task_group& group) -> task<> {
                group.spawn([&] { return peer.serve(group); });
                co_await body(peer, client);
                finished = true;
                group.cancel();
            };
            const auto ended = co_await as_result(with_task_group(block));
            EXPECT_TRUE(finished) << (ended ? error() : ended.error());
        });
        EXPECT_EQ(sim.backend().open_descriptors(), 0u);
    }
}

}  // namespace coracle::testing
