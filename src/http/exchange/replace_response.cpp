#include "http/exchange/replace_response.hpp"

#include "http/exchange/content_fields.hpp"
#include "http/message/token.hpp"

#include <string_view>
#include <utility>

namespace coracle::http::detail {
namespace {

bool begins_with(std::string_view name, std::string_view start) noexcept {
    return equal_ignoring_case(name.substr(0, start.size()), start);
}

bool is_of_this_response(const field& f) noexcept {
    if (begins_with(f.name, "sec-websocket-")) return true;
    if (is_content_field(f.name)) return true;
    switch (f.id) {
        case field_id::etag:
        case field_id::last_modified:
        case field_id::expires:
        case field_id::cache_control:
        case field_id::accept_ranges:
        case field_id::trailer:
        case field_id::upgrade: return true;
        default: return false;
    }
}

}  // namespace

void replace_response(response& of, response by) {
    fields kept;
    for (const field& f : of.fields()) {
        if (!is_of_this_response(f) && !by.fields().contains(f.name)) kept.add(f);
    }
    for (const field& f : kept) by.fields().add(f);
    of = std::move(by);
}

}  // namespace coracle::http::detail
