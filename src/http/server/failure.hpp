#pragma once

#include <coracle/http/response.hpp>

#include <exception>
#include <string>

namespace coracle::http::detail {

/// What an exception that left a handler turns into.
struct failure {
    response answer;
    /// For the log; empty when the handler meant it (`status_error`).
    std::string reason;
};

failure answer_to(std::exception_ptr e);

}  // namespace coracle::http::detail
