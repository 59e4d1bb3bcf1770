#pragma once

#include <coracle/http/handler.hpp>

#include <string>
#include <string_view>

namespace coracle::http {

struct request_id_options {
    /// The field of request and response. Default "X-Request-Id".
    std::string field = "X-Request-Id";
    /// Takes the name that a request comes with, where it is 1 to 128 letters, digits, "-", "_" or
    /// ".": for what stands behind a proxy that gives one. Default: no.
    bool trust = false;
};

/// Middleware that gives each request a name, 32 random hexadecimal digits, for logs and support:
/// `request_id::of(req)` in handlers, and a field of the response. A call that a handler makes can
/// hand it on. Throws `exception` (invalid_argument) when `field` cannot be the name of a field.
class request_id {
public:
    explicit request_id(request_id_options options = {});
    handler operator()(handler inner) const;

    /// The name of a request; empty where it has none. Lives as long as the request.
    static std::string_view of(const request& req) noexcept;

    class rules;

private:
    std::shared_ptr<const rules> rules_;
};

}  // namespace coracle::http
