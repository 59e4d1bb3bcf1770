#pragma once

#include <coracle/base/log.hpp>
#include <coracle/http/router.hpp>
#include <coracle/http/server.hpp>
#include <coracle/runtime/clock.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::http {

struct dashboard_options {
    /// The heading of the page.
    std::string title = "coracle";
    /// Serves clients on this machine alone, who named it "localhost" or by its address, so that no
    /// page of another site reaches it by a name of its own. Clients of a proxy on this machine are
    /// others where it tells of them (Forwarded, X-Forwarded-For, Via); one that adds no such field
    /// opens it to all of its clients. Default: yes.
    bool loopback_only = true;
    /// The time between two events; at least 10 ms. Default 1 s.
    duration interval = std::chrono::seconds(1);
    /// Routes that are told apart on each loop; the others are one together. Default 200.
    std::size_t routes = 200;
    /// Different warnings and errors of the log that are kept. Default 20.
    std::size_t messages = 20;
    /// Pages that are fed at a time on each loop; more get 503. Default 8.
    std::size_t viewers = 8;
};

/// A page that shows how a server does: rate and latencies over time, connections, the load of each
/// loop, the slowest routes, errors with their last message, the tasks of each loop as a tree, and
/// the counters of limits that clients ran into. It needs nothing from elsewhere, and is fed by
/// server-sent events.
///
///     http::dashboard seen;
///     options.observe(seen);
///     options.log = &seen.log();      // to show errors; they go to standard error, too
///     seen.add_to(routes, "/dashboard");
///     http::serve(routes, options, [&](http::server& s) {
///         seen.set_counters([&s] { return s.counters(); });
///     });
///
/// A response costs some 230 instructions more. It must outlive the server, and its runtime the
/// server's last response. Thread-safe.
class dashboard {
public:
    explicit dashboard(dashboard_options options = {});
    ~dashboard();
    dashboard(const dashboard&) = delete;
    dashboard& operator=(const dashboard&) = delete;

    /// Counts a response; for `server_options::observe`.
    void observe(const access_record& record);
    /// Shows the connections and counters of a server. Before it serves, from any thread.
    void set_counters(std::function<server_counters()> read);
    /// A logger that keeps warnings and errors for the page, and writes them to standard error.
    logger& log() noexcept;

    /// Adds the page at `path`, its events at `path`/events and its tasks at `path`/tasks.
    void add_to(router& routes, std::string_view path = "/dashboard") const;

    class state;

private:
    std::shared_ptr<state> state_;
};

}  // namespace coracle::http
