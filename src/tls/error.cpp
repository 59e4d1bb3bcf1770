#include <coracle/tls/error.hpp>

#include <string>

namespace coracle::tls {
namespace {

const char* text_of(errc e) noexcept {
    switch (e) {
        case errc::handshake_failure: return "the TLS handshake failed";
        case errc::protocol_version: return "no TLS version that both sides allow";
        case errc::no_application_protocol: return "no application protocol that both sides speak";
        case errc::not_tls: return "the peer does not speak TLS";
        case errc::http_request: return "the peer speaks HTTP without TLS";
        case errc::bad_record: return "a TLS record that does not decrypt or breaks the rules";
        case errc::truncated: return "the connection ended without close_notify";
        case errc::alert: return "the peer sent a TLS alert";
        case errc::too_many_key_updates: return "too many KeyUpdate messages (limit key_updates)";
        case errc::renegotiation: return "the peer requested a renegotiation";
        case errc::certificate_expired: return "the certificate has expired";
        case errc::certificate_not_yet_valid: return "the certificate is not valid yet";
        case errc::certificate_self_signed: return "the certificate is self-signed and not trusted";
        case errc::certificate_untrusted: return "the certificate's issuer is not trusted";
        case errc::certificate_revoked: return "the certificate has been revoked";
        case errc::certificate_for_another_host: return "the certificate is for another host";
        case errc::certificate_for_another_address:
            return "the certificate is for another IP address";
        case errc::certificate_invalid: return "the certificate is not valid";
        case errc::certificate_required: return "the peer showed no certificate";
        case errc::certificate_unreadable: return "no certificate can be read";
        case errc::key_unreadable: return "no private key can be read";
        case errc::key_mismatch: return "the private key does not belong to the certificate";
        case errc::wrong_password: return "the password is wrong or missing";
        case errc::bad_option: return "a TLS option that OpenSSL does not take";
        case errc::provider_unavailable: return "the OpenSSL provider cannot be loaded";
    }
    return "unknown TLS error";
}

class tls_category final : public std::error_category {
public:
    const char* name() const noexcept override { return "tls"; }
    std::string message(int value) const override { return text_of(static_cast<errc>(value)); }
};

}  // namespace

const std::error_category& category() noexcept {
    static const tls_category instance;
    return instance;
}

std::error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), category()};
}

}  // namespace coracle::tls
