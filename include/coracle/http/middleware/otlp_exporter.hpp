#pragma once

#include <coracle/http/client.hpp>
#include <coracle/http/middleware/trace_context.hpp>
#include <coracle/runtime/clock.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace coracle::http {

struct otlp_options {
    /// The value of service.name.
    std::string service = "coracle";
    /// Spans that wait to be sent, on each loop. Beyond it they are dropped, and counted. Default
    /// 2,048.
    std::size_t queue = 2048;
    /// Spans of one request. Default 512.
    std::size_t batch = 512;
    /// The longest time that a span waits for others. Default 5 s.
    duration interval = std::chrono::seconds(5);
    /// The longest time that one request takes. Default 10 s.
    duration patience = std::chrono::seconds(10);
    /// The time that is left for what waits when the loop ends, after a drain say. Default 3 s.
    duration drain = std::chrono::seconds(3);
};

/// Sends spans to a collector: OTLP over HTTP in JSON, to "http://127.0.0.1:4318/v1/traces" say.
/// Each loop has its own queue and sends its own batches; nothing waits for the collector. While it
/// fails (429, 502, 503, 504, or no response), a batch waits for the next time; what the collector
/// refuses otherwise, or takes in part ("Partial Success" of OTLP), is dropped.
///
/// The client must outlive the loops, and have no `tracing::calls` around it that would matter:
/// what it sends belongs to no request. Thread-safe.
class otlp_exporter final : public span_exporter {
public:
    /// Throws `exception` (invalid_argument) when the URL is malformed, or an option is not
    /// positive or contradicts another.
    otlp_exporter(client& by, std::string url, otlp_options options = {});
    ~otlp_exporter() override;

    void add(finished_span&& span) noexcept override;

    /// Spans that the collector took, that were dropped, and requests that failed, of all loops.
    std::uint64_t sent() const noexcept;
    std::uint64_t dropped() const noexcept;
    std::uint64_t failures() const noexcept;

    struct shared;

private:
    std::shared_ptr<shared> shared_;
};

}  // namespace coracle::http
