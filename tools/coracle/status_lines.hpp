#pragma once

#include <coracle/http/server.hpp>

#include <cstdint>
#include <cstdio>
#include <string>

namespace coracle::tool {

/// "1 request", "2 requests".
std::string count_of(std::uint64_t n, const char* what);

/// The lines by which `coracle serve` reports where it listens, and how it ends. Those of its end
/// are not waited for: a pipe that nobody reads must not hold the program up.
class status_lines {
public:
    /// `to` outlives this.
    explicit status_lines(std::FILE* to) noexcept : to_(to) {}

    void listening(const http::server& s) const;
    void has_dashboard(const std::string& url) const;
    void draining(const http::server& s) const;
    void ended(const http::server& s) const;

private:
    /// Returns false where a write would wait.
    bool takes_output() const noexcept;

    std::FILE* to_;
};

}  // namespace coracle::tool
