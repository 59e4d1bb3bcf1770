#pragma once

#include <coracle/http/fields.hpp>

#include <cstdint>

namespace coracle::http::detail {

/// Which part of a representation to send.
struct byte_range {
    enum class result : std::uint8_t { whole, part, unsatisfiable };
    result what = result::whole;
    std::uint64_t first = 0;
    std::uint64_t size = 0;
};

/// What the Range field asks of a representation of `size` bytes (RFC 9110 section 14.2).
/// Everything but one well-formed byte range is ignored, which the section allows: another unit,
/// several ranges, a repeated field, any range of an empty representation.
byte_range requested_range(const fields& all, std::uint64_t size) noexcept;

}  // namespace coracle::http::detail
