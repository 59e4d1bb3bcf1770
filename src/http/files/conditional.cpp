#include "http/files/conditional.hpp"

#include "http/files/entity_tag.hpp"
#include "http/message/date.hpp"
#include "http/message/token.hpp"

namespace coracle::http::detail {
namespace {

// Returns the date of a field; nothing if it is missing, repeated or malformed, and so ignored (RFC
// 9110 sections 13.1.3 and 13.1.4).
std::optional<std::int64_t> date_of(const fields& all, field_id id) noexcept {
    const field* only = nullptr;
    for (const field& f : all) {
        if (f.id != id) continue;
        if (only != nullptr) return std::nullopt;
        only = &f;
    }
    if (only == nullptr) return std::nullopt;
    return parse_http_date(trim_ows(only->value));
}

}  // namespace

precondition check_preconditions(method how, const fields& all,
                                 const validators& current) noexcept {
    const bool reads = how == method::get || how == method::head;
    if (all.contains(field_id::if_match)) {
        if (!any_tag_matches(all, field_id::if_match, current.tag, tag_comparison::strong)) {
            return precondition::failed;
        }
    } else if (const auto since = date_of(all, field_id::if_unmodified_since);
               since && current.last_modified && *current.last_modified > *since) {
        return precondition::failed;
    }
    if (all.contains(field_id::if_none_match)) {
        if (!any_tag_matches(all, field_id::if_none_match, current.tag, tag_comparison::weak)) {
            return precondition::holds;
        }
        return reads ? precondition::not_modified : precondition::failed;
    }
    if (!reads) return precondition::holds;
    if (const auto since = date_of(all, field_id::if_modified_since);
        since && current.last_modified && *current.last_modified <= *since) {
        return precondition::not_modified;
    }
    return precondition::holds;
}

validators validators_of(const fields& response) noexcept {
    validators of;
    const std::string_view tag = response.get(field_id::etag);
    if (tag.starts_with('"') || tag.starts_with("W/\"")) of.tag = tag;
    of.last_modified = parse_http_date(response.get(field_id::last_modified));
    return of;
}

bool if_range_holds(const fields& all, const validators& current) noexcept {
    if (!all.contains(field_id::if_range)) return true;
    const std::string_view value = trim_ows(all.get(field_id::if_range));
    if (value.starts_with('"')) return value == current.tag;
    // A date is a strong validator only where a second change within its second would have been
    // noticed (RFC 9110 section 8.8.2.2).
    const auto date = date_of(all, field_id::if_range);
    return date && current.last_modified && *date == *current.last_modified && current.now &&
           *current.now > *current.last_modified;
}

}  // namespace coracle::http::detail
