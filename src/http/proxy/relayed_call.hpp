#pragma once

#include "http/exchange/exchange_scope.hpp"

#include <coracle/http/call.hpp>

#include <expected>

namespace coracle::http::detail {

/// Makes the call and gives its response as soon as that begins. What is left of the request is
/// sent beside the response, as a task of the exchange whose body it passes on; until then the
/// scope and that body must live.
task<std::expected<response, error>> relayed_call(call c, exchange_scope* beside);

}  // namespace coracle::http::detail
