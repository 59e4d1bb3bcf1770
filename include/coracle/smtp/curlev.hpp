#pragma once

#include <coracle/base/error.hpp>
#include <coracle/smtp/client_options.hpp>

// For programs that come from curlev, and know the numbers of its get_code().
namespace coracle::smtp {

/// The number that curlev's get_code() gives for this failure of a mail client: one of libcurl's, 1
/// to 99, or one of curlev's own, below 0. docs/from-curlev.md has the table. 0 for no error. Safe
/// from any thread.
int curlev_code(const error& e) noexcept;

/// The options that curlev begins with, where ours differ: 30 s for the whole.
client_options curlev_defaults();

}  // namespace coracle::smtp
