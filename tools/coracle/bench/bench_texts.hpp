#pragma once

#include "bench_options.hpp"

#include <string>
#include <vector>

namespace coracle::tool::bench {

inline constexpr unsigned most_connections = 100'000;
inline constexpr unsigned most_streams = 1000;
inline constexpr unsigned most_lanes = 200'000;

/// The arguments before they are understood.
struct bench_options::texts {
    bench_settings settings;
    std::string url;
    std::string length;
    std::string warm_up;
    std::string ramp;
    std::string timeout;
    std::string method;
    std::vector<std::string> fields;
    std::string data;
    std::string scenario;
    bool http2 = false;
    bool ws = false;
};

}  // namespace coracle::tool::bench
