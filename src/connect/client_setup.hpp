#pragma once

#include <coracle/connect/client_options.hpp>
#include <coracle/net/socket.hpp>

#include <string>

namespace coracle::connect::detail {

bool same_files(const certificate_options& a, const certificate_options& b) noexcept;

socket_options socket_options_of(const client_socket_options& o) noexcept;

/// The options of a TLS context, but for ALPN, time limits and `insecure`.
tls::client_options tls_options_of(const client_tls_options& o, const certificate_options& files,
                                   const std::string& engine);

}  // namespace coracle::connect::detail
