#pragma once

#include <cstdint>
#include <string_view>

namespace coracle::http {

/// A status code (RFC 9110 section 15), by the names of the IANA registry. A peer may send any code
/// from 100 to 999: a value without a name here is valid, and belongs to the class of its first
/// digit (RFC 9110 section 15).
enum class status : std::uint16_t {
    continue_ = 100,
    switching_protocols = 101,
    processing = 102,
    early_hints = 103,
    ok = 200,
    created = 201,
    accepted = 202,
    non_authoritative_information = 203,
    no_content = 204,
    reset_content = 205,
    partial_content = 206,
    multi_status = 207,
    already_reported = 208,
    im_used = 226,
    multiple_choices = 300,
    moved_permanently = 301,
    found = 302,
    see_other = 303,
    not_modified = 304,
    use_proxy = 305,
    temporary_redirect = 307,
    permanent_redirect = 308,
    bad_request = 400,
    unauthorized = 401,
    payment_required = 402,
    forbidden = 403,
    not_found = 404,
    method_not_allowed = 405,
    not_acceptable = 406,
    proxy_authentication_required = 407,
    request_timeout = 408,
    conflict = 409,
    gone = 410,
    length_required = 411,
    precondition_failed = 412,
    content_too_large = 413,
    uri_too_long = 414,
    unsupported_media_type = 415,
    range_not_satisfiable = 416,
    expectation_failed = 417,
    misdirected_request = 421,
    unprocessable_content = 422,
    locked = 423,
    failed_dependency = 424,
    too_early = 425,
    upgrade_required = 426,
    precondition_required = 428,
    too_many_requests = 429,
    request_header_fields_too_large = 431,
    unavailable_for_legal_reasons = 451,
    internal_server_error = 500,
    not_implemented = 501,
    bad_gateway = 502,
    service_unavailable = 503,
    gateway_timeout = 504,
    http_version_not_supported = 505,
    variant_also_negotiates = 506,
    insufficient_storage = 507,
    loop_detected = 508,
    not_extended = 510,
    network_authentication_required = 511,
};

/// The registered phrase ("Not Found" for 404); empty for a code without one. The text lives
/// forever.
[[nodiscard]] std::string_view reason_phrase(status value) noexcept;

/// The number on the wire.
[[nodiscard]] constexpr std::uint16_t to_code(status value) noexcept {
    return static_cast<std::uint16_t>(value);
}

/// 1xx: an interim response, another one follows.
[[nodiscard]] constexpr bool is_informational(status value) noexcept {
    return to_code(value) / 100 == 1;
}

/// 2xx.
[[nodiscard]] constexpr bool is_success(status value) noexcept {
    return to_code(value) / 100 == 2;
}

/// 3xx (304 included).
[[nodiscard]] constexpr bool is_redirection(status value) noexcept {
    return to_code(value) / 100 == 3;
}

/// 4xx.
[[nodiscard]] constexpr bool is_client_error(status value) noexcept {
    return to_code(value) / 100 == 4;
}

/// 5xx.
[[nodiscard]] constexpr bool is_server_error(status value) noexcept {
    return to_code(value) / 100 == 5;
}

}  // namespace coracle::http
