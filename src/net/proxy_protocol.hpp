#pragma once

#include <coracle/net/address.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::net {

/// The PROXY protocol of HAProxy, versions 1 and 2: the header in which a proxy describes the
/// connection that it passes on. Anyone who can reach the port can write such a header, so only a
/// listener that is configured for it reads one.

/// The TLS connection that the proxy ended (version 2, PP2_TYPE_SSL).
struct proxy_tls {
    bool over_tls = false;            ///< the client came over TLS
    bool has_certificate = false;     ///< it gave a certificate in this connection or its session
    bool verified = false;            ///< it gave one, and the proxy found it valid
    std::string version;              ///< "TLSv1.3"
    std::string cipher;               ///< of the connection
    std::string common_name;          ///< of the client's certificate
    std::string signature_algorithm;  ///< of the certificate of the proxy
    std::string key_algorithm;        ///< of the certificate of the proxy
};

struct proxy_header {
    std::uint8_t version = 0;  ///< 1 or 2
    /// The proxy speaks for itself (a health check), or does not know the client: the addresses of
    /// the connection count, and there is nothing more in the header.
    bool is_local = false;
    bool is_datagram = false;
    address source;       ///< the client
    address destination;  ///< where the client connected to
    // Copied from the header, so they may hold any bytes.
    std::string authority;  ///< the host name that the client requested (SNI)
    std::string alpn;
    std::string unique_id;  ///< at most 128 bytes
    std::string network_namespace;
    std::optional<proxy_tls> tls;
};

enum class proxy_error : std::uint8_t {
    none = 0,
    no_signature,     ///< not a PROXY header at all
    line_too_long,    ///< version 1, no end of line within 107 bytes
    header_too_long,  ///< version 2, beyond `proxy_limits::header`
    bad_line,         ///< version 1, malformed
    bad_version,      ///< version 2, of another version
    bad_command,      ///< neither LOCAL nor PROXY
    bad_family,       ///< an unassigned family or transport
    bad_address,      ///< too short for its family, or no address
    bad_tlv,          ///< an extension that is cut, too long, or there twice
    bad_checksum,     ///< the CRC-32C is there, and wrong
};

/// One sentence, for logs.
[[nodiscard]] std::string_view describe(proxy_error why) noexcept;

struct proxy_limits {
    /// The longest line of version 1, its CR LF included: the protocol's own limit.
    static constexpr std::size_t line = 107;
    /// Bytes of a header of version 2, at least 16. Default 4 KiB.
    std::size_t header = 4096;
};

enum class proxy_status : std::uint8_t { need_more, header, error };

struct proxy_result {
    proxy_status status = proxy_status::need_more;
    std::size_t consumed = 0;  ///< with `header`: what follows belongs to the protocol within
    proxy_error error = proxy_error::none;
};

/// Reads a header from the beginning of `bytes`. With `need_more`, call again with the same bytes
/// and more after them; a byte that can be no part of a header is refused as soon as it is there.
/// `out` is filled with `header` only. Keeps nothing; what it reads is bounded by the limits.
[[nodiscard]] proxy_result parse_proxy_header(std::string_view bytes, proxy_header& out,
                                              const proxy_limits& limits = {});

}  // namespace coracle::net
