#pragma once

#include <coracle/base/error.hpp>
#include <coracle/tls/error.hpp>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <expected>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::tls::detail {

template <auto Free>
struct freed_by {
    template <class T>
    void operator()(T* p) const noexcept {
        Free(p);
    }
};

using bio_ptr = std::unique_ptr<BIO, freed_by<BIO_free_all>>;
using ssl_ptr = std::unique_ptr<SSL, freed_by<SSL_free>>;
using ssl_ctx_ptr = std::unique_ptr<SSL_CTX, freed_by<SSL_CTX_free>>;
using ssl_session_ptr = std::unique_ptr<SSL_SESSION, freed_by<SSL_SESSION_free>>;
using x509_ptr = std::unique_ptr<X509, freed_by<X509_free>>;
using x509_store_ptr = std::unique_ptr<X509_STORE, freed_by<X509_STORE_free>>;
using provider_ptr = std::unique_ptr<OSSL_PROVIDER, freed_by<OSSL_PROVIDER_unload>>;
using pkey_ptr = std::unique_ptr<EVP_PKEY, freed_by<EVP_PKEY_free>>;

/// Forgets what OpenSSL has to say about earlier failures on this thread, of which there seldom are
/// any: clearing its queue takes as long as a small record.
inline void forget_failures() noexcept {
    if (ERR_peek_error() != 0) ERR_clear_error();
}

/// Reads and forgets what OpenSSL has to say about the last failure on this thread: its first
/// reason, or an empty text.
std::string take_reasons();

/// The failure that OpenSSL's error queue tells of, and forgets.
error take_failure(errc otherwise, const char* operation);

/// Whether the text is the thing itself rather than the name of a file.
bool is_inline(std::string_view text) noexcept;

/// Whether a name is that of an IP address.
bool is_ip_address(const std::string& name);

/// All of a file or of a text that is the thing itself.
std::expected<std::string, error> contents_of(std::string_view text, const char* operation);

/// What has been written into a memory BIO.
std::string text_in(BIO* memory);

/// A BIO that reads `text`, which must outlive it.
bio_ptr reading(std::string_view text);

}  // namespace coracle::tls::detail
