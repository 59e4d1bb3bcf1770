#pragma once

#include <coracle/base/error.hpp>

// The numbers of curlev's get_code(), and those that failures of all clients have.
namespace coracle::connect::detail {

/// Numbers of libcurl (CURLcode).
enum curl_code : int {
    unsupported_protocol = 1,
    url_malformat = 3,
    couldnt_resolve_proxy = 5,
    couldnt_resolve_host = 6,
    couldnt_connect = 7,
    weird_server_reply = 8,
    remote_access_denied = 9,
    partial_file = 18,
    write_error = 23,
    read_error = 26,
    out_of_memory = 27,
    operation_timedout = 28,
    ssl_connect_error = 35,
    aborted_by_callback = 42,
    bad_function_argument = 43,
    interface_failed = 45,
    too_many_redirects = 47,
    got_nothing = 52,
    ssl_engine_notfound = 53,
    send_error = 55,
    recv_error = 56,
    ssl_certproblem = 58,
    ssl_cipher = 59,
    peer_failed_verification = 60,
    bad_content_encoding = 61,
    filesize_exceeded = 63,
    use_ssl_failed = 64,
    send_fail_rewind = 65,
    login_denied = 67,
    ssl_cacert_badfile = 77,
    no_connection_available = 89,
    http2_stream = 92,
    auth_error = 94,
    proxy_error = 97,
    ssl_clientcert = 98,
};

/// Numbers of curlev's own.
enum own_code : int {
    start_failed = -11,
    authentication_format = -20,
    authentication_value = -21,
    certificate_format = -22,
    certificate_value = -23,
    option_format = -24,
    option_value = -25,
    bad_safe_protocols = -26,
    bad_method = -31,
    bad_headers = -32,
    bad_body = -33,
    mime_error = -34,
    bad_recipients = -35,
};

/// The number for what `read_options` fails with.
int code_of_option(const error& e) noexcept;
/// The number for an error of category tls.
int code_of_tls(const error& e) noexcept;
/// The number for an error of category proxy.
int code_of_proxy(const error& e) noexcept;

}  // namespace coracle::connect::detail
