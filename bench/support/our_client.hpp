#pragma once

// The parts that the programs on our client share.

#include "spent.hpp"

#include <coracle/http/client.hpp>
#include <coracle/runtime/task_group.hpp>

#include <algorithm>
#include <cstddef>

namespace bench {

inline constexpr const char* client_arguments = " [CAFILE [http2]]";

// The options for `client_arguments` behind those of `calls_wanted`. CAFILE is empty for the
// authorities of the system. `http2`: over HTTP/2 alone, in clear with prior knowledge.
inline coracle::http::client_options client_options_of(int argc, char** argv) {
    coracle::http::client_options options;
    if (argc > 4) options.certificates.authorities = argv[4];
    if (argc > 5) options.http_version = coracle::http::version_choice::http_2;
    return options;
}

// Runs `ask()`, a task, as many times at once as is wanted.
template <class F>
coracle::task<> run_together(const calls_wanted& wanted, F ask) {
    const auto block = [&](coracle::task_group& group) -> coracle::task<> {
        for (std::size_t i = 0; i < std::min(wanted.count, wanted.concurrency); ++i) {
            group.spawn(ask);
        }
        co_return;
    };
    co_await coracle::with_task_group(block);
}

}  // namespace bench
