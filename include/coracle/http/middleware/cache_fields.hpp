#pragma once

#include <coracle/http/handler.hpp>

#include <memory>
#include <string>
#include <vector>

namespace coracle::http {

/// The fields of some responses. A rule applies where all of it matches.
struct cache_field_rule {
    /// The media type, "text/css" or "image/*"; empty: any.
    std::string type = {};
    /// The beginning of the path, "/assets/"; empty: any.
    std::string path = {};
    /// The value of Cache-Control: "public, max-age=31536000, immutable". Empty: the field is not
    /// sent.
    std::string cache_control = {};
    /// Names for Vary, beside those that are there: "Accept-Language".
    std::string vary = {};
};

struct cache_field_options {
    /// For responses of success (2xx), and 304, to GET and HEAD: the first rule that matches.
    std::vector<cache_field_rule> rules = {};
    /// Cache-Control of those that no rule matches. Default "no-cache": they are asked for each
    /// time, and may be validated.
    std::string otherwise = "no-cache";
    /// Cache-Control of all other responses: errors, redirects, and those to other methods. Default
    /// "no-store"; empty: the field is not sent.
    std::string uncached = "no-store";
};

/// Middleware that says how long responses may be kept (RFC 9111), by their status, type and path,
/// where the handler set no Cache-Control. A 304 need not have a type: where a rule by type comes
/// before one that matches, it says nothing, and what the 200 said holds on. Throws `exception`
/// (invalid_argument) naming a value that cannot be sent.
class cache_fields {
public:
    explicit cache_fields(cache_field_options options = {});
    handler operator()(handler inner) const;

    class settings;

private:
    std::shared_ptr<const settings> settings_;
};

}  // namespace coracle::http
