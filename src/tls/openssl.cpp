#include "tls/openssl.hpp"

#include <openssl/sslerr.h>
#include <openssl/x509v3.h>

#include <cerrno>
#include <cstdio>

namespace coracle::tls::detail {
namespace {

/// Maps a reason of OpenSSL to an error of ours.
errc kind_of(unsigned long code, errc otherwise) noexcept {
    if (ERR_GET_LIB(code) != ERR_LIB_SSL) return otherwise;
    switch (ERR_GET_REASON(code)) {
        case SSL_R_UNSUPPORTED_PROTOCOL:
        case SSL_R_NO_PROTOCOLS_AVAILABLE:
        case SSL_R_WRONG_SSL_VERSION:
        case SSL_R_VERSION_TOO_LOW:
        case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION: return errc::protocol_version;
        case SSL_R_HTTP_REQUEST:
        case SSL_R_HTTPS_PROXY_REQUEST: return errc::http_request;
        case SSL_R_WRONG_VERSION_NUMBER: return errc::not_tls;
        case SSL_R_NO_APPLICATION_PROTOCOL: return errc::no_application_protocol;
        case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
        case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED: return errc::certificate_required;
        case SSL_R_UNEXPECTED_EOF_WHILE_READING: return errc::truncated;
        case SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC:
        case SSL_R_BAD_RECORD_TYPE:
        case SSL_R_ENCRYPTED_LENGTH_TOO_LONG:
        case SSL_R_DATA_LENGTH_TOO_LONG:
        case SSL_R_PACKET_LENGTH_TOO_LONG: return errc::bad_record;
        default: break;
    }
    // From this value on, reasons are alerts of the peer (RFC 8446 section 6.2).
    constexpr int alerts = SSL_AD_REASON_OFFSET;
    const int reason = ERR_GET_REASON(code);
    if (reason == alerts + SSL_AD_NO_APPLICATION_PROTOCOL) return errc::no_application_protocol;
    return reason >= alerts ? errc::alert : otherwise;
}

}  // namespace

std::string take_reasons() {
    const unsigned long first = ERR_peek_error();
    std::string text;
    if (first != 0) {
        const char* data = nullptr;
        int flags = 0;
        ERR_peek_error_all(nullptr, nullptr, nullptr, &data, &flags);
        if (const char* reason = ERR_reason_error_string(first)) text = reason;
        if ((flags & ERR_TXT_STRING) != 0 && data != nullptr && *data != '\0') {
            text += text.empty() ? "" : ": ";
            text += data;
        }
    }
    ERR_clear_error();
    return text;
}

error take_failure(errc otherwise, const char* operation) {
    const errc kind = kind_of(ERR_peek_error(), otherwise);
    error e(make_error_code(kind), operation, phase::tls);
    if (const std::string reasons = take_reasons(); !reasons.empty()) e.on(reasons);
    return e;
}

bool is_inline(std::string_view text) noexcept {
    if (text.find("-----BEGIN ") != std::string_view::npos) return true;
    // DER begins with a SEQUENCE that is as long as all of it; no path looks like that.
    if (text.size() < 3 || text[0] != '0') return false;
    const auto length = static_cast<unsigned char>(text[1]);
    return length >= 0x80 || length == text.size() - 2;
}

bool is_ip_address(const std::string& name) {
    ASN1_OCTET_STRING* const bytes = a2i_IPADDRESS(name.c_str());
    const bool good = bytes != nullptr;
    ASN1_OCTET_STRING_free(bytes);
    ERR_clear_error();
    return good;
}

std::string name_in_certificates(std::string_view host) {
    if (host.size() > 1 && host.back() == '.') host.remove_suffix(1);
    const std::size_t zone = host.find('%');
    const std::string address(host.substr(0, zone));
    const bool has_zone = zone != std::string_view::npos && is_ip_address(address);
    return has_zone ? address : std::string(host);
}

std::expected<std::string, error> contents_of(std::string_view text, const char* operation) {
    if (is_inline(text)) return std::string(text);
    std::FILE* const file = std::fopen(std::string(text).c_str(), "rbe");
    if (file == nullptr) {
        error e(std::error_code(errno, std::generic_category()), operation, phase::tls);
        return std::unexpected(std::move(e.on(text)));
    }
    std::string all;
    char piece[4096];
    // Certificates are small: a larger file is something else.
    constexpr std::size_t largest = 16 * 1024 * 1024;
    for (std::size_t n; all.size() < largest && (n = std::fread(piece, 1, sizeof piece, file)) > 0;)
        all.append(piece, n);
    const bool failed = std::ferror(file) != 0;
    const int why = errno;
    std::fclose(file);
    if (!failed) return all;
    error e(std::error_code(why, std::generic_category()), operation, phase::tls);
    return std::unexpected(std::move(e.on(text)));
}

std::string text_in(BIO* memory) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(memory, &data);
    return {data, static_cast<std::size_t>(size)};
}

bio_ptr reading(std::string_view text) {
    return bio_ptr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

}  // namespace coracle::tls::detail
