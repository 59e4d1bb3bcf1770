#pragma once

#include <coracle/base/secret.hpp>
#include <coracle/runtime/clock.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace coracle::tls {

enum class version : std::uint8_t { tls_1_2, tls_1_3 };

/// The encoding of a certificate or a key.
enum class encoding : std::uint8_t {
    any,       ///< as it turns out
    pem,       ///< text (RFC 7468)
    der,       ///< a single one, in bytes
    pkcs12,    ///< certificates and a key in one container (RFC 7292)
    provider,  ///< a URI that a provider of OpenSSL opens
};

/// A certificate with its chain and its private key. Each text is a path (PEM, DER or PKCS#12), a
/// URI that a provider of OpenSSL opens ("pkcs11:..."), or the thing itself: PEM text or DER bytes.
struct certificate_source {
    /// The certificate, and after it those of its chain.
    std::string certificate = {};
    /// Empty: it is where the certificate is.
    secret key = {};
    /// The password of an encrypted key or a PKCS#12 file.
    secret password = {};
    /// The response of the issuer's OCSP responder (RFC 6960, DER) that a server staples; a path,
    /// or the bytes. Default: none.
    std::string ocsp_response = {};
    /// The required encodings of `certificate` and `key`; others are refused.
    encoding certificate_encoding = encoding::any;
    encoding key_encoding = encoding::any;
};

/// The demand of a server for a client's certificate.
enum class client_certificates : std::uint8_t { none, optional, required };

/// Options of both sides.
struct common_options {
    version minimum = version::tls_1_2;
    version maximum = version::tls_1_3;
    /// The cipher suites for TLS 1.2, as OpenSSL writes them. Default: AEAD with forward secrecy
    /// only.
    std::string ciphers = {};
    /// The cipher suites for TLS 1.3. Default: OpenSSL's.
    std::string cipher_suites = {};
    /// Key exchange groups. Default "X25519MLKEM768:X25519:P-256:P-384", the first where OpenSSL
    /// knows it (3.5 and later).
    std::string groups = {};
    /// ALPN (RFC 7301), best first. Default: none. A server refuses clients that offer others only.
    std::vector<std::string> protocols = {};
    /// A file to which the secrets of every connection are appended, for debugging with Wireshark:
    /// a reader of the file can decrypt the connections. Default: none.
    std::string key_log = {};
    /// The name of an OpenSSL provider, such as "pkcs11", that is loaded beside the default one,
    /// for as long as the context lives: keys may be in it. Default: none.
    std::string provider = {};
    /// The limit from the first byte to the end of the handshake. Default 10 s.
    duration handshake_timeout = std::chrono::seconds(10);
    /// KeyUpdate messages (RFC 8446 section 4.6.3) with less than 64 KiB of data behind each.
    /// Default 32.
    unsigned key_updates = 32;
};

struct server_options : common_options {
    /// The first one that has the name a client asks for (SNI, RFC 6066) is shown, else the first
    /// that has it by a wildcard, else the first of all. A later one for the very same names
    /// with another kind of key (RSA beside EC) goes with it: the handshake chooses between them.
    std::vector<certificate_source> certificates = {};
    /// Clients' certificates are verified against `client_authorities`.
    client_certificates clients = client_certificates::none;
    /// Path of a PEM file, or the PEM text.
    std::string client_authorities = {};
    /// Certificate revocation lists (RFC 5280) for clients' certificates, one of each authority in
    /// their chains: the path of a PEM file, or the PEM text. A client whose certificate is on one,
    /// or is of an authority without a list that is up to date, is refused. Read again with the
    /// certificates. Default: none, and nothing is looked at.
    std::string client_revocations = {};
    /// Session tickets (RFC 5077, RFC 8446 section 4.6.1), so that clients come back at a third of
    /// the cost. Default: on.
    bool tickets = true;
    /// The lifetime of a ticket; its key is replaced after half of it. Default 12 h.
    duration ticket_lifetime = std::chrono::hours(12);
    /// At least 32 random bytes that servers share, and derive the keys of their tickets from: then
    /// a session that began with one of them is resumed by each, and after a restart. They have to
    /// have the same `ticket_lifetime`, and for clients with certificates the same authorities and
    /// lists. Who knows it can decrypt sessions of TLS 1.2. Default: none; the keys are random.
    secret ticket_secret = {};
};

struct client_options : common_options {
    /// Trusts the authorities that the system trusts. Default: yes.
    bool system_authorities = true;
    /// More authorities: the path of a PEM file, or the PEM text.
    std::string authorities = {};
    /// More authorities: a folder of PEM files that are named by the hash of their subject
    /// ("openssl rehash"), which are read, without a detour through other threads, as they are
    /// needed.
    std::string authority_folder = {};
    /// The certificate to show to servers that request one. Default: none.
    certificate_source identity = {};
    /// Accepts any certificate for any name: an attacker in between can read and change everything.
    /// Logged at each connection. Default: no.
    bool insecure = false;
    /// Sessions kept for later connections (RFC 8446 section 2.2), in all; of one host at most 32.
    /// Default 256; 0: none.
    unsigned sessions = 256;
};

}  // namespace coracle::tls
