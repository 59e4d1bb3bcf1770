#pragma once

#include <coracle/http/fields.hpp>
#include <coracle/http/method.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace coracle::http::detail {

/// The validators of a representation, which preconditions are compared with. Times are seconds
/// since 1970, UTC.
struct validators {
    std::string_view tag;
    /// Without it the dates of a request mean nothing (RFC 9110 sections 13.1.3 and 13.1.4).
    std::optional<std::int64_t> last_modified;
    /// The time of the response, where it is known.
    std::optional<std::int64_t> now;
};

enum class precondition : std::uint8_t { holds, not_modified, failed };

/// The validators that a response names, for `check_preconditions`. The tag is a view of its
/// fields.
validators validators_of(const fields& response) noexcept;

/// Evaluates the preconditions of a request in the order of RFC 9110 section 13.2.2, but for
/// If-Range. `not_modified` is for GET and HEAD alone.
precondition check_preconditions(method how, const fields& all, const validators& current) noexcept;

/// Returns true if If-Range lets a range apply (RFC 9110 section 13.1.5), or if there is none.
bool if_range_holds(const fields& all, const validators& current) noexcept;

}  // namespace coracle::http::detail
