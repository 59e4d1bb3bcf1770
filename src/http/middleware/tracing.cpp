#include "base/utf8.hpp"
#include "http/masking.hpp"
#include "http/middleware/active_span.hpp"

#include <coracle/base/url.hpp>
#include <coracle/http/forwarded.hpp>
#include <coracle/http/middleware/trace_context.hpp>

#include <algorithm>
#include <cmath>

namespace coracle::http {
namespace {

constexpr std::size_t most_attributes = 32;
constexpr std::size_t longest_value = 1024;  // a path is a client's, and spans wait

template <std::size_t N>
void fill_randomly(std::array<std::uint8_t, N>& out) noexcept {
    do {
        for (std::size_t i = 0; i != N; i += 8) {
            std::uint64_t bits = loop::current()->random();
            for (std::size_t k = i; k != i + 8; ++k, bits >>= 8) {
                out[k] = static_cast<std::uint8_t>(bits);
            }
        }
    } while (std::ranges::all_of(out, [](std::uint8_t b) { return b == 0; }));
}

bool chance(double share) noexcept {
    const double drawn = std::ldexp(static_cast<double>(loop::current()->random() >> 11), -53);
    return drawn < share;
}

std::string without_query(std::string_view target) {
    return std::string(target.substr(0, target.find('?')));
}

}  // namespace

/// A span from its beginning to its end, which it hands to the exporter when it is destroyed: also
/// where the handler is cancelled.
class active_trace_span {
public:
    active_trace_span(const tracing_options& o, span_kind kind)
        : exporter_(o.exporter.get()), kind_(kind), wall_(loop::current()->backend().wall_clock()),
          began_(loop::current()->backend().now()) {}
    active_trace_span(const active_trace_span&) = delete;
    active_trace_span& operator=(const active_trace_span&) = delete;
    ~active_trace_span() {
        if (exporter_ != nullptr && span.context_.sampled) finish();
    }

    void begin_root(double share) noexcept {
        fill_randomly(span.context_.trace);
        fill_randomly(span.context_.span);
        span.context_.sampled = chance(share);
    }
    void begin_below(const trace_context& parent) {
        span.context_ = parent;
        parent_ = parent.span;
        fill_randomly(span.context_.span);
    }
    bool is_exported() const noexcept { return exporter_ != nullptr && span.context_.sampled; }
    void set(std::string_view key, std::string_view value) {
        if (!value.empty()) span.set(key, value);
    }
    void ended_with(int status) noexcept {
        status_ = status;
        failed_ = status >= (kind_ == span_kind::server ? 500 : 400);
    }

    trace_span span;
    std::string name;

private:
    void finish() noexcept try {
        finished_span out;
        out.ended = wall_ + (loop::current()->backend().now() - began_).count();
        out.context = std::move(span.context_);
        out.parent = parent_;
        out.name = std::move(name);
        out.kind = kind_;
        out.began = wall_;
        out.failed = failed_;
        out.attributes = std::move(span.attributes_);
        out.status = status_;
        exporter_->add(std::move(out));
    } catch (...) {
        exporter_ = nullptr;  // no memory for it: it is lost
    }

    span_exporter* exporter_;
    span_kind kind_;
    std::int64_t wall_;
    time_point began_;
    std::array<std::uint8_t, 8> parent_{};
    int status_ = 0;
    bool failed_ = true;
};

namespace {

/// A pointer to it, in the data of a request.
struct span_of_request {
    trace_span* span;
};

/// A client may make up methods: no name of a span is made of one.
void describe_method(active_trace_span& to, const request& req) {
    const bool is_known = req.method() != method::other;
    to.name = is_known ? req.method_text() : "HTTP";
    to.set("http.request.method", is_known ? req.method_text() : "_OTHER");
    if (!is_known) to.set("http.request.method_original", req.method_text());
}

void describe(active_trace_span& to, const request& req) {
    if (!to.is_exported()) return;
    describe_method(to, req);
    to.set("url.path", without_query(req.target()));
    to.set("url.scheme", client_scheme(req));
    to.set("client.address", req.client().host());
}

void describe_call(active_trace_span& to, const request& req) {
    if (!to.is_exported()) return;
    describe_method(to, req);
    const auto where = url::parse(req.target());
    if (where) to.set("server.address", where->host());
    to.set("url.full", detail::masked_url(req.target()));
}

/// The span as that of the request, as long as this lives; then that of a tracer around it again.
class attached_span {
public:
    attached_span(request& req, trace_span& span) : held_(&place_in(req)), around_(held_->span) {
        held_->span = &span;
    }
    attached_span(const attached_span&) = delete;
    attached_span& operator=(const attached_span&) = delete;
    ~attached_span() { held_->span = around_; }

private:
    static span_of_request& place_in(request& req) {
        auto* const there = req.data<span_of_request>();
        return there != nullptr ? *there : req.set_data(span_of_request{nullptr});
    }

    span_of_request* held_;
    trace_span* around_;
};

}  // namespace

trace_span* trace_span::of(request& req) noexcept {
    const auto* const held = req.data<span_of_request>();
    return held == nullptr ? nullptr : held->span;
}

void trace_span::set(std::string_view name, std::string_view value) {
    if (attributes_.size() == most_attributes) return;
    attributes_.emplace_back(name, coracle::detail::utf8_prefix(value, longest_value));
}

tracing::tracing(tracing_options options)
    : options_(std::make_shared<const tracing_options>(std::move(options))) {}

task<response> tracing::request_tracer::operator()(request& req, const handler& next) const {
    active_trace_span active(*options_, span_kind::server);
    const auto given = options_->trust ? trace_context::in(req.fields()) : std::nullopt;
    if (given) {
        active.begin_below(*given);
    } else {
        active.begin_root(options_->sample);
    }
    describe(active, req);
    const attached_span attached(req, active.span);
    const auto* const frame = co_await detail::own_frame();
    const detail::announced_span announced(frame, active.span);
    auto handling = next(req);
    response out = co_await std::move(handling);
    if (active.is_exported() && !req.route().empty()) {
        active.name.append(" ").append(req.route());
        active.set("http.route", req.route());
    }
    active.ended_with(static_cast<int>(out.status()));
    co_return out;
}

task<response> tracing::call_tracer::operator()(request& req, const handler& next) const {
    const auto* const frame = co_await detail::own_frame();
    trace_span* const around = detail::spans_here::of_this_loop().around(frame);
    if (around == nullptr) {
        auto plain = next(req);
        co_return co_await std::move(plain);
    }
    active_trace_span active(*options_, span_kind::client);
    active.begin_below(around->context());
    describe_call(active, req);
    req.fields().set("traceparent", active.span.context().text());
    // One that a request was passed on with belongs to another traceparent.
    req.fields().remove("tracestate");
    if (!active.span.context().state.empty()) {
        req.fields().set("tracestate", active.span.context().state);
    }
    auto calling = next(req);
    response out = co_await std::move(calling);
    active.ended_with(static_cast<int>(out.status()));
    co_return out;
}

}  // namespace coracle::http
