#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace coracle::testing::detail {

/// The text with the letters of ASCII in upper case.
std::string upper(std::string_view text);

/// A parameter of MAIL or RCPT (RFC 5321 section 4.1.2), and whether its extension was offered.
struct known_parameter {
    std::string_view name;  ///< in upper case
    bool is_offered = false;
};

/// The parameters of a MAIL or RCPT.
struct sink_parameters {
    /// The reply that refuses them (RFC 5321 section 4.1.1.11); empty: they are good.
    std::string refusal = {};
    std::string body = {};  ///< of BODY, in upper case
    bool utf8 = false;
    std::uint64_t size = 0;  ///< that SIZE says; the largest number where it is larger than that
};

sink_parameters read_parameters(std::string_view text,
                                std::initializer_list<known_parameter> known);

}  // namespace coracle::testing::detail
