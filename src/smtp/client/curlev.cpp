#include "connect/curlev_codes.hpp"
#include "smtp/content_error.hpp"

#include <coracle/connect/proxy.hpp>
#include <coracle/net/resolver.hpp>
#include <coracle/smtp/curlev.hpp>
#include <coracle/smtp/error.hpp>
#include <coracle/tls/error.hpp>

#include <string_view>

namespace coracle::smtp {
namespace {

using enum connect::detail::curl_code;
using enum connect::detail::own_code;
using connect::detail::code_of_option;
using connect::detail::code_of_proxy;
using connect::detail::code_of_tls;

/// libcurl has a number for the command that was refused.
int code_of_command(const error& e) noexcept {
    const failure* const f = failure_of(e);
    const std::string_view command = f == nullptr ? std::string_view() : f->command();
    if (command == "greeting" || command == "end of data") return weird_server_reply;
    for (const std::string_view hello : {"EHLO", "HELO", "LHLO"}) {
        if (command.starts_with(hello)) return remote_access_denied;
    }
    if (command.starts_with("AUTH")) return login_denied;
    return send_error;
}

int code_of_smtp(const error& e) noexcept {
    switch (static_cast<errc>(e.code().value())) {
        case errc::rejected_for_now:
        case errc::rejected: return code_of_command(e);
        case errc::unexpected_reply:
        case errc::malformed_reply:
        case errc::bytes_before_tls: return weird_server_reply;
        case errc::uncertain: return recv_error;
        case errc::starttls_unavailable:
        case errc::requiretls_unavailable:
        case errc::policy_not_met: return use_ssl_failed;
        case errc::no_mechanism:
        case errc::authentication_failed:
        case errc::server_not_authentic: return login_denied;
        case errc::needs_smtputf8:
        case errc::needs_8bitmime:
        case errc::recipients_rejected:
        case errc::null_mx: return send_error;
        case errc::too_large: return filesize_exceeded;
    }
    return recv_error;
}

/// A mail that was refused before anything was sent, by the part that its subject names.
int code_of_message(const error& e) noexcept {
    const std::string_view part = e.subject();
    for (const std::string_view who : {"no recipient", "to:", "cc:", "bcc:", "envelope_to:"}) {
        if (part.starts_with(who)) return bad_recipients;
    }
    for (const std::string_view content : {"attach", "embed"}) {
        if (part.starts_with(content)) return mime_error;
    }
    for (const std::string_view body : {"text:", "html:", "raw"}) {
        if (part.starts_with(body)) return bad_body;
    }
    return bad_headers;
}

int code_of_argument(const error& e) noexcept {
    const std::string_view part = e.operation();
    if (part == "message") return code_of_message(e);
    if (part == "option") return code_of_option(e);
    if (part == "url:") return url_malformat;
    if (part == "proxy") return couldnt_resolve_proxy;
    return bad_function_argument;
}

int code_of_phase(const error& e) noexcept {
    switch (e.phase()) {
        case phase::resolve: return couldnt_resolve_host;
        case phase::connect: return couldnt_connect;
        case phase::proxy: return proxy_error;
        case phase::tls: return ssl_connect_error;
        case phase::send: return send_error;
        default: return recv_error;
    }
}

int code_of_ours(const error& e) noexcept {
    switch (static_cast<coracle::errc>(e.code().value())) {
        case coracle::errc::limit_exceeded:
            return e.subject() == "pool_options::waiting" ? no_connection_available
                                                          : code_of_phase(e);
        case coracle::errc::shutting_down: return start_failed;
        case coracle::errc::unknown_option: return option_format;
        default: return code_of_phase(e);
    }
}

}  // namespace

int curlev_code(const error& e) noexcept {
    const std::error_code& code = e.code();
    if (!code) return 0;
    if (e == std::errc::operation_canceled) return aborted_by_callback;
    if (code == std::errc::timed_out) return operation_timedout;
    if (detail::is_about_content(e)) return read_error;
    if (code.category() == category()) return code_of_smtp(e);
    if (code.category() == coracle_category()) return code_of_ours(e);
    if (code.category() == tls::category()) return code_of_tls(e);
    if (code.category() == connect::proxy_category()) return code_of_proxy(e);
    if (code.category() == net::resolve_category()) {
        return e.phase() == phase::proxy ? couldnt_resolve_proxy : couldnt_resolve_host;
    }
    if (e == std::errc::protocol_not_supported) return unsupported_protocol;
    if (e == std::errc::not_enough_memory) return out_of_memory;
    if (e == std::errc::invalid_argument) return code_of_argument(e);
    const std::string_view part = e.operation();
    // Files are opened before anything is sent.
    if (part == "open" && e.phase() == phase::none) return read_error;
    if (part == "certificate" || part == "key") return ssl_certproblem;
    if (e == std::errc::no_such_device) return interface_failed;
    if (e == std::errc::connection_refused) return couldnt_connect;
    return code_of_phase(e);
}

client_options curlev_defaults() {
    client_options o;
    o.total_timeout = std::chrono::seconds(30);
    return o;
}

}  // namespace coracle::smtp
