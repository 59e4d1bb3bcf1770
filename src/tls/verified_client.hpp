#pragma once

#include "tls/client_trust.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::tls::detail {

/// A note in a ticket on the client whose certificate was verified when the session began: by which
/// authorities, and until when the certificates of its chain are valid. A ticket has the client's
/// certificate alone, from which the chain could not be built again.
struct verified_client {
    std::string authorities;  ///< `client_trust::digest`
    std::int64_t until = 0;   ///< seconds since 1970

    /// Nothing where no chain was verified in this handshake.
    static std::optional<verified_client> of(const SSL* s, const client_trust& by);
    /// Nothing where the ticket does not say it.
    static std::optional<verified_client> in(SSL_SESSION* session);
    /// Returns false without memory.
    bool write_to(SSL_SESSION* session) const;
};

}  // namespace coracle::tls::detail
