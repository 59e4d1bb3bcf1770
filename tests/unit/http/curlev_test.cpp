#include <coracle/base/url.hpp>
#include <coracle/connect/proxy.hpp>
#include <coracle/http/client_settings.hpp>
#include <coracle/http/coding.hpp>
#include <coracle/http/curlev.hpp>
#include <coracle/http/h1/parse_error.hpp>
#include <coracle/net/resolver.hpp>
#include <coracle/tls/error.hpp>

#include <gtest/gtest.h>

#include <string_view>

using namespace coracle;
using namespace coracle::http;

namespace {

struct row {
    error e;
    int code;
};

error of_limit(std::string_view limit, phase where = phase::receive) {
    return error(errc::limit_exceeded, "request", where).on(limit);
}

int code_of_options(std::string_view text) {
    client_options o;
    return curlev_code(read_options(o, text).error());
}

}  // namespace

TEST(curlev_code, is_the_status_of_a_response) {
    static_assert(curlev_code(status::ok) == 200);
    EXPECT_EQ(curlev_code(status::service_unavailable), 503);
    EXPECT_EQ(curlev_code(static_cast<status>(999)), 999);
}

TEST(curlev_code, is_that_of_libcurl_for_each_phase) {
    using std::errc::connection_refused;
    using std::errc::connection_reset;
    const row rows[] = {
        {error(), 0},
        {{net::resolve_errc::no_such_host, "resolve", phase::resolve}, 6},
        {{net::resolve_errc::malformed_name, "resolve", phase::resolve}, 6},
        {{net::resolve_errc::no_such_host, "resolve proxy", phase::proxy}, 5},
        {{net::resolve_errc::timed_out, "resolve", phase::resolve}, 28},
        {{connection_refused, "connect", phase::connect}, 7},
        {{std::errc::host_unreachable, "connect", phase::connect}, 7},
        {{std::errc::too_many_files_open, "connect", phase::connect}, 7},
        {{std::errc::no_such_device, "connect", phase::connect}, 45},
        {{std::errc::timed_out, "connect", phase::connect}, 28},
        {{std::errc::timed_out, "total_timeout", phase::receive}, 28},
        {{errc::too_slow, "low_speed_limit", phase::receive}, 28},
        {{connect::proxy_errc::refused, "proxy", phase::proxy}, 97},
        {{connect::proxy_errc::connection_refused, "proxy", phase::proxy}, 97},
        {{connect::proxy_errc::credentials_wanted, "proxy", phase::proxy}, 94},
        {{connect::proxy_errc::credentials_refused, "proxy", phase::proxy}, 94},
        {{errc::protocol_error, "proxy", phase::proxy}, 97},
        {{errc::end_of_stream, "proxy", phase::proxy}, 97},
        {{errc::end_of_stream, "handshake", phase::tls}, 35},
        {{connection_reset, "handshake", phase::tls}, 35},
        {{connection_reset, "write", phase::send}, 55},
        {{std::errc::broken_pipe, "write", phase::send}, 55},
        {{errc::end_of_stream, "write", phase::send}, 55},
        {{std::errc::io_error, "read", phase::send}, 26},
        {{std::errc::operation_not_supported, "redirect", phase::send}, 65},
        {{std::errc::no_such_file_or_directory, "open", phase::send}, 26},
        {{errc::end_of_stream, "response", phase::first_byte}, 52},
        {{connection_reset, "response", phase::first_byte}, 56},
        {{errc::protocol_error, "response", phase::first_byte}, 8},
        {{h1::make_error_code(h1::parse_error::missing_colon), "response", phase::first_byte}, 8},
        {{h1::make_error_code(h1::parse_error::bad_chunk_size), "body", phase::receive}, 56},
        {{errc::end_of_stream, "body", phase::receive}, 18},
        {{connection_reset, "body", phase::receive}, 56},
        {{errc::protocol_error, "body", phase::receive}, 8},
        {{std::errc::no_space_on_device, "write", phase::receive}, 23},
        {{coding_error::corrupt, "body", phase::receive}, 61},
        {{coding_error::truncated, "body", phase::receive}, 61},
        {{coding_error::ratio_exceeded, "body", phase::receive}, 61},
        {{coding_error::too_large, "body", phase::receive}, 63},
        {{coding_error::no_memory, "body", phase::receive}, 27},
        {{std::errc::operation_canceled, "request", phase::connect}, 42},
        {{std::errc::operation_canceled, "on_progress", phase::receive}, 42},
        {{std::errc::protocol_not_supported, "request"}, 1},
        {{std::errc::not_enough_memory, "body", phase::receive}, 27},
        {{errc::shutting_down, "request"}, -11},
    };
    for (const row& r : rows) EXPECT_EQ(curlev_code(r.e), r.code) << r.e;
}

TEST(curlev_code, knows_what_is_wrong_with_tls) {
    using enum tls::errc;
    const std::pair<tls::errc, int> rows[] = {
        {handshake_failure, 35},
        {protocol_version, 35},
        {no_application_protocol, 35},
        {not_tls, 35},
        {alert, 35},
        {certificate_expired, 60},
        {certificate_self_signed, 60},
        {certificate_untrusted, 60},
        {certificate_for_another_host, 60},
        {certificate_invalid, 60},
        {certificate_required, 98},
        {certificate_unreadable, 58},
        {key_unreadable, 58},
        {key_mismatch, 58},
        {wrong_password, 58},
        {bad_option, 59},
    };
    for (const auto& [code, number] : rows) {
        const error e(code, "handshake", phase::tls);
        EXPECT_EQ(curlev_code(e), number) << e;
    }
    EXPECT_EQ(curlev_code(error(truncated, "read", phase::receive)), 56);
    EXPECT_EQ(curlev_code(error(bad_record, "read", phase::first_byte)), 56);
    EXPECT_EQ(curlev_code(error(alert, "write", phase::send)), 55);
    EXPECT_EQ(curlev_code(error(certificate_untrusted, "handshake", phase::proxy)), 60);
    EXPECT_EQ(curlev_code(error(handshake_failure, "handshake", phase::proxy)), 35);
    EXPECT_EQ(curlev_code(error(std::errc::no_such_file_or_directory, "cainfo", phase::tls)), 77);
    EXPECT_EQ(curlev_code(error(certificate_unreadable, "authorities", phase::tls)), 77);
}

TEST(curlev_code, knows_the_limits) {
    EXPECT_EQ(curlev_code(of_limit("client_options::redirects")), 47);
    EXPECT_EQ(curlev_code(of_limit("client_options::response_limit")), 23);
    EXPECT_EQ(curlev_code(of_limit("client_options::body_limit")), 23);
    EXPECT_EQ(curlev_code(of_limit("client_options::compression_ratio")), 61);
    EXPECT_EQ(curlev_code(of_limit("client_options::interim_limit")), 8);
    EXPECT_EQ(curlev_code(of_limit("client_options::head_limit", phase::first_byte)), 56);
    EXPECT_EQ(curlev_code(of_limit("pool_options::waiting", phase::connect)), 89);
    EXPECT_EQ(curlev_code(of_limit("a head over 32768 bytes", phase::proxy)), 97);
}

TEST(curlev_code, is_that_of_curlev_for_what_was_not_begun) {
    EXPECT_EQ(curlev_code(url::parse("http:///").error()), 3);
    EXPECT_EQ(curlev_code(url::parse("http://a/" + std::string(url::max_size, 'a')).error()), 3);
    EXPECT_EQ(curlev_code(error(std::errc::invalid_argument, "method")), -31);
    EXPECT_EQ(curlev_code(error(std::errc::invalid_argument, "header").on("a")), -32);
    EXPECT_EQ(curlev_code(error(std::errc::invalid_argument, "body").on("a")), -33);
    EXPECT_EQ(curlev_code(error(std::errc::invalid_argument, "proxy").on("a")), 5);
    EXPECT_EQ(curlev_code(error(std::errc::invalid_argument, "something")), 43);
    EXPECT_EQ(code_of_options("timeuot=1"), -24);
    EXPECT_EQ(code_of_options("timeout"), -24);
    EXPECT_EQ(code_of_options("timeout=x"), -25);
    EXPECT_EQ(code_of_options("safe_protocols="), -26);
    EXPECT_EQ(code_of_options("mode=ntlm"), -21);
    EXPECT_EQ(code_of_options("mode"), -20);
    EXPECT_EQ(code_of_options("sslcerttype=x"), -23);
    EXPECT_EQ(code_of_options("proxy_sslkeytype=x"), -23);
    EXPECT_EQ(code_of_options("cainfo"), -22);
}
