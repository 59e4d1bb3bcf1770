#pragma once

#include <coracle/http/middleware/trace_context.hpp>

#include <span>
#include <string>
#include <string_view>

namespace coracle::http::detail {

/// Spans as an ExportTraceServiceRequest in JSON (OTLP 1.0): identifiers in hexadecimal, numbers of
/// 64 bits as strings.
std::string otlp_json(std::string_view service, std::span<const finished_span> spans);

}  // namespace coracle::http::detail
