#pragma once

#include "tls/openssl.hpp"

#include <coracle/tls/certificate.hpp>

namespace coracle::tls {

class certificate::implementation {
public:
    explicit implementation(detail::x509_ptr x) noexcept : x509(std::move(x)) {}
    detail::x509_ptr x509;
};

namespace detail {

/// Takes a reference of its own; null gives an empty one.
certificate certificate_of(X509* x);

}  // namespace detail

}  // namespace coracle::tls
