#pragma once

#include "figures/scenario.hpp"

#include <coracle/http/client_options.hpp>
#include <coracle/runtime/clock.hpp>

#include <cstdint>
#include <string>

namespace coracle::tool::bench {

enum class load_protocol : std::uint8_t { http_1_1, http_2, websocket };
/// "HTTP/1.1", "HTTP/2", "WebSocket".
const char* name_of(load_protocol p) noexcept;

/// The load of a run.
struct load_plan {
    scenario what;
    load_protocol protocol = load_protocol::http_1_1;
    unsigned connections = 50;
    unsigned streams = 1;  ///< requests at a time on each connection
    unsigned loops = 1;
    double rate = 0;  ///< requests a second; 0: the closed model
    duration length = std::chrono::seconds(10);
    std::uint64_t requests = 0;  ///< in place of `length`; 0: none
    duration warm_up{};
    duration ramp{};
    duration timeout = std::chrono::seconds(10);
    bool new_connections = false;  ///< one for each request
    http::client_options client;

    bool is_open() const noexcept { return rate > 0; }
    unsigned lanes() const noexcept { return connections * streams; }
};

}  // namespace coracle::tool::bench
