#pragma once

#include <coracle/http/fields.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http::detail {

/// What a server sends of challenges: what is beyond is not looked at.
struct challenge_limits {
    std::size_t bytes = 16 * 1024;  ///< of all lines of an answer together
    std::size_t challenges = 16;
    std::size_t parameters = 32;  ///< of one challenge
};

/// One way to authenticate that a server offers (RFC 9110 section 11.3).
struct challenge {
    struct parameter {
        std::string name;   ///< lower case
        std::string value;  ///< without quotes and escapes
    };

    std::string scheme;   ///< lower case
    std::string token68;  ///< in place of parameters
    std::vector<parameter> parameters;

    /// The value of the first of that name, in lower case; null when there is none.
    const std::string* find(std::string_view name) const noexcept;
};

/// Appends the challenges of one line of WWW-Authenticate or Proxy-Authenticate. Where it is
/// malformed or too long it ends there: what stood complete before counts.
void read_challenges(std::string_view line, std::vector<challenge>& out,
                     const challenge_limits& limits = {});

/// Those of all lines of that name.
std::vector<challenge> challenges_in(const fields& answer, std::string_view name,
                                     const challenge_limits& limits = {});

/// The value of the parameter `name` in a line of parameters alone, as in Authentication-Info (RFC
/// 7615); empty when there is none.
std::string info_parameter(std::string_view line, std::string_view name);

}  // namespace coracle::http::detail
