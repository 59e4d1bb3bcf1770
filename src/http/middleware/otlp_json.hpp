#pragma once

#include <coracle/http/middleware/trace_context.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace coracle::http::detail {

/// Spans as an ExportTraceServiceRequest in JSON (OTLP 1.0): identifiers in hexadecimal, numbers of
/// 64 bits as strings.
std::string otlp_json(std::string_view service, std::span<const finished_span> spans);

/// The number that an ExportTraceServiceResponse in JSON says was rejected; 0 where it says none.
std::size_t rejected_spans(std::string_view response) noexcept;

}  // namespace coracle::http::detail
