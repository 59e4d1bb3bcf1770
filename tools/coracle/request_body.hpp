#pragma once

#include "get_command.hpp"

#include <coracle/http/call.hpp>

#include <string>
#include <string_view>

namespace coracle::tool {

/// The method, the fields and the body of a request, as options name them.
class request_body {
public:
    /// `settings` must stay.
    explicit request_body(const get_settings& settings) noexcept : settings_(settings) {}

    std::string_view method() const noexcept;
    /// Throws `failure` when a file of the body cannot be read, or a part or field makes no sense.
    void give_to(http::call& c) const;

private:
    const get_settings& settings_;
};

}  // namespace coracle::tool
