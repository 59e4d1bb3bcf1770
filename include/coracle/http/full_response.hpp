#pragma once

#include <coracle/http/fields.hpp>
#include <coracle/http/json.hpp>
#include <coracle/http/response_info.hpp>
#include <coracle/http/status.hpp>

#include <string>
#include <string_view>

namespace coracle::http {

/// A response with all of its body: for programs without coroutines, and where that is enough. A
/// regular value type.
struct full_response {
    http::status status = http::status::ok;
    http::fields fields;
    std::string body;
    http::fields trailers;
    response_info info;

    bool ok() const noexcept {
        return static_cast<unsigned>(status) >= 200 && static_cast<unsigned>(status) < 300;
    }
    std::string_view header(std::string_view name) const noexcept { return fields.get(name); }
    const std::string& text() const noexcept { return body; }
    /// The body as JSON, by `json_codec<T>`. Throws `exception` (`std::errc::bad_message`) when it
    /// is no JSON or not of this shape.
    template <decodes_json T>
    T json(const json_limits& limits = {}) const {
        return detail::decoded_or_thrown<T>(body, limits);
    }
};

}  // namespace coracle::http
