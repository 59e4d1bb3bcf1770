#include "base/ascii.hpp"

#include <coracle/connect/proxy.hpp>
#include <coracle/http/coding.hpp>
#include <coracle/http/curlev.hpp>
#include <coracle/net/resolver.hpp>
#include <coracle/tls/error.hpp>

#include <string_view>

namespace coracle::http {
namespace {

// Numbers of libcurl (CURLcode).
enum curl_code : int {
    unsupported_protocol = 1,
    url_malformat = 3,
    couldnt_resolve_proxy = 5,
    couldnt_resolve_host = 6,
    couldnt_connect = 7,
    weird_server_reply = 8,
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
    ssl_cacert_badfile = 77,
    no_connection_available = 89,
    auth_error = 94,
    proxy_error = 97,
    ssl_clientcert = 98,
};

// curlev's own.
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
};

bool is_certificate_key(std::string_view key) noexcept {
    if (key.starts_with("proxy_")) key.remove_prefix(6);
    return key.starts_with("ssl") || key.starts_with("ca") || key == "keypasswd" || key == "engine";
}

// What read_options failed with: the subject begins with the key, or it is no key.
int code_of_option(const error& e) noexcept {
    std::string_view subject = e.subject();
    constexpr std::string_view of_value = "the value of ";
    if (subject.starts_with(of_value)) subject.remove_prefix(of_value.size());
    const std::string_view key = coracle::detail::take_item(subject, ' ');
    const bool is_value = subject.starts_with("wants ");
    if (key == "safe_protocols") return bad_safe_protocols;
    if (key.find("authentication_") != std::string_view::npos) {
        return is_value ? authentication_value : authentication_format;
    }
    if (is_certificate_key(key)) return is_value ? certificate_value : certificate_format;
    return is_value ? option_value : option_format;
}

// What was refused before anything was sent, by the name of the part.
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

int code_of_tls(const error& e) noexcept {
    switch (static_cast<tls::errc>(e.code().value())) {
        case tls::errc::certificate_expired:
        case tls::errc::certificate_not_yet_valid:
        case tls::errc::certificate_self_signed:
        case tls::errc::certificate_untrusted:
        case tls::errc::certificate_revoked:
        case tls::errc::certificate_for_another_host:
        case tls::errc::certificate_for_another_address:
        case tls::errc::certificate_invalid: return peer_failed_verification;
        case tls::errc::certificate_required: return ssl_clientcert;
        case tls::errc::certificate_unreadable:
        case tls::errc::key_unreadable:
        case tls::errc::key_mismatch:
        case tls::errc::wrong_password: return ssl_certproblem;
        case tls::errc::bad_option: return ssl_cipher;
        case tls::errc::provider_unavailable: return ssl_engine_notfound;
        default: break;
    }
    // The rest may come after the handshake too.
    switch (e.phase()) {
        case phase::send: return send_error;
        case phase::first_byte:
        case phase::receive: return recv_error;
        default: return ssl_connect_error;
    }
}

// A subject says whom it was about, and ends with the name of the limit.
int code_of_limit(std::string_view subject) noexcept {
    const std::string_view limit = subject.substr(subject.rfind(' ') + 1);
    if (limit == "client_options.redirects") return too_many_redirects;
    // curlev's maximal_response_size, announced or received.
    if (limit == "client_options.response_limit") return write_error;
    if (limit == "client_options.body_limit" || limit == "text(limit)") return write_error;
    if (limit == "client_options.compression_ratio") return bad_content_encoding;
    if (limit == "client_options.interim_limit") return weird_server_reply;
    if (limit == "pool_options.waiting") return no_connection_available;
    if (limit == "url::max_size") return url_malformat;
    return recv_error;
}

// By the part of the request alone.
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
            const bool in_answer = e.phase() == phase::first_byte || e.phase() == phase::receive;
            return in_answer ? weird_server_reply : code_of_phase(e);
        }
        case errc::shutting_down: return start_failed;
        case errc::too_slow: return operation_timedout;
        case errc::unknown_option: return option_format;
    }
    return code_of_phase(e);
}

int code_of_proxy(const error& e) noexcept {
    const bool is_about_us = e.code() == connect::proxy_errc::credentials_wanted ||
                             e.code() == connect::proxy_errc::credentials_refused;
    return is_about_us ? auth_error : proxy_error;
}

// What `save_to` and `download` fail with when it is the disk's fault.
bool is_of_writing(const error& e) noexcept {
    if (e.phase() != phase::none) return false;
    for (const std::string_view one : {"save", "replace", "write", "rename", "sync"}) {
        if (e.operation() == one) return true;
    }
    return e.operation() == "open" && e.subject().ends_with(".part");
}

// A file of ours that is a body, or that a body goes to.
bool is_of_file(const error& e) noexcept {
    return e == std::errc::no_such_file_or_directory || e == std::errc::is_a_directory ||
           e == std::errc::permission_denied || e == std::errc::io_error ||
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
    if (code.category() == connect::proxy_category()) return code_of_proxy(e);
    if (code.category() == net::resolve_category()) {
        return e.phase() == phase::proxy ? couldnt_resolve_proxy : couldnt_resolve_host;
    }
    if (code == make_error_code(coding_error::too_large)) return filesize_exceeded;
    if (code.category() == coding_category()) return bad_content_encoding;
    if (e == std::errc::protocol_not_supported) return unsupported_protocol;
    if (e == std::errc::not_enough_memory) return out_of_memory;
    if (e == std::errc::invalid_argument) return code_of_request(e);
    const std::string_view part = e.operation();
    if (is_of_writing(e)) return write_error;
    // What a body is read from is opened before anything is sent.
    if (part == "open" && e.phase() == phase::none) return read_error;
    if (part == "certificate" || part == "key") return ssl_certproblem;
    if (e == std::errc::no_such_device) return interface_failed;
    if (e.phase() == phase::tls && is_of_file(e)) return ssl_cacert_badfile;
    if (e.phase() == phase::send && is_of_file(e)) return read_error;
    if (e.phase() == phase::receive && is_of_file(e)) return write_error;
    // "Connection refused" is of the proxy's own socket, too.
    if (e == std::errc::connection_refused) return couldnt_connect;
    return code_of_phase(e);
}

client_options curlev_defaults() {
    client_options o;
    o.total_timeout = std::chrono::seconds(30);
    o.response_limit = o.body_limit = 2'000'000;
    // Each retry after the same time.
    o.retry.longest_delay = o.retry.delay;
    o.retry.budget_percent = 100 * 100;
    return o;
}

}  // namespace coracle::http
