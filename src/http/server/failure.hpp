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

/// The status that an error of reading the request itself stands for, or 500.
status status_of(const error& e) noexcept;

failure answer_to(std::exception_ptr e);

}  // namespace coracle::http::detail
