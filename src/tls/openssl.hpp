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
using crl_ptr = std::unique_ptr<X509_CRL, freed_by<X509_CRL_free>>;
using x509_store_ptr = std::unique_ptr<X509_STORE, freed_by<X509_STORE_free>>;
using provider_ptr = std::unique_ptr<OSSL_PROVIDER, freed_by<OSSL_PROVIDER_unload>>;
using pkey_ptr = std::unique_ptr<EVP_PKEY, freed_by<EVP_PKEY_free>>;

/// Clears OpenSSL's error queue of this thread, if it has any errors: clearing takes as long as a
/// small record.
inline void forget_failures() noexcept {
    if (ERR_peek_error() != 0) ERR_clear_error();
}

/// Returns the first reason in OpenSSL's error queue of this thread, or an empty text, and clears
/// the queue.
std::string take_reasons();

/// Returns the failure in OpenSSL's error queue, and clears the queue.
error take_failure(errc otherwise, const char* operation);

/// Returns true if the text is the content itself rather than the name of a file.
bool is_inline(std::string_view text) noexcept;

/// Returns true if a name is an IP address.
bool is_ip_address(const std::string& name);

/// Returns the name of a host as certificates and SNI have it: without the dot at its end (RFC 6066
/// section 3), and without the zone of an IPv6 address, which is valid on this machine only.
std::string name_in_certificates(std::string_view host);

/// Returns all of a file, or of a text that is the content itself.
std::expected<std::string, error> contents_of(std::string_view text, const char* operation);

/// Returns the text written to a memory BIO.
std::string text_in(BIO* memory);

/// Returns a BIO that reads `text`, which must outlive it.
bio_ptr reading(std::string_view text);

}  // namespace coracle::tls::detail
