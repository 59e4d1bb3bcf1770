#pragma once

#include <coracle/tls/certificate.hpp>
#include <coracle/tls/session_info.hpp>

#include <string>
#include <vector>

namespace coracle::smtp::detail {

/// A proof of the TLS connection that it is made in, for SCRAM (RFC 5056).
struct channel_binding {
    std::string type = {};  ///< "tls-exporter", "tls-server-end-point"; empty: there is none
    std::string data = {};
    bool empty() const noexcept { return type.empty(); }
};

/// The bindings to a connection whose server has shown `server`, the best first: tls-exporter (RFC
/// 9266) where it is TLS 1.3, and tls-server-end-point (RFC 5929).
std::vector<channel_binding> bindings_of(const tls::session_info& connection,
                                         const tls::certificate& server);

}  // namespace coracle::smtp::detail
