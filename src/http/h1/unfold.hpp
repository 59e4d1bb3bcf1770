#pragma once

#include <cstddef>

namespace coracle::http::h1 {

/// Replaces line breaks that fold the value of a field (obs-fold), with the blanks around them, by
/// spaces, as a user agent must (RFC 9112 section 5.2), in the head that the `size` bytes begin
/// with, as far as it is there. Leaves a fold before the first field, which means nothing, for the
/// parser to refuse. Returns true when there was one.
bool unfold(char* bytes, std::size_t size) noexcept;

}  // namespace coracle::http::h1
