#include "http/client/request_head.hpp"

namespace coracle::http::detail {

bool is_left_out(const field& f, const outgoing_head& head) noexcept {
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
        case field_id::content_type:
        case field_id::content_encoding:
        case field_id::content_language: return head.body_dropped;
        default: return false;
    }
}

std::string absolute_form(const url& to) {
    std::string whole;
    whole.append(to.scheme()).append("://").append(to.authority()).append(to.target());
    return whole;
}

}  // namespace coracle::http::detail
