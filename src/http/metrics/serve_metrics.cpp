#include "base/ascii.hpp"
#include "http/message/weight.hpp"

#include <coracle/http/metrics.hpp>
#include <coracle/mime/media_type.hpp>

#include <algorithm>

namespace coracle::http {
namespace {

/// Returns the weight that an Accept field gives a media type it names, in thousandths; 0 where it
/// does not name it (RFC 9110 section 12.5.1).
int weight_of(std::string_view type, std::string_view accept) {
    int most = 0;
    while (!accept.empty()) {
        const auto member = mime::parse_media_type(coracle::detail::take_item(accept));
        if (!member || member->essence != type) continue;
        most = std::max(most, detail::read_weight(member->get("q").value_or("1")).value_or(0));
    }
    return most;
}

}  // namespace

handler serve_metrics(const metrics::registry& of) {
    return [&of](request& req) {
        const std::string_view accept = req.header("Accept");
        const int wanted = weight_of("application/openmetrics-text", accept);
        const bool open = wanted != 0 && wanted >= weight_of("text/plain", accept);
        const auto format =
            open ? metrics::exposition::openmetrics : metrics::exposition::prometheus;
        response r(of.text(format));
        r.set("Content-Type", metrics::media_type(format));
        r.set("Cache-Control", "no-store");
        return r;
    };
}

}  // namespace coracle::http
