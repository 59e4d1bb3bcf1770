#pragma once

#include "tls/openssl.hpp"

#include <coracle/tls/options.hpp>

#include <vector>

namespace coracle::tls::detail {

/// A certificate, its chain and its key, as read from a `certificate_source`.
struct credentials {
    x509_ptr certificate;
    std::vector<x509_ptr> chain;
    pkey_ptr key;
    std::string ocsp_response;
};

/// Reads a source in any form: PEM, DER, PKCS#12, a provider's URI, a file or memory.
std::expected<credentials, error> read_credentials(const certificate_source& from);

/// Reads the certificates of a PEM file or text; there must be at least one.
std::expected<std::vector<x509_ptr>, error> read_authorities(const std::string& from);
/// Reads revocation lists, PEM.
std::expected<std::vector<crl_ptr>, error> read_revocations(const std::string& from);

/// The DNS names that a certificate is for, in lower case, "*." included.
std::vector<std::string> dns_names(X509* of);

}  // namespace coracle::tls::detail
