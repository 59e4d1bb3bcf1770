#pragma once

#include <coracle/http/server.hpp>
#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/task.hpp>

#include <gtest/gtest.h>

namespace coracle::testing {

/// Tells a server to stop when it is destroyed, and notes that.
struct stop_at_the_end {
    http::server* server;
    bool* told;

    ~stop_at_the_end() {
        *told = true;
        server->stop();
    }
};

/// Runs a server. It may fail before its first connection, and once it was told to stop, but not
/// amid its work.
inline task<> serve_amid_failures(http::server* server, loop* here, const bool* told) {
    try {
        co_await server->run(*here);
    } catch (...) {
        EXPECT_TRUE(*told || server->counters().connections == 0) << "it ended amid its work";
        throw;
    }
}

}  // namespace coracle::testing
