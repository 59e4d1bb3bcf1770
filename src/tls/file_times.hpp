#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace coracle::tls::detail {

/// Returns, for each source that is the path of a file, when it was changed, which file it is,
/// and its size; zeros for the others. Where the result differs from an earlier one, a file has
/// been changed.
std::vector<std::int64_t> file_times(std::span<const std::string_view> sources);

}  // namespace coracle::tls::detail
