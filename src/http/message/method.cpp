#include "base/equals.hpp"

#include <coracle/http/method.hpp>

namespace coracle::http {

method parse_method(std::string_view text) noexcept {
    using coracle::detail::equals;
    switch (text.size()) {
        case 3:
            return equals(text, "GET")   ? method::get
                   : equals(text, "PUT") ? method::put
                                         : method::other;
        case 4:
            return equals(text, "HEAD")   ? method::head
                   : equals(text, "POST") ? method::post
                                          : method::other;
        case 5:
            return equals(text, "PATCH")   ? method::patch
                   : equals(text, "TRACE") ? method::trace
                                           : method::other;
        case 6: return equals(text, "DELETE") ? method::delete_ : method::other;
        case 7:
            return equals(text, "OPTIONS")   ? method::options
                   : equals(text, "CONNECT") ? method::connect
                                             : method::other;
        default: return method::other;
    }
}

std::string_view to_string(method value) noexcept {
    switch (value) {
        case method::other: return {};
        case method::get: return "GET";
        case method::head: return "HEAD";
        case method::post: return "POST";
        case method::put: return "PUT";
        case method::delete_: return "DELETE";
        case method::connect: return "CONNECT";
        case method::options: return "OPTIONS";
        case method::trace: return "TRACE";
        case method::patch: return "PATCH";
    }
    return {};
}

}  // namespace coracle::http
