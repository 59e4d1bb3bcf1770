#pragma once

#include <coracle/tls/certificate.hpp>
#include <coracle/tls/options.hpp>

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

protected:
    ~session_info() = default;
};

}  // namespace coracle::tls
