#pragma once

#include <coracle/http/handler.hpp>
#include <coracle/runtime/clock.hpp>
#include <coracle/runtime/task.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::http {

struct health_options {
    /// How long a check may take; then it has failed. Default 1 s.
    duration patience = std::chrono::seconds(1);
    /// How long the outcome of the checks holds once they have ended, so that probes are no load;
    /// those that come to a loop meanwhile wait for it. Default 1 s.
    duration keep = std::chrono::seconds(1);
};

/// Tells orchestrators and load balancers how a server is.
///
///     http::health health;
///     health.add("database", [&] { return database.ping(); });
///     routes.get("/healthz", health.live());
///     routes.get("/readyz", health.ready());
///
/// A copy is a reference to the same one. Thread-safe.
class health {
public:
    /// True where it is well. What it throws counts as a failure.
    using check = std::function<task<bool>()>;

    explicit health(health_options options = {});

    /// Adds a check of readiness, run on the loop of a probe, one after the other in this order.
    /// Before the server runs.
    void add(std::string_view name, check run);
    /// False: `ready` gives 503 whatever the checks say, say before a drain, so that a balancer
    /// stops sending. From any thread.
    void set_ready(bool yes) noexcept;

    /// A handler that gives 200: the loop runs.
    handler live() const;
    /// A handler that gives 200 where all checks pass, else 503; with a line for each check.
    handler ready() const;

    class state;

private:
    std::shared_ptr<state> state_;
};

}  // namespace coracle::http
