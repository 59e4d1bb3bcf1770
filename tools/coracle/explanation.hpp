#pragma once

#include <coracle/base/error.hpp>

#include <string>

namespace coracle::tool {

/// Returns one line about a failed request: the phase, the reason, and the option of `coracle get`
/// that changes it, if any. Contains no secret.
std::string explain(const error& e);

/// Returns the exit code of `coracle get` for a request that failed: that of curl.
int exit_code_of(const error& e) noexcept;

}  // namespace coracle::tool
