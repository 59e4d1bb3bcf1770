#pragma once

#include <coracle/http/call_observer.hpp>
#include <coracle/metrics/registry.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http {

struct client_metrics_options {
    /// The beginning of all names. Default "http_client".
    std::string prefix = "http_client";
    /// Bounds in seconds, of the whole call and of its phases. Default 500 us to 10 s.
    std::vector<double> durations = metrics::latency_buckets();
    /// Hosts that get series of their own; calls to all others are counted under the host "other".
    /// A phase of a host takes 16 cells of the 32,768 of a registry. Default 64.
    std::size_t hosts = 64;
};

/// Counts and measures the calls of clients, by host and by phase.
///
///     metrics::registry all;
///     http::client_metrics seen(all);
///     client.observe(seen);
///
/// - http_client_calls_total{host, status}: the status as "2xx", "none" where no response came
/// - http_client_failures_total{host, phase}: the phase in which a call ended with an error, or
///   "cancelled"
/// - http_client_call_duration_seconds{host}: a histogram, to the last byte of the body, of calls
///   that did not fail
/// - http_client_phase_duration_seconds{host, phase}: a histogram, of the last attempt of each call
///
/// The host is that of the URL, after redirects, with its port unless it is that of the scheme. The
/// phases are "queue" (the wait for a place among the connections), "resolve", "connect", "proxy",
/// "tls", "send", "wait" (for the first byte of the response) and "body". One that a call did not
/// have, since its connection was reused, is not observed: the count of "connect" is that of new
/// connections.
///
/// Must outlive the clients and their responses, and its registry must outlive it. Throws
/// `exception` as the registry does. Thread-safe.
class client_metrics {
public:
    explicit client_metrics(metrics::registry& to, client_metrics_options options = {});
    ~client_metrics();
    client_metrics(const client_metrics&) = delete;
    client_metrics& operator=(const client_metrics&) = delete;

    /// For `client::observe`. Without a lock or an allocation but for failures, and for a call of a
    /// host that has this status class or phase and is none of those of late on this thread, which
    /// keeps 256.
    void observe(const call_record& record);

private:
    struct series;
    class host_names;
    std::unique_ptr<series> find(std::string_view host, unsigned status_class);

    metrics::family<metrics::counter> calls_;
    metrics::family<metrics::counter> failures_;
    metrics::family<metrics::histogram> durations_;
    metrics::family<metrics::histogram> phases_;
    const std::unique_ptr<host_names> hosts_;
    const std::uint64_t id_;  ///< of no other, ever
};

}  // namespace coracle::http
