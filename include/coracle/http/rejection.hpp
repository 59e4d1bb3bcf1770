#pragma once

#include <coracle/http/status.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle {
class error;
}

namespace coracle::http {

class request;
class response;

/// One thing that is wrong with a body.
struct fault {
    std::string pointer;  ///< where, as a JSON pointer (RFC 6901): "/items/0/count"
    std::string detail;   ///< what: "must be at least 1"
};

/// The faults that a `validate` function found, all at once.
class faults {
public:
    /// Notes `detail` about the member at `pointer` ("count" stands for "/count") unless `holds`.
    void require(bool holds, std::string_view pointer, std::string_view detail);
    bool empty() const noexcept { return all_.empty(); }
    std::vector<fault> take() noexcept { return std::move(all_); }

private:
    std::vector<fault> all_;
};

/// The reason why a request is not handed to its handler. It becomes the response:
/// application/problem+json (RFC 9457) for a client that accepts JSON and where the router wants
/// that (`router::problem_details`), else text.
struct rejection {
    http::status status = http::status::bad_request;
    /// A sentence for the client: "query parameter 'page' is missing".
    std::string detail;
    std::vector<fault> found = {};
};

/// Makes the response to the sender of `req`.
response to_response(const rejection& why, const request& req);

/// Returns true if the client names JSON or problem+json among what it accepts (RFC 9110 section
/// 12.5.1); "*/*" does not.
bool accepts_json(const request& req) noexcept;

/// The rejection that a failure to read the body stands for: 413 for one beyond its limit, 408 for
/// one that stalls, and so on. Throws it as an `exception` when it is no fault of the request.
rejection body_rejection(const error& e);

}  // namespace coracle::http
