#include "tls/library.hpp"

#include <openssl/crypto.h>

namespace coracle::tls::detail {

void begin_library() noexcept {
    // TLS needs these in any case; without an option the call would do nothing.
    OPENSSL_init_crypto(OPENSSL_INIT_ADD_ALL_DIGESTS, nullptr);
}

}  // namespace coracle::tls::detail
