#pragma once

#include "tls/credentials.hpp"

#include <cstdio>

namespace coracle::tls::detail {

/// Applies the settings of both sides.
std::expected<void, error> apply(SSL_CTX* to, const common_options& o);

/// Loads a provider by its name, in addition to others; returns null for an empty name.
std::expected<provider_ptr, error> load_provider(const std::string& name);

/// Adds the certificates of a PEM file or text to the authorities in `to`, and returns them.
std::expected<std::vector<x509_ptr>, error> trust(X509_STORE* to, const std::string& from);
/// Has certificates refused that are on these lists, or of an authority that has none of them.
std::expected<std::vector<crl_ptr>, error> refuse_revoked(X509_STORE* to, const std::string& from);

/// Lets authorities be looked up in a folder of hashed names.
std::expected<void, error> trust_folder(SSL_CTX* to, const std::string& folder);

/// Sets a certificate, its chain and its key.
std::expected<void, error> use(SSL_CTX* to, const credentials& c);

/// Returns a list of protocols in the format of ALPN (RFC 7301 section 3.1).
std::expected<std::string, error> protocol_list(const std::vector<std::string>& protocols);

/// The lines of a key log, of all contexts and threads, each written whole.
class key_log {
public:
    key_log() noexcept = default;
    key_log(const key_log&) = delete;
    key_log& operator=(const key_log&) = delete;
    ~key_log();
    std::expected<void, error> open(const std::string& path);
    void write(const char* line) noexcept;

private:
    std::FILE* file_ = nullptr;
};

}  // namespace coracle::tls::detail
