#pragma once

#include <string_view>

namespace coracle::http::detail {

/// The name of the secret of `csrf` among the values of a session. It is forgotten when somebody
/// logs in: who could read it before, in a session that was planted, makes no tokens behind that.
inline constexpr std::string_view csrf_secret = "coracle.csrf";

}  // namespace coracle::http::detail
