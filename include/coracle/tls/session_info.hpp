#pragma once

#include <coracle/base/secret.hpp>
#include <coracle/tls/certificate.hpp>
#include <coracle/tls/options.hpp>

#include <cstddef>
#include <string_view>

namespace coracle::tls {

/// The facts about an encrypted connection that requests and responses carry, whatever moves its
/// bytes. They are valid as long as the connection.
class session_info {
public:
    virtual tls::version version() const noexcept = 0;
    /// The cipher suite, named as in RFC 8446 and by IANA.
    virtual std::string_view cipher() const noexcept = 0;
    /// The protocol that ALPN chose; empty when none.
    virtual std::string_view protocol() const noexcept = 0;
    /// The name that the client requested (SNI); empty when none.
    virtual std::string_view server_name() const noexcept = 0;
    /// Returns true if an earlier session was resumed.
    virtual bool resumed() const noexcept = 0;
    /// The certificate that the peer showed, if any. It was verified when `verified` says so.
    virtual certificate peer_certificate() const = 0;
    /// Returns the certificate that we have shown, if any.
    virtual certificate own_certificate() const = 0;
    virtual bool verified() const noexcept = 0;
    /// Derives `bytes` bytes of keying material that both ends of this connection get for the same
    /// label and context, and nobody else (RFC 5705, RFC 8446 section 7.5): to bind what goes over
    /// it to it, as "tls-exporter" does (RFC 9266). Throws `exception` for what OpenSSL
    /// refuses, such as a label of TLS 1.2 itself.
    virtual secret export_keying_material(std::string_view label, std::string_view context,
                                          std::size_t bytes) const = 0;

protected:
    ~session_info() = default;
};

}  // namespace coracle::tls
