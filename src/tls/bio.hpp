#pragma once

#include "tls/openssl.hpp"

namespace coracle::tls::detail {

class encrypted_stream;

/// Lets OpenSSL read from and write to a stream, without waiting. Returns null without memory.
BIO* make_bio(encrypted_stream& s);

}  // namespace coracle::tls::detail
