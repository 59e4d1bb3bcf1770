#include "http/exchange/content_fields.hpp"

#include "http/message/digest_fields.hpp"
#include "http/message/token.hpp"

#include <string>
#include <vector>

namespace coracle::http::detail {

bool is_content_field(std::string_view name) noexcept {
    constexpr std::string_view start = "content-";
    constexpr std::string_view policy = "content-security-policy";
    if (is_digest_field(name)) return true;
    return equal_ignoring_case(name.substr(0, start.size()), start) &&
           !equal_ignoring_case(name.substr(0, policy.size()), policy);
}

void drop_content_fields(fields& all, std::optional<field_id> kept) {
    std::vector<std::string> names;
    for (const field& f : all) {
        if (is_content_field(f.name) && (!kept || f.id != *kept)) names.emplace_back(f.name);
    }
    for (const std::string& name : names) all.remove(name);
}

}  // namespace coracle::http::detail
