#pragma once

#include "tls/openssl.hpp"

namespace coracle::tls::detail {

/// OpenSSL reports every message to it; it counts those with a limit.
void watch_message(int sent, int version, int type, const void* bytes, std::size_t size, SSL* s,
                   void* user);

/// OpenSSL calls it for every certificate of a peer; it records the one that was refused.
int remember_refusal(int good, X509_STORE_CTX* verification);

}  // namespace coracle::tls::detail
