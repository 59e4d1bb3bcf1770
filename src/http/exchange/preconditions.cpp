#include "http/exchange/preconditions.hpp"

#include "http/error_style.hpp"
#include "http/exchange/content_fields.hpp"
#include "http/exchange/replace_response.hpp"
#include "http/files/conditional.hpp"

namespace coracle::http::detail {

bool meets_preconditions(const request& req, response& whole) {
    switch (check_preconditions(req.method(), req.fields(), validators_of(whole.fields()))) {
        case precondition::holds: return true;
        case precondition::not_modified:
            // RFC 9110 section 15.4.5.
            whole.set_status(status::not_modified);
            drop_content_fields(whole.fields(), field_id::content_location);
            whole.set_body(body());
            return false;
        case precondition::failed:
            replace_response(whole, error_response(req, status::precondition_failed));
            return false;
    }
    return true;
}

}  // namespace coracle::http::detail
