#pragma once

#include "tls/openssl.hpp"

#include <coracle/tls/certificate.hpp>

#include <openssl/x509v3.h>

namespace coracle::tls {

class certificate::implementation {
public:
    explicit implementation(detail::x509_ptr x) noexcept : x509(std::move(x)) {}
    detail::x509_ptr x509;
};

namespace detail {

/// RFC 9525 section 6.3: the common name of the subject is no name of a host.
inline constexpr unsigned host_flags =
    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;

/// Seconds since 1970; 0 for what is no time.
std::int64_t seconds_of(const ASN1_TIME* t);

/// Takes a reference of its own; null gives an empty one.
certificate certificate_of(X509* x);

}  // namespace detail

}  // namespace coracle::tls
