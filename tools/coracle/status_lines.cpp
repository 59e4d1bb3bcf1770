#include "status_lines.hpp"

#include <poll.h>

#include <chrono>

namespace coracle::tool {

std::string count_of(std::uint64_t n, const char* what) {
    return std::to_string(n) + ' ' + what + (n == 1 ? "" : "s");
}

bool status_lines::takes_output() const noexcept {
    pollfd out{::fileno(to_), POLLOUT, 0};
    return ::poll(&out, 1, 0) == 1;
}

void status_lines::listening(const http::server& s) const {
    for (const std::string& url : s.urls()) std::fprintf(to_, "listening on %s\n", url.c_str());
    std::fflush(to_);
}

void status_lines::has_dashboard(const std::string& url) const {
    std::fprintf(to_, "dashboard at %s\n", url.c_str());
    std::fflush(to_);
}

void status_lines::draining(const http::server& s) const {
    if (!takes_output()) return;
    std::fprintf(to_, "draining: %s open; a second signal cuts\n",
                 count_of(s.counters().open, "connection").c_str());
    std::fflush(to_);
}

void status_lines::ended(const http::server& s) const {
    if (!takes_output()) return;
    const http::server_counters c = s.counters();
    std::fprintf(to_, "served %s on %s; %s cut\n", count_of(c.requests, "request").c_str(),
                 count_of(c.connections, "connection").c_str(),
                 count_of(c.cut_by_drain, "connection").c_str());
    if (const auto d = s.drained()) {
        const double seconds = std::chrono::duration<double>(d->took).count();
        std::fprintf(
            to_,
            "drained in %.1f s: %s open, %s under way, %llu told; then %llu accepted, %s served\n",
            seconds, count_of(d->open, "connection").c_str(),
            count_of(d->in_flight, "request").c_str(), static_cast<unsigned long long>(d->told),
            static_cast<unsigned long long>(d->accepted), count_of(d->served, "request").c_str());
    }
    std::fflush(to_);
}

}  // namespace coracle::tool
