#include "tls/settings.hpp"

#include <sys/stat.h>

#include <cerrno>

namespace coracle::tls::detail {
namespace {

/// Forward secrecy and AEAD only; AES before ChaCha20 unless the client prefers that.
constexpr const char* default_ciphers =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";

/// No finite-field groups: a client could make us compute with 8,192 bits.
constexpr const char* default_groups = "X25519:P-256:P-384";
/// Where OpenSSL knows it (3.5 and later): keys that were recorded now stay secret from quantum
/// computers. Clients send shares for both that are marked, as most servers do not know the first.
constexpr const char* groups_with_hybrid = "*X25519MLKEM768:*X25519:P-256:P-384";

bool set_groups(SSL_CTX* to, const std::string& wanted) {
    if (!wanted.empty()) return SSL_CTX_set1_groups_list(to, wanted.c_str()) == 1;
    if (SSL_CTX_set1_groups_list(to, groups_with_hybrid) == 1) return true;
    ERR_clear_error();
    return SSL_CTX_set1_groups_list(to, default_groups) == 1;
}

int number_of(version v) noexcept {
    return v == version::tls_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION;
}

std::unexpected<error> bad_option(const char* name, const std::string& value) {
    ERR_clear_error();
    error e(make_error_code(errc::bad_option), name, phase::tls);
    return std::unexpected(std::move(e.on(value)));
}

}  // namespace

std::expected<void, error> apply(SSL_CTX* to, const common_options& o) {
    // Row 22 of docs/limits.md: no renegotiation, no compression.
    SSL_CTX_set_options(to,
                        SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_PRIORITIZE_CHACHA);
    // Releases OpenSSL's buffers of idle connections: saves 34 KB each.
    SSL_CTX_set_mode(to, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (o.minimum > o.maximum) return bad_option("minimum", "above maximum");
    SSL_CTX_set_min_proto_version(to, number_of(o.minimum));
    SSL_CTX_set_max_proto_version(to, number_of(o.maximum));
    const char* const ciphers = o.ciphers.empty() ? default_ciphers : o.ciphers.c_str();
    if (SSL_CTX_set_cipher_list(to, ciphers) != 1) return bad_option("ciphers", o.ciphers);
    if (!o.cipher_suites.empty() && SSL_CTX_set_ciphersuites(to, o.cipher_suites.c_str()) != 1) {
        return bad_option("cipher_suites", o.cipher_suites);
    }
    if (!set_groups(to, o.groups)) return bad_option("groups", o.groups);
    return {};
}

std::expected<provider_ptr, error> load_provider(const std::string& name) {
    if (name.empty()) return {};
    // Without this flag OpenSSL would no longer use the default provider for everything else.
    constexpr int beside_the_default = 1;
    provider_ptr loaded(OSSL_PROVIDER_try_load(nullptr, name.c_str(), beside_the_default));
    if (loaded != nullptr) return loaded;
    const std::string why = take_reasons();
    error e(make_error_code(errc::provider_unavailable), "provider", phase::tls);
    return std::unexpected(std::move(e.on(why.empty() ? name : name + " (" + why + ')')));
}

std::expected<std::vector<x509_ptr>, error> trust(X509_STORE* to, const std::string& from) {
    auto all = read_authorities(from);
    if (!all) return all;
    for (const x509_ptr& a : *all) X509_STORE_add_cert(to, a.get());
    return all;
}

std::expected<std::vector<crl_ptr>, error> refuse_revoked(X509_STORE* to, const std::string& from) {
    auto all = read_revocations(from);
    if (!all) return all;
    for (const crl_ptr& l : *all) X509_STORE_add_crl(to, l.get());
    X509_STORE_set_flags(to, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
    return all;
}

std::expected<void, error> trust_folder(SSL_CTX* to, const std::string& folder) {
    // OpenSSL accepts any name, even of a missing folder.
    struct stat s{};
    int why = ::stat(folder.c_str(), &s) == 0 ? 0 : errno;
    if (why == 0 && !S_ISDIR(s.st_mode)) why = ENOTDIR;
    if (why != 0) {
        error e(std::error_code(why, std::generic_category()), "authority_folder", phase::tls);
        return std::unexpected(std::move(e.on(folder)));
    }
    if (SSL_CTX_load_verify_dir(to, folder.c_str()) == 1) return {};
    return std::unexpected(take_failure(errc::certificate_unreadable, "authority_folder"));
}

std::expected<void, error> use(SSL_CTX* to, const credentials& c) {
    bool good = SSL_CTX_use_certificate(to, c.certificate.get()) == 1 &&
                SSL_CTX_use_PrivateKey(to, c.key.get()) == 1;
    if (good) SSL_CTX_clear_chain_certs(to);
    for (const x509_ptr& link : c.chain) {
        good = good && SSL_CTX_add1_chain_cert(to, link.get()) == 1;
    }
    if (good) return {};
    return std::unexpected(take_failure(errc::certificate_unreadable, "certificate"));
}

std::expected<std::string, error> protocol_list(const std::vector<std::string>& protocols) {
    std::string list;
    for (const std::string& p : protocols) {
        if (p.empty() || p.size() > 255) return bad_option("protocols", p);
        list += static_cast<char>(static_cast<unsigned char>(p.size()));
        list += p;
    }
    return list;
}

key_log::~key_log() {
    if (file_ != nullptr) std::fclose(file_);
}

std::expected<void, error> key_log::open(const std::string& path) {
    file_ = std::fopen(path.c_str(), "ae");
    if (file_ != nullptr) return {};
    error e(std::error_code(errno, std::generic_category()), "key_log", phase::tls);
    return std::unexpected(std::move(e.on(path)));
}

void key_log::write(const char* line) noexcept {
    // One call for each line, since stdio locks the file during a call.
    std::fprintf(file_, "%s\n", line);
    std::fflush(file_);
}

}  // namespace coracle::tls::detail
