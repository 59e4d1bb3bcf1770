#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace coracle::http {

/// The fields that the library or its users ask for often, so that finding one in a message
/// compares a byte. `other` stands for every other name.
enum class field_id : std::uint8_t {
    other = 0,
    host,
    content_length,
    transfer_encoding,
    connection,
    accept,
    accept_encoding,
    accept_language,
    accept_ranges,
    access_control_allow_credentials,
    access_control_allow_headers,
    access_control_allow_methods,
    access_control_allow_origin,
    access_control_expose_headers,
    access_control_max_age,
    access_control_request_headers,
    access_control_request_method,
    age,
    allow,
    alt_svc,
    authorization,
    cache_control,
    content_disposition,
    content_encoding,
    content_language,
    content_location,
    content_range,
    content_security_policy,
    content_type,
    cookie,
    date,
    etag,
    expect,
    expires,
    forwarded,
    from,
    http2_settings,
    if_match,
    if_modified_since,
    if_none_match,
    if_range,
    if_unmodified_since,
    keep_alive,
    last_modified,
    link,
    location,
    max_forwards,
    origin,
    proxy_authenticate,
    proxy_authorization,
    proxy_connection,
    range,
    referer,
    retry_after,
    sec_websocket_accept,
    sec_websocket_extensions,
    sec_websocket_key,
    sec_websocket_protocol,
    sec_websocket_version,
    server,
    set_cookie,
    strict_transport_security,
    te,
    trailer,
    upgrade,
    user_agent,
    vary,
    via,
    www_authenticate,
    x_content_type_options,
    x_forwarded_for,
    x_forwarded_proto,
};

/// The number of values of `field_id`, `other` included.
inline constexpr std::size_t field_id_count =
    static_cast<std::size_t>(field_id::x_forwarded_proto) + 1;

/// The id of the field called `name`, in any case (RFC 9110 section 5.1), or `other`. Takes a few
/// nanoseconds and accepts any bytes.
[[nodiscard]] field_id find_field_id(std::string_view name) noexcept;

/// The usual spelling ("Content-Type"); empty for `other`. The text lives forever.
[[nodiscard]] std::string_view to_string(field_id id) noexcept;

}  // namespace coracle::http
