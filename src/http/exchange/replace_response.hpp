#pragma once

#include <coracle/http/response.hpp>

namespace coracle::http::detail {

/// Puts another response in the place of one that cannot be sent. It keeps the fields that
/// middleware has added, but for those about the body, caching or a switch of protocols.
void replace_response(response& of, response by);

}  // namespace coracle::http::detail
