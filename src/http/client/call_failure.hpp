#pragma once

#include <coracle/base/error.hpp>
#include <coracle/http/answer_info.hpp>

#include <utility>

namespace coracle::http::detail {

/// What a client knew of a call when it failed.
class call_failure final : public error_details {
public:
    explicit call_failure(answer_info i) noexcept : info(std::move(i)) {}
    void describe(std::string& line) const override;

    const answer_info info;
};

}  // namespace coracle::http::detail
