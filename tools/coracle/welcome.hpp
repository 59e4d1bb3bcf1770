#pragma once

#include <coracle/http/server.hpp>

#include <atomic>
#include <string>

namespace coracle::tool {

/// The server whose figures the welcome page shows. Outlives the handler's calls.
class live_server {
public:
    /// Before it serves.
    void attach(const http::server& s, const runtime& rt) noexcept {
        server_ = &s;
        loops_ = rt.loops();
    }
    /// On one of its loops, when that begins to run.
    void begin(loop& l) noexcept { begun_ns_ = l.now().time_since_epoch().count(); }

    /// The figures as JSON. On a loop.
    std::string figures() const;

private:
    const http::server* server_ = nullptr;
    std::size_t loops_ = 0;
    std::atomic<std::int64_t> begun_ns_{0};
};

/// The welcome page at "/", its figures at "/stats.json", and plain text at "/hello".
http::handler welcome(const live_server& live);

/// The page: HTML that needs nothing from elsewhere.
std::string_view welcome_page() noexcept;

}  // namespace coracle::tool
