#include "base/whole_number.hpp"
#include "http/message/date.hpp"
#include "http/message/token.hpp"

#include <coracle/http/content_range.hpp>
#include <coracle/http/response.hpp>
#include <coracle/http/response_info.hpp>

namespace coracle::http {
namespace {

using coracle::detail::whole_number;

/// "100-199".
bool read_part(std::string_view text, content_range& into) noexcept {
    const std::size_t dash = text.find('-');
    if (dash == std::string_view::npos) return false;
    into.first = whole_number<std::uint64_t>(text.substr(0, dash));
    into.last = whole_number<std::uint64_t>(text.substr(dash + 1));
    return into.first && into.last && *into.first <= *into.last;
}

}  // namespace

std::optional<content_range> parse_content_range(std::string_view text) noexcept {
    constexpr std::string_view unit = "bytes ";
    const std::size_t slash = text.find('/');
    const bool is_of_bytes = equal_ignoring_case(text.substr(0, unit.size()), unit);
    if (!is_of_bytes || slash == std::string_view::npos) return std::nullopt;
    const std::string_view part = text.substr(unit.size(), slash - unit.size());
    const std::string_view whole = text.substr(slash + 1);
    content_range r;
    if (whole != "*") {
        r.whole = whole_number<std::uint64_t>(whole);
        if (!r.whole) return std::nullopt;
    }
    if (part == "*") return r.whole ? std::optional(r) : std::nullopt;
    if (!read_part(part, r) || (r.whole && *r.last >= *r.whole)) return std::nullopt;
    return r;
}

std::string_view if_range_validator(const response& from) noexcept {
    const fields& all = from.fields();
    const bool decoded = from.info() != nullptr && from.info()->is_decoded();
    if (decoded || all.contains(field_id::content_encoding)) return {};
    const std::string_view tag = all.get(field_id::etag);
    if (!tag.empty()) return tag.starts_with("W/") ? std::string_view() : tag;
    const std::string_view changed = all.get(field_id::last_modified);
    const auto then = parse_http_date(changed);
    const auto sent = parse_http_date(all.get(field_id::date));
    return then && sent && *sent > *then ? changed : std::string_view();
}

bool is_part_of(const response& part, std::string_view validator) noexcept {
    if (validator.empty()) return false;
    const field_id kind = validator.starts_with('"') ? field_id::etag : field_id::last_modified;
    return part.fields().get(kind) == validator;
}

}  // namespace coracle::http
