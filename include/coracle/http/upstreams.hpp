#pragma once

#include <coracle/http/client.hpp>
#include <coracle/http/forward.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace coracle::http {

/// The choice among upstreams.
enum class balance : std::uint8_t {
    round_robin,        ///< one after the other
    least_connections,  ///< the one with the fewest requests under way
    hash,               ///< by the key of the request: the same key, the same upstream
};

/// Options of `upstreams`.
struct upstream_options {
    balance by = balance::round_robin;
    /// For `balance::hash`: the key of a request. When an upstream comes or goes, only its keys
    /// move. Called on any loop. Default: the client's address.
    std::function<std::string(const request&)> key = {};
    /// Upstreams that one request is tried at, at most. The next is tried when the one before could
    /// not be reached; of requests without a body also when it did not process the request, and
    /// when it failed later if the method is idempotent (RFC 9110 section 9.2.2). Default 3.
    unsigned tries = 3;
    /// Failures one after the other that take an upstream out. Default 3; 0: never.
    unsigned eject_after = 3;
    /// The time for which it is out; doubled each time that it fails again at once, up to 32 times.
    /// Default 5 s.
    duration eject_for = std::chrono::seconds(5);
    /// The path that `upstreams::check` requests of each: 2xx is well, all else is not. Default:
    /// "/readyz".
    std::string health_path = "/readyz";
    /// Between two of these, 10 ms at least. Default 2 s.
    duration health_interval = std::chrono::seconds(2);
    /// For the response; zero: over at once. Default 1 s.
    duration health_timeout = std::chrono::seconds(1);
    /// Checks one after the other that make an upstream ill (0: none do), or well again. Defaults 2
    /// and 1.
    unsigned ill_after = 2;
    unsigned well_after = 1;
};

/// An upstream as it stands now.
struct upstream_state {
    std::string url;
    bool is_well = true;         ///< by the checks; true until they say otherwise
    bool is_ejected = false;     ///< out for a while; without a loop: at the last request
    std::uint64_t active = 0;    ///< requests under way
    std::uint64_t requests = 0;  ///< sent there
    std::uint64_t failures = 0;  ///< of these
    std::uint64_t ejections = 0;
};

/// Several servers with the same content, for `forward_to`. Which are up is known by what requests
/// to them come to, and by checks. One that is ill is not used; one that was ejected is used only
/// when no other is well. Shared by all loops; thread-safe but for destruction.
///
///     http::upstreams nodes(client, {"http://10.0.0.7:9000", "http://10.0.0.8:9000"});
///     routes.any("/{*rest}", http::forward_to(nodes));
///     options.run_beside([&] { return nodes.check(); }, "health checks");
///     http::serve(routes, options);
class upstreams {
public:
    /// `client` must outlive this. Throws `exception` when there are no URLs, or one is none.
    upstreams(client& client, const std::vector<std::string>& urls, upstream_options o = {});
    ~upstreams();
    upstreams(const upstreams&) = delete;
    upstreams& operator=(const upstreams&) = delete;

    /// Checks them until it is cancelled.
    task<> check();

    std::vector<upstream_state> states() const;

    class group;
    /// For `forward_to`.
    group& all() noexcept { return *group_; }

private:
    std::unique_ptr<group> group_;
};

}  // namespace coracle::http
