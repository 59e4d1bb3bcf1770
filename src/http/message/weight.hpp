#pragma once

#include <optional>
#include <string_view>

namespace coracle::http::detail {

/// Reads a weight (RFC 9110 section 12.4.2), such as "0.5", in thousandths; nothing where it is
/// malformed.
std::optional<int> read_weight(std::string_view text) noexcept;

}  // namespace coracle::http::detail
