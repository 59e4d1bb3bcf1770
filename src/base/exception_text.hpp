#pragma once

#include <exception>
#include <string>
#include <vector>

namespace coracle::detail {

/// Returns the type of an exception and, for a `std::exception`, its text: "std::runtime_error: no
/// boat". Must not be null.
std::string describe_exception(const std::exception_ptr& e);

/// One exception of a chain.
struct exception_link {
    std::string type;
    std::string text;  ///< empty for one that is no `std::exception`
};
/// Returns an exception and those nested in it (std::nested_exception), the outermost first, at
/// most 32. Must not be null.
std::vector<exception_link> exception_chain(std::exception_ptr e);

}  // namespace coracle::detail
