#pragma once

#include "tls/credentials.hpp"

#include <cstdio>

namespace coracle::tls::detail {

/// Applies what both sides have in common.
std::expected<void, error> apply(SSL_CTX* to, const common_options& o);

/// Loads a provider by its name, beside those that are there; null for an empty name.
std::expected<provider_ptr, error> load_provider(const std::string& name);

/// Adds the certificates of a PEM file or text, and gives them, to the authorities of `to`.
std::expected<std::vector<x509_ptr>, error> trust(SSL_CTX* to, const std::string& from);

/// Has authorities looked up in a folder of hashed names.
std::expected<void, error> trust_folder(SSL_CTX* to, const std::string& folder);

/// Gives `to` a certificate, its chain and its key.
std::expected<void, error> use(SSL_CTX* to, const credentials& c);

/// A list of protocols as ALPN sends it (RFC 7301 section 3.1).
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
