#pragma once

#include <coracle/http/handler.hpp>

#include <memory>
#include <string>

namespace coracle::http {

/// Values of fields; an empty one is not sent.
struct security_field_options {
    /// X-Content-Type-Options. Default: browsers do not guess another media type.
    std::string content_type_options = "nosniff";
    /// X-Frame-Options. Default: no page shows this one in a frame.
    std::string frame_options = "DENY";
    /// Referrer-Policy. Default: other origins learn the origin alone.
    std::string referrer_policy = "strict-origin-when-cross-origin";
    /// Content-Security-Policy. Default: all comes from this origin, no scripts in the page itself.
    std::string content_security_policy =
        "default-src 'self'; object-src 'none'; base-uri 'self'; frame-ancestors 'none'";
    /// Cross-Origin-Opener-Policy. Default: pages of other origins have no handle of the window.
    std::string opener_policy = "same-origin";
    /// Permissions-Policy. Default: no camera, microphone or location.
    std::string permissions_policy = "camera=(), microphone=(), geolocation=()";
};

/// Middleware that adds the fields by which browsers protect a page, to each response that does
/// not have them, but a 304: there they would replace those of the page that a client has.
/// (`https_only` has Strict-Transport-Security.) Throws `exception`
/// (invalid_argument) when a value cannot be that of a field.
class security_fields {
public:
    explicit security_fields(security_field_options options = {});
    handler operator()(handler inner) const;

    class rules;

private:
    std::shared_ptr<const rules> rules_;
};

}  // namespace coracle::http
