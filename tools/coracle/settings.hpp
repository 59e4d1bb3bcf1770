#pragma once

#include <coracle/base/log.hpp>

#include <stdexcept>

namespace coracle::tool {

/// A sentence for the user, printed after "coracle: "; the program ends with 1, `get` with 2.
class failure : public std::runtime_error {
public:
    using runtime_error::runtime_error;
};

/// An option whose value means nothing, or that lacks another: wrong usage.
class wrong_usage : public failure {
public:
    using failure::failure;
};

/// A failure to read a file that is to be sent: `get` ends with 26.
class unreadable : public failure {
public:
    using failure::failure;
};

/// A failure to write an output, in words of ours: `get` and `bench` end with 23.
class unwritable : public failure {
public:
    using failure::failure;
};

/// A malformed URL: `get` ends with 3.
class malformed_url : public failure {
public:
    using failure::failure;
};

/// Sets the levels of `log` from the environment variable CORACLE_LOG; without it they stay. Throws
/// `wrong_usage` where it, or one of CORACLE_BACKEND and CORACLE_STALL_LIMIT, cannot be read.
void obey_environment(logger& log);

}  // namespace coracle::tool
