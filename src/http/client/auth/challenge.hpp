#pragma once

#include <coracle/http/fields.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http::detail {

/// Limits of the challenges of a server; the rest is ignored.
struct challenge_limits {
    std::size_t bytes = 16 * 1024;  ///< of all lines of a response together
    std::size_t challenges = 16;
    std::size_t parameters = 32;  ///< of one challenge
};

/// An authentication scheme that a server offers, with its parameters (RFC 9110 section 11.3).
struct challenge {
    struct parameter {
        std::string name;   ///< lower case
        std::string value;  ///< without quotes and escapes
    };

    std::string scheme;   ///< lower case
    std::string token68;  ///< in place of parameters
    std::vector<parameter> parameters;

    /// Returns the value of the first parameter of this name, which is in lower case; null when
    /// there is none.
    const std::string* find(std::string_view name) const noexcept;
};

/// Appends the challenges of one line of WWW-Authenticate or Proxy-Authenticate. Stops where the
/// line is malformed or too long; complete challenges before that count.
void read_challenges(std::string_view line, std::vector<challenge>& out,
                     const challenge_limits& limits = {});

/// Returns the challenges of all lines of that name.
std::vector<challenge> challenges_in(const fields& received, std::string_view name,
                                     const challenge_limits& limits = {});

/// Returns the value of parameter `name` in a list of parameters such as Authentication-Info (RFC
/// 7615); empty when there is none.
std::string info_parameter(std::string_view line, std::string_view name);

}  // namespace coracle::http::detail
