#include "http/client/request_head.hpp"

#include "http/message/token.hpp"

#include <algorithm>
#include <string_view>

namespace coracle::http::detail {

namespace {

/// Returns true for a field that says something of a body (RFC 9110 section 15.4), or that there is
/// one.
bool is_of_body(std::string_view name) noexcept {
    constexpr std::string_view start = "content-";
    constexpr std::string_view others[] = {"digest", "repr-digest", "last-modified", "trailer",
                                           "expect"};
    return equal_ignoring_case(name.substr(0, start.size()), start) ||
           std::ranges::any_of(others,
                               [name](auto other) { return equal_ignoring_case(name, other); });
}

}  // namespace

bool is_left_out(const field& f, const outgoing_head& head) noexcept {
    if (head.body_dropped && is_of_body(f.name)) return true;
    switch (f.id) {
        case field_id::host:
        case field_id::content_length:
        case field_id::transfer_encoding: return true;
        case field_id::connection:
        case field_id::upgrade: return !head.upgrades;
        case field_id::authorization:
        case field_id::proxy_authorization: return head.without_credentials;
        // With a jar, they are part of `head.cookies`.
        case field_id::cookie: return head.without_credentials || !head.cookies.empty();
        default: return false;
    }
}

std::string absolute_form(const url& to) {
    std::string whole;
    whole.append(to.scheme()).append("://").append(to.authority()).append(to.target());
    return whole;
}

}  // namespace coracle::http::detail
