#pragma once

#include "tls/openssl.hpp"

namespace coracle::tls::detail {

/// OpenSSL tells it of every message; it counts what has a limit.
void watch_message(int sent, int version, int type, const void* bytes, std::size_t size, SSL* s,
                   void* user);

/// OpenSSL asks it about every certificate of a peer; it remembers whose was refused.
int remember_refusal(int good, X509_STORE_CTX* verification);

}  // namespace coracle::tls::detail
