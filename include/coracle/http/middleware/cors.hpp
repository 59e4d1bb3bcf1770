#pragma once

#include <coracle/http/handler.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace coracle::http {

struct cors_options {
    /// Origins whose pages may read responses: "https://app.example.com",
    /// "https://*.example.com" for every name below, or "*" for all. Default: none.
    std::vector<std::string> origins = {};
    /// Methods beside GET, HEAD and POST, which need no permission.
    std::vector<std::string> methods = {"PUT", "PATCH", "DELETE"};
    /// Fields that requests may have; "*": those that are asked for. Default: Content-Type and
    /// Authorization.
    std::vector<std::string> fields = {"Content-Type", "Authorization"};
    /// Fields of responses that pages may read, beside the harmless ones.
    std::vector<std::string> exposed = {};
    /// Lets requests have cookies and other credentials. Not together with the origin "*".
    bool credentials = false;
    /// How long browsers remember a permission, in whole seconds. Default two hours; 0: not at all.
    std::chrono::seconds max_age = std::chrono::hours(2);
};

/// Middleware that lets pages of other origins read responses (CORS, Fetch standard section 3.2).
/// It responds to preflight requests at every path, known or not, with 204, or with 403 where the
/// origin has no permission. All responses vary by Origin, unless every origin may read them. It
/// decides alone: the permission of a handler, of another `cors` inside or of an upstream is
/// removed.
/// Throws `exception` (invalid_argument) naming an origin, method or field that is malformed.
class cors {
public:
    explicit cors(cors_options options);
    handler operator()(handler inner) const;

    class rules;

private:
    std::shared_ptr<const rules> rules_;
};

}  // namespace coracle::http
