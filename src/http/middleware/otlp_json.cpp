#include "http/middleware/otlp_json.hpp"

#include "base/json_text.hpp"

#include <coracle/base/version.hpp>

#include <algorithm>

namespace coracle::http::detail {
namespace {

using coracle::detail::append_json_text;

void append_id(std::string& out, std::string_view name, std::span<const std::uint8_t> bytes) {
    out.append("\"").append(name).append("\":\"");
    for (const std::uint8_t b : bytes) {
        out += "0123456789abcdef"[b >> 4];
        out += "0123456789abcdef"[b & 15];
    }
    out += "\",";
}

void append_text(std::string& out, std::string_view name, std::string_view value) {
    out.append("\"").append(name).append("\":");
    append_json_text(out, value);
    out += ',';
}

void append_attribute(std::string& out, std::string_view key, std::string_view value) {
    out += "{\"key\":";
    append_json_text(out, key);
    out += ",\"value\":{\"stringValue\":";
    append_json_text(out, value);
    out += "}},";
}

void drop_comma(std::string& out) {
    if (out.back() == ',') out.pop_back();
}

void append_span(std::string& out, const finished_span& s) {
    out += '{';
    append_id(out, "traceId", s.context.trace);
    append_id(out, "spanId", s.context.span);
    const bool has_parent = std::ranges::any_of(s.parent, [](std::uint8_t b) { return b != 0; });
    if (has_parent) append_id(out, "parentSpanId", s.parent);
    if (!s.context.state.empty()) append_text(out, "traceState", s.context.state);
    append_text(out, "name", s.name);
    out += "\"kind\":" + std::to_string(static_cast<int>(s.kind)) + ',';
    append_text(out, "startTimeUnixNano", std::to_string(s.began));
    append_text(out, "endTimeUnixNano", std::to_string(s.ended));
    out += "\"attributes\":[";
    for (const auto& [key, value] : s.attributes) append_attribute(out, key, value);
    if (s.status != 0) {
        out += "{\"key\":\"http.response.status_code\",\"value\":{\"intValue\":\"" +
               std::to_string(s.status) + "\"}}";
    }
    drop_comma(out);
    out += "],\"status\":{";
    if (s.failed) out += "\"code\":2";
    out += "}},";
}

}  // namespace

std::string otlp_json(std::string_view service, std::span<const finished_span> spans) {
    std::string out = "{\"resourceSpans\":[{\"resource\":{\"attributes\":[";
    append_attribute(out, "service.name", service);
    append_attribute(out, "telemetry.sdk.name", "coracle");
    append_attribute(out, "telemetry.sdk.language", "cpp");
    append_attribute(out, "telemetry.sdk.version", coracle::version());
    drop_comma(out);
    out += "]},\"scopeSpans\":[{\"scope\":{\"name\":\"coracle\"},\"spans\":[";
    for (const finished_span& s : spans) append_span(out, s);
    drop_comma(out);
    out += "]}]}]}";
    return out;
}

}  // namespace coracle::http::detail
