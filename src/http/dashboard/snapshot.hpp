#pragma once

#include "http/dashboard/loop_view.hpp"
#include "http/dashboard/message_list.hpp"

#include <map>
#include <optional>
#include <string>

namespace coracle::http::detail {

/// All that is known of a server at one time.
struct snapshot {
    struct loop_state {
        loop_statistics statistics;
    };

    /// Reads the loops, from any thread.
    void read(const loop_views& views);

    time_point at;
    std::uint64_t by_class[6] = {};
    std::uint64_t bytes = 0;
    latency_counts::snapshot latencies{};
    route_table routes;
    std::map<unsigned, loop_state> loops;

    std::uint64_t total() const noexcept;
};

/// The event that tells what happened between two of them.
std::string event_between(const snapshot& before, const snapshot& now,
                          const std::optional<server_counters>& counters,
                          const message_list& messages);

}  // namespace coracle::http::detail
