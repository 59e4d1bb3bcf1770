#pragma once

#include <coracle/http/handler.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::http {

/// The place of a span in a trace (W3C Trace Context).
struct trace_context {
    std::array<std::uint8_t, 16> trace{};  ///< not all zero
    std::array<std::uint8_t, 8> span{};    ///< not all zero
    bool sampled = false;
    /// The tracestate field, passed on as it came; empty where it was malformed.
    std::string state = {};

    /// Reads a traceparent field strictly (section 3.2.2): nothing unless every byte is as the
    /// recommendation wants it, versions beyond 00 as it says (section 4.3). Of such a value only
    /// the parts of version 00 are read.
    static std::optional<trace_context> parse(std::string_view text);
    /// Reads the fields of a request: nothing without a traceparent, with several, or with a
    /// malformed one. A malformed tracestate is left out.
    static std::optional<trace_context> in(const fields& all);
    /// The value of traceparent: "00-...-...-01".
    std::string text() const;
};

enum class span_kind : std::uint8_t { server = 2, client = 3 };  // numbers of OTLP

/// A span that has ended.
struct finished_span {
    trace_context context;
    std::array<std::uint8_t, 8> parent{};  ///< all zero: none
    std::string name;                      ///< "GET /users/{id}"
    span_kind kind = span_kind::server;
    std::int64_t began = 0;  ///< nanoseconds since 1970
    std::int64_t ended = 0;
    bool failed = false;
    std::vector<std::pair<std::string, std::string>> attributes;
    int status = 0;  ///< of the response; 0: there was none
};

/// The destination of spans.
class span_exporter {
public:
    virtual ~span_exporter() = default;
    /// Takes a span; must not wait, and not throw. Called from all loops.
    virtual void add(finished_span&& span) noexcept = 0;
};

struct tracing_options {
    /// Null: spans are only passed on, by traceparent.
    std::shared_ptr<span_exporter> exporter = {};
    /// The share of traces begun here that is exported, 0 to 1. Default 1.
    double sample = 1;
    /// Goes on with the trace that a request names; else each request begins one. Default: yes.
    /// Turn it off where strangers could fill your collector.
    bool trust = true;
};

/// The span of a request that is being handled.
class trace_span {
public:
    /// Null where no `tracing` stands around the handler.
    static trace_span* of(request& req) noexcept;

    const trace_context& context() const noexcept { return context_; }
    /// Adds an attribute, of at most 32; later ones are dropped. A value is cut to 1,024 bytes.
    void set(std::string_view name, std::string_view value);

private:
    friend class tracing;
    friend class active_trace_span;
    trace_context context_;
    std::vector<std::pair<std::string, std::string>> attributes_;
};

/// Traces requests, and the calls that handlers make:
///
///     http::tracing trace({.exporter = std::make_shared<http::otlp_exporter>(client, url)});
///     routes.use(trace.requests());
///     calls.use(trace.calls());   // an http::client
///
/// A span of a request is named after its method and route, and ends when the handler has given its
/// response, or is cancelled. A call made by the handler, or by tasks that it waits for, gets a
/// span below it and the fields traceparent and tracestate; one that is made elsewhere gets
/// neither. A copy refers to the same options. Thread-safe.
class tracing {
public:
    explicit tracing(tracing_options options = {});

    /// Middleware of a server.
    class request_tracer {
    public:
        task<response> operator()(request& req, const handler& next) const;

    private:
        friend class tracing;
        explicit request_tracer(std::shared_ptr<const tracing_options> o) noexcept
            : options_(std::move(o)) {}
        std::shared_ptr<const tracing_options> options_;
    };
    /// An interceptor of a client. Redirects and retries belong to the one span.
    class call_tracer {
    public:
        task<response> operator()(request& req, const handler& next) const;

    private:
        friend class tracing;
        explicit call_tracer(std::shared_ptr<const tracing_options> o) noexcept
            : options_(std::move(o)) {}
        std::shared_ptr<const tracing_options> options_;
    };

    request_tracer requests() const noexcept { return request_tracer(options_); }
    call_tracer calls() const noexcept { return call_tracer(options_); }

private:
    std::shared_ptr<const tracing_options> options_;
};

}  // namespace coracle::http
