#pragma once

#include "connect/race.hpp"

namespace coracle::connect {

/// Connects to a host, by a race of its addresses where there may be several. Its arguments must
/// live until the task has ended; timeouts and timings count from `start`.
task<race::result> reach(net::resolver& names, const std::string& host, std::uint16_t port,
                         const options& o, time_point start);

}  // namespace coracle::connect
