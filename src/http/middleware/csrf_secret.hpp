#pragma once

#include <string_view>

namespace coracle::http::detail {

/// The name of the secret of `csrf` among the values of a session. It is forgotten when a user logs
/// in: an attacker who planted the session, and has read it there, makes no tokens behind that.
inline constexpr std::string_view csrf_secret = "coracle.csrf";

}  // namespace coracle::http::detail
