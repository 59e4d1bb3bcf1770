#pragma once

#include <coracle/http/request.hpp>
#include <coracle/http/response.hpp>

#include <string_view>

namespace coracle::http::detail {

/// The Strict-Transport-Security of the response to a request, wherever that is made: the response
/// for an exception is made outside of any middleware. In the data of the request.
struct transport_security {
    static constexpr const char* field_name = "Strict-Transport-Security";

    std::string_view value;  ///< lives as long as the handler
};

/// Adds the field to a response that is made for an exception.
inline void add_transport_security(const request& req, response& out) {
    const auto* const wanted = req.data<transport_security>();
    if (wanted != nullptr) out.set(transport_security::field_name, wanted->value);
}

}  // namespace coracle::http::detail
