#pragma once

#include "http/message/token.hpp"

#include <coracle/http/fields.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace coracle::http::detail {

/// Digests of a content or a representation, which are of the bytes as they are sent, a coding
/// included (RFC 9530 sections 2 and 3).
inline constexpr std::array<std::string_view, 3> digest_fields = {"Content-Digest", "Repr-Digest",
                                                                  "Digest"};

inline bool is_digest_field(std::string_view name) noexcept {
    return std::ranges::any_of(
        digest_fields, [name](std::string_view one) { return equal_ignoring_case(name, one); });
}

/// Removes what is said of the bytes of a content that is decoded.
inline void drop_coding_fields(fields& all) noexcept {
    all.remove("Content-Encoding");
    all.remove("Content-Length");
    for (const std::string_view name : digest_fields) all.remove(name);
}

}  // namespace coracle::http::detail
