#include "connect/curlev_codes.hpp"
#include "http/h2/error.hpp"

#include <coracle/connect/proxy.hpp>
#include <coracle/http/coding.hpp>
#include <coracle/http/curlev.hpp>
#include <coracle/http/h1/parse_error.hpp>
#include <coracle/net/resolver.hpp>
#include <coracle/tls/error.hpp>

#include <string_view>

namespace coracle::http {
namespace {

using enum connect::detail::curl_code;
using enum connect::detail::own_code;
using connect::detail::code_of_option;
using connect::detail::code_of_proxy;
using connect::detail::code_of_tls;

// The code for a request refused before anything was sent, by the name of the bad part.
int code_of_request(const error& e) noexcept {
    const std::string_view part = e.operation();
    if (part == "option") return code_of_option(e);
    if (part == "url:") return url_malformat;
    if (part == "method") return bad_method;
    if (part == "header") return bad_headers;
    if (part == "body") return bad_body;
    if (part.starts_with("multipart") || part == "form_body") return mime_error;
    if (part == "proxy") return couldnt_resolve_proxy;
    return bad_function_argument;
}

// The subject ends with the name of the limit.
int code_of_limit(std::string_view subject) noexcept {
    const std::string_view limit = subject.substr(subject.rfind(' ') + 1);
    if (limit == "client_options::redirects") return too_many_redirects;
    // The maximal_response_size of curlev, announced or received.
    if (limit == "client_options::response_limit") return write_error;
    if (limit == "client_options::body_limit" || limit == "text(limit)") return write_error;
    if (limit == "client_options::compression_ratio") return bad_content_encoding;
    if (limit == "client_options::interim_limit") return weird_server_reply;
    if (limit == "client_options::field_limit") return weird_server_reply;
    if (limit == "pool_options::waiting") return no_connection_available;
    if (limit == "url::max_size") return url_malformat;
    return recv_error;
}

// The code by the phase of the request alone.
int code_of_phase(const error& e) noexcept {
    switch (e.phase()) {
        case phase::resolve: return couldnt_resolve_host;
        case phase::connect: return couldnt_connect;
        case phase::proxy: return proxy_error;
        case phase::tls: return ssl_connect_error;
        case phase::send: return send_error;
        case phase::first_byte:
        case phase::receive:
        case phase::close: return recv_error;
        case phase::none: break;
    }
    return code_of_request(e);
}

int code_of_ours(const error& e) noexcept {
    switch (static_cast<errc>(e.code().value())) {
        case errc::end_of_stream:
        case errc::unexpected_end:
            if (e.phase() == phase::first_byte) return got_nothing;
            return e.phase() == phase::receive ? partial_file : code_of_phase(e);
        case errc::limit_exceeded:
            return e.phase() == phase::proxy ? proxy_error : code_of_limit(e.subject());
        case errc::protocol_error: {
            const bool in_response = e.phase() == phase::first_byte || e.phase() == phase::receive;
            return in_response ? weird_server_reply : code_of_phase(e);
        }
        case errc::shutting_down: return start_failed;
        case errc::too_slow: return operation_timedout;
        case errc::unknown_option: return option_format;
        case errc::no_loop:
        case errc::already_exists:
        case errc::no_value: break;
    }
    return code_of_phase(e);
}

// Returns true for an error of `save_to` or `download` that the disk caused.
bool is_of_writing(const error& e) noexcept {
    if (e.phase() != phase::none) return false;
    for (const std::string_view one : {"save", "replace", "write", "rename", "sync"}) {
        if (e.operation() == one) return true;
    }
    return e.operation() == "open" && e.subject().ends_with(".part");
}

// The code for an error of a file that is a body or receives one.
bool is_of_file(const error& e) noexcept {
    return e == std::errc::no_such_file_or_directory || e == std::errc::is_a_directory ||
           e == std::errc::permission_denied || e == std::errc::io_error ||
           e == std::errc::bad_file_descriptor || e == std::errc::no_message_available ||
           e == std::errc::no_space_on_device;
}

}  // namespace

int curlev_code(const error& e) noexcept {
    const std::error_code& code = e.code();
    if (!code) return 0;
    if (e == std::errc::operation_canceled) return aborted_by_callback;
    if (code == std::errc::timed_out) return operation_timedout;
    if (code.category() == coracle_category()) return code_of_ours(e);
    if (code.category() == tls::category()) return code_of_tls(e);
    if (code.category() == h2::error_code_category()) return http2_stream;
    if (code.category() == connect::proxy_category()) return code_of_proxy(e);
    if (code.category() == net::resolve_category()) {
        return e.phase() == phase::proxy ? couldnt_resolve_proxy : couldnt_resolve_host;
    }
    // libcurl reports malformed chunked coding as an error of receiving.
    if (code.category() == h1::parse_error_category() && e.phase() == phase::first_byte) {
        return weird_server_reply;
    }
    if (code == make_error_code(coding_error::too_large)) return filesize_exceeded;
    if (code == make_error_code(coding_error::no_memory)) return out_of_memory;
    if (code.category() == coding_category()) return bad_content_encoding;
    if (e == std::errc::protocol_not_supported) return unsupported_protocol;
    if (e == std::errc::operation_not_supported && e.phase() == phase::send) {
        return send_fail_rewind;
    }
    if (e == std::errc::not_enough_memory) return out_of_memory;
    if (e == std::errc::invalid_argument) return code_of_request(e);
    const std::string_view part = e.operation();
    if (is_of_writing(e)) return write_error;
    // The file of a body is opened before anything is sent.
    if (part == "open" && e.phase() == phase::none) return read_error;
    if (part == "certificate" || part == "key") return ssl_certproblem;
    if (e == std::errc::no_such_device) return interface_failed;
    if (e.phase() == phase::tls && is_of_file(e)) return ssl_cacert_badfile;
    if (e.phase() == phase::send && is_of_file(e)) return read_error;
    if (e.phase() == phase::receive && is_of_file(e)) return write_error;
    // "Connection refused" may also refer to the proxy's own socket.
    if (e == std::errc::connection_refused) return couldnt_connect;
    return code_of_phase(e);
}

client_options curlev_defaults() {
    client_options o;
    o.total_timeout = std::chrono::seconds(30);
    o.response_limit = o.body_limit = 2'000'000;
    // Each retry has the same delay.
    o.retry.backoff = false;
    o.retry.budget_percent = 0;
    return o;
}

}  // namespace coracle::http
