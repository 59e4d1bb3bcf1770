#include "connect/curlev_codes.hpp"

#include "base/ascii.hpp"

#include <coracle/connect/proxy.hpp>
#include <coracle/tls/error.hpp>

#include <string_view>

namespace coracle::connect::detail {
namespace {

bool is_certificate_key(std::string_view key) noexcept {
    if (key.starts_with("proxy_")) key.remove_prefix(6);
    return key.starts_with("ssl") || key.starts_with("ca") || key == "keypasswd" || key == "engine";
}

}  // namespace

// The subject begins with the key, if there is one.
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
            return e.operation() == "authorities" ? ssl_cacert_badfile : ssl_certproblem;
        case tls::errc::key_unreadable:
        case tls::errc::key_mismatch:
        case tls::errc::wrong_password: return ssl_certproblem;
        case tls::errc::bad_option: return ssl_cipher;
        case tls::errc::provider_unavailable: return ssl_engine_notfound;
        default: break;
    }
    // Other TLS errors may also come after the handshake.
    switch (e.phase()) {
        case phase::send: return send_error;
        case phase::first_byte:
        case phase::receive: return recv_error;
        default: return ssl_connect_error;
    }
}

int code_of_proxy(const error& e) noexcept {
    const bool is_about_us =
        e.code() == proxy_errc::credentials_wanted || e.code() == proxy_errc::credentials_refused;
    return is_about_us ? auth_error : proxy_error;
}

}  // namespace coracle::connect::detail
