#pragma once

#include <cstdint>
#include <system_error>

namespace coracle::tls {

/// The errors of TLS, besides those of the stream below it.
enum class errc : std::uint8_t {
    handshake_failure = 1,      ///< the two sides found nothing in common, or said so
    protocol_version,           ///< no version that both allow
    no_application_protocol,    ///< ALPN: no protocol that both speak (RFC 7301)
    not_tls,                    ///< the peer speaks something else
    http_request,               ///< the peer speaks HTTP without TLS
    bad_record,                 ///< a record that does not decrypt or breaks the rules
    truncated,                  ///< the connection ended without close_notify: bytes may miss
    alert,                      ///< the peer gave up, and its alert is in the subject
    too_many_key_updates,       ///< a limit of ours
    renegotiation,              ///< the peer requested a second handshake, which is always refused
    certificate_expired,        ///< its time is over
    certificate_not_yet_valid,  ///< its time has not begun
    certificate_self_signed,    ///< signed by itself, and not known
    certificate_untrusted,      ///< its issuer is not known
    certificate_revoked,        ///< its issuer took it back
    certificate_for_another_host,     ///< names other hosts than the requested one
    certificate_for_another_address,  ///< the same for an IP address
    certificate_invalid,              ///< anything else that is wrong with it
    certificate_required,             ///< the peer has to show one, and did not
    certificate_unreadable,           ///< a file of ours
    key_unreadable,                   ///< a file of ours
    key_mismatch,                     ///< key and certificate do not belong together
    wrong_password,                   ///< of a key or a PKCS#12 file
    bad_option,                       ///< an option that OpenSSL does not take
    provider_unavailable,             ///< a provider that OpenSSL cannot load
};

const std::error_category& category() noexcept;
std::error_code make_error_code(errc e) noexcept;

}  // namespace coracle::tls

template <>
struct std::is_error_code_enum<coracle::tls::errc> : std::true_type {};
