#pragma once

#include <coracle/http/field_id.hpp>
#include <coracle/http/fields.hpp>

#include <cstddef>

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

/// The most bytes of Connection that are looked at: each field of a message is looked up in it, and
/// a message may have many of both.
inline constexpr std::size_t most_of_connection = 1024;

/// Returns true if Connection, all its lines together, is longer than that.
[[nodiscard]] inline bool has_long_connection_field(const fields& all) noexcept {
    std::size_t size = 0;
    for (const field& f : all) {
        if (f.id == field_id::connection) size += f.value.size();
    }
    return size > most_of_connection;
}

}  // namespace coracle::http
