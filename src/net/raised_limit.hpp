#pragma once

#include <cstdint>

namespace coracle::net::detail {

/// Returns the soft limit of descriptors before `raise_descriptor_limit` changed it; 0: it has not.
/// From any thread.
std::uint64_t limit_before_it_was_raised() noexcept;

}  // namespace coracle::net::detail
