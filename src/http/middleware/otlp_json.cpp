#include "http/middleware/otlp_json.hpp"

#include "base/json_text.hpp"

#include <coracle/base/version.hpp>

#include <algorithm>
#include <charconv>

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

std::size_t rejected_spans(std::string_view response) noexcept {
    // A text in the response that holds the name has backslashes before its quotes.
    constexpr std::string_view name = "\"rejectedSpans\"";
    std::size_t at = response.find(name);
    if (at == std::string_view::npos) return 0;
    // The number is a string, as those of 64 bits are in protobuf's JSON; some write it plainly.
    at = response.find_first_not_of(" \t\r\n:\"", at + name.size());
    if (at == std::string_view::npos) return 0;
    std::size_t number = 0;
    std::from_chars(response.data() + at, response.data() + response.size(), number);
    return number;
}

}  // namespace coracle::http::detail
