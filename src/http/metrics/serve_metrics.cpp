#include <coracle/http/metrics.hpp>

namespace coracle::http {

handler serve_metrics(const metrics::registry& of) {
    return [&of](request& req) {
        // Scrapers list formats in order of preference; OpenMetrics is first, or missing.
        const bool open =
            req.header("Accept").find("application/openmetrics-text") != std::string_view::npos;
        const auto format =
            open ? metrics::exposition::openmetrics : metrics::exposition::prometheus;
        response r(of.text(format));
        r.set("Content-Type", metrics::media_type(format));
        r.set("Cache-Control", "no-store");
        return r;
    };
}

}  // namespace coracle::http
