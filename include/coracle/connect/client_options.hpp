#pragma once

#include <coracle/base/secret.hpp>
#include <coracle/runtime/clock.hpp>
#include <coracle/tls/options.hpp>

#include <chrono>
#include <cstdint>
#include <string>

// Options that all clients have.
namespace coracle::connect {

/// Our certificate and key for a TLS server, and the trusted authorities, as paths, with curl's
/// names.
struct certificate_options {
    std::string certificate = {};       ///< sslcert
    std::string certificate_type = {};  ///< sslcerttype: PEM, DER, P12; empty: from the file
    std::string key = {};               ///< sslkey
    std::string key_type = {};          ///< sslkeytype: PEM, DER, ENG, PROV
    secret key_password = {};           ///< keypasswd
    std::string authorities = {};       ///< cainfo: a PEM file, in place of the system's
    std::string authority_folder =
        {};  ///< capath: a folder of hashed names, in place of the system's
};

/// Limits of what TLS agrees on, with origins and with https proxies. Texts are as OpenSSL writes
/// them.
struct client_tls_options {
    tls::version minimum = tls::version::tls_1_2;
    tls::version maximum = tls::version::tls_1_3;
    std::string ciphers = {};        ///< of TLS 1.2; empty: AEAD with forward secrecy only
    std::string cipher_suites = {};  ///< of TLS 1.3; empty: OpenSSL's
    std::string groups = {};         ///< of the key exchange; empty: those of `tls::common_options`
    /// A file to which the secrets of every connection are appended, for Wireshark: who reads it
    /// reads the connections. Default none.
    std::string key_log = {};

    friend bool operator==(const client_tls_options&, const client_tls_options&) = default;
};

/// How the sockets of a client are opened. Zero: as the system has it.
struct client_socket_options {
    bool no_delay = true;              ///< TCP_NODELAY
    duration user_timeout{};           ///< unacknowledged bytes end a connection (TCP_USER_TIMEOUT)
    bool keep_alive = false;           ///< SO_KEEPALIVE
    duration keep_alive_idle{};        ///< before the first probe, in whole seconds
    duration keep_alive_interval{};    ///< between two probes, in whole seconds
    unsigned keep_alive_count = 0;     ///< probes without a reply that end a connection
    std::uint32_t send_buffer = 0;     ///< SO_SNDBUF, bytes
    std::uint32_t receive_buffer = 0;  ///< SO_RCVBUF, bytes
    std::uint8_t type_of_service = 0;  ///< IP_TOS, IPV6_TCLASS
    std::uint32_t mark = 0;            ///< SO_MARK; needs CAP_NET_ADMIN
    std::uint16_t first_local_port = 0;  ///< IP_LOCAL_PORT_RANGE, kernels since 6.3
    std::uint16_t last_local_port = 0;   ///< of that range

    friend bool operator==(const client_socket_options&, const client_socket_options&) = default;
};

}  // namespace coracle::connect
