#pragma once

#include <coracle/http/field_id.hpp>

namespace coracle::http {

/// Returns true for a field that describes one HTTP/1 connection: a proxy does not forward it (RFC
/// 9110 section 7.6.1), and HTTP/2 forbids it (RFC 9113 section 8.2.2).
[[nodiscard]] constexpr bool is_connection_field(field_id id) noexcept {
    switch (id) {
        case field_id::connection:
        case field_id::keep_alive:
        case field_id::proxy_connection:
        case field_id::transfer_encoding:
        case field_id::upgrade: return true;
        default: return false;
    }
}

}  // namespace coracle::http
