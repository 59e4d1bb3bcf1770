#pragma once

#include <coracle/http/client.hpp>
#include <coracle/http/handler.hpp>
#include <coracle/http/server.hpp>
#include <coracle/metrics/registry.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http {

struct response_metrics_options {
    /// The beginning of all names. Default "http_server".
    std::string prefix = "http_server";
    /// Bounds in seconds, from the head of a request to the last byte of its response. Default
    /// 500 us to 10 s.
    std::vector<double> durations = metrics::latency_buckets();
    /// Bounds in bytes of a body. Default 100 to 100,000,000.
    std::vector<double> sizes = metrics::size_buckets();
};

/// Counts and measures the responses of servers, by the pattern of the route: one that many paths
/// match is one series, and what a client makes up makes none. Those that were broken off, by the
/// client or by a failure, are none: the access log has them.
///
///     metrics::registry all;
///     http::response_metrics seen(all);
///     options.observe(seen);
///     routes.get("/metrics", http::serve_metrics(all));
///
/// - http_server_requests_total{route, method, status}: the status as "2xx"; the route empty where
///   none was found; methods that are not registered as "other"
/// - http_server_request_duration_seconds{route}: a histogram
/// - http_server_response_body_bytes{route}: a histogram, of the bytes that were sent
///
/// Must outlive the server, and its registry must outlive it. Throws `exception` as the registry
/// does, say where it has metrics of these names. Thread-safe.
class response_metrics {
public:
    explicit response_metrics(metrics::registry& to, response_metrics_options options = {});
    response_metrics(const response_metrics&) = delete;
    response_metrics& operator=(const response_metrics&) = delete;

    /// For `server_options::observe`. Without a lock or an allocation but for the first response of
    /// a route on a thread.
    void observe(const access_record& record);

private:
    struct series;
    series find(const request& req, unsigned status_class) const;

    metrics::family<metrics::counter> requests_;
    metrics::family<metrics::histogram> durations_;
    metrics::family<metrics::histogram> sizes_;
    const std::uint64_t id_;  ///< of no other, ever
};

/// Adds all of `server_counters` to a registry, as coracle_server_connections_total and its like.
/// Gauges are:
///
/// - coracle_server_open_connections, coracle_server_in_flight (requests),
///   coracle_server_open_websockets (connections and streams of HTTP/2)
/// - coracle_server_connections_by_state{state}: "handshaking" (TLS, or a PROXY header that has not
///   come), "active" (with a request in a handler that waits, or being written), "idle" (the other
///   open ones), "draining" (all that are open once the server drains)
/// - coracle_server_connections_by_version{version}: "1.1" (1.0 among them) and "2", of those open
///
/// `read` is called when the text is made:
/// `[&server] { return server.counters(); }`. What it uses lives as long as the registry, or until
/// `remove_server_counters`.
void add_server_counters(metrics::registry& to, std::function<server_counters()> read);
void remove_server_counters(metrics::registry& from);

/// Adds the numbers of a client, as coracle_client_calls_total{client} and its like, with `name` as
/// the value of the label. As `add_server_counters`, once for a registry.
void add_client_statistics(metrics::registry& to, std::string_view name,
                           std::function<client_statistics()> read);

/// A handler that responds with the text of a registry, which must outlive it: as OpenMetrics where
/// the Accept field names it, and text/plain with no higher weight; else as Prometheus has it.
handler serve_metrics(const metrics::registry& of);

}  // namespace coracle::http
