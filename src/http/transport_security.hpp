#pragma once

#include <coracle/http/request.hpp>
#include <coracle/http/response.hpp>

#include <string_view>

namespace coracle::http::detail {

/// What the answer to a request has to say of TLS, whoever makes it: that of a handler which throws
/// is made further out than any middleware stands. In the data of the request.
struct transport_security {
    static constexpr const char* field_name = "Strict-Transport-Security";

    std::string_view value;  ///< lives as long as the handler
};

/// To be called for an answer that is made of an exception.
inline void add_transport_security(const request& req, response& answer) {
    const auto* const wanted = req.data<transport_security>();
    if (wanted != nullptr) answer.set(transport_security::field_name, wanted->value);
}

}  // namespace coracle::http::detail
