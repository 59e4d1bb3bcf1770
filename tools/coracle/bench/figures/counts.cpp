#include "counts.hpp"

#include <numeric>

namespace coracle::tool::bench {

std::string_view name_of(failure_kind k) noexcept {
    switch (k) {
        case failure_kind::connect: return "connect";
        case failure_kind::tls: return "tls";
        case failure_kind::timeout: return "timeout";
        case failure_kind::lost: return "lost";
        case failure_kind::malformed: return "malformed";
        case failure_kind::other: break;
    }
    return "other";
}

void counts::merge(const counts& other) noexcept {
    for (std::size_t i = 0; i != statuses.size(); ++i) statuses[i] += other.statuses[i];
    for (std::size_t i = 0; i != failures.size(); ++i) failures[i] += other.failures[i];
    bytes_in += other.bytes_in;
    bytes_out += other.bytes_out;
    connections += other.connections;
    unsent += other.unsent;
    latency.merge(other.latency);
    lateness.merge(other.lateness);
}

void counts::clear() noexcept {
    statuses = {};
    failures = {};
    bytes_in = bytes_out = connections = unsent = 0;
    latency.clear();
    lateness.clear();
}

std::uint64_t counts::responses() const noexcept {
    return std::accumulate(statuses.begin(), statuses.end(), std::uint64_t{0});
}

std::uint64_t counts::failed() const noexcept {
    return std::accumulate(failures.begin(), failures.end(), std::uint64_t{0});
}

}  // namespace coracle::tool::bench
