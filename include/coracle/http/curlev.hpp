#pragma once

#include <coracle/base/error.hpp>
#include <coracle/http/client_options.hpp>
#include <coracle/http/status.hpp>

// For programs that come from curlev, and know the numbers of its get_code().
namespace coracle::http {

/// The number that curlev's get_code() gives for this failure: one of libcurl's, 1 to 99, or one of
/// curlev's own, below 0. docs/options.md has the table. 0 for no error. Limits of ours that
/// libcurl has no number for have that of what it would have failed with in their place. Safe from
/// any thread.
int curlev_code(const error& e) noexcept;

/// The options that curlev begins with, where ours differ: 30 s for the whole, 2,000,000 bytes for
/// any response, and retries that come 100 ms one after the other without a budget, or when a
/// Retry-After says.
client_options curlev_defaults();

/// The code of a response: its status.
constexpr int curlev_code(status s) noexcept {
    return static_cast<int>(s);
}

}  // namespace coracle::http
