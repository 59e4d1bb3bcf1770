#pragma once

#include <coracle/base/error.hpp>
#include <coracle/http/response_info.hpp>

#include <utility>

namespace coracle::http::detail {

/// The details of a failed call, as part of its error.
class call_failure final : public error_details {
public:
    explicit call_failure(response_info i) noexcept : info(std::move(i)) {}
    void describe(std::string& line) const override;

    const response_info info;
};

}  // namespace coracle::http::detail
