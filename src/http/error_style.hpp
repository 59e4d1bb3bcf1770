#pragma once

#include <coracle/http/status.hpp>

#include <string>
#include <string_view>

namespace coracle::http {
class request;
class response;
}  // namespace coracle::http

namespace coracle::http::detail {

/// The style in which a router shows errors.
class error_style {
public:
    /// Returns true if an error page makes the body of responses with this status at a path.
    virtual bool has_page(http::status code, std::string_view path) const = 0;
    /// Errors become problem details (RFC 9457).
    bool problems = false;

protected:
    ~error_style() = default;
};

/// "404 Not Found" and a line feed.
std::string standard_text(http::status code);

/// Returns a response of the library itself with the sentence `text`, or the standard one, in the
/// error style of the request's router. Without a text of its own it has no body where an error
/// page makes that.
response error_response(const request& req, http::status code, std::string_view text = {});
/// Returns such a response with a body in any case, where no router is left that could make a page.
response pageless_response(const request& req, http::status code, std::string_view text = {});

/// Makes a problem detail of an error (4xx or 5xx) whose body is plain text or nothing; leaves
/// others alone.
void become_problem(response& r);

}  // namespace coracle::http::detail
