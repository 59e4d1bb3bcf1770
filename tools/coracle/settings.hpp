#pragma once

#include <coracle/base/log.hpp>

#include <stdexcept>

namespace coracle::tool {

/// A sentence for the user, printed behind "coracle: "; the program ends with 1, `get` with 2.
class failure : public std::runtime_error {
public:
    using runtime_error::runtime_error;
};

/// The same of a file that is to be sent: `get` ends with 26.
class unreadable : public failure {
public:
    using failure::failure;
};

/// Levels and sink of `log` from the environment variable CORACLE_LOG; without it, warnings and
/// errors are shown. Throws `failure` when it cannot be read.
void configure_log(logger& log);

}  // namespace coracle::tool
