#pragma once

#include <cstdint>
#include <string_view>

namespace coracle::http {

/// A request method (RFC 9110 section 9). `other` stands for every method that has no name here;
/// the message keeps the text of such a method.
enum class method : std::uint8_t {
    other = 0,
    get,
    head,
    post,
    put,
    delete_,
    connect,
    options,
    trace,
    patch,
};

/// The method spelled `text`. Methods are case-sensitive (RFC 9110 section 9.1): "get" is `other`.
[[nodiscard]] method parse_method(std::string_view text) noexcept;

/// "GET" for `method::get` and so on; empty for `other`. The text lives forever.
[[nodiscard]] std::string_view to_string(method value) noexcept;

}  // namespace coracle::http
