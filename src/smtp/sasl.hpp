#pragma once

#include "smtp/channel_binding.hpp"

#include <coracle/base/error.hpp>
#include <coracle/base/secret.hpp>
#include <coracle/smtp/client_options.hpp>

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::smtp::detail {

/// The client's side of one SASL exchange (RFC 4422), of bytes: base64 is the caller's. Without
/// input or output of its own.
class sasl_exchange {
public:
    sasl_exchange() = default;
    sasl_exchange(const sasl_exchange&) = delete;
    sasl_exchange& operator=(const sasl_exchange&) = delete;
    virtual ~sasl_exchange() = default;

    /// Returns what is sent with AUTH; nothing: the server begins.
    virtual std::optional<secret> initial() = 0;
    /// Returns what is sent for a challenge. Fails with `errc::authentication_failed` where it
    /// makes no sense, and `errc::server_not_authentic`.
    virtual std::expected<secret, error> respond(std::string_view challenge) = 0;
    /// Returns true if the server has refused, and may have none of the channel binding alone.
    virtual bool may_lack_binding() const noexcept { return false; }
    /// The server has said that all is well: whether it has shown what it had to.
    virtual std::expected<void, error> succeeded() { return {}; }
};

/// Circumstances of an exchange, besides the credentials.
struct sasl_circumstances {
    bool secure = false;           ///< over TLS
    bool has_certificate = false;  ///< and we have shown one
    std::string host = {};
    std::uint16_t port = 0;
    channel_binding binding = {};
    std::uint64_t random[2] = {};
};

/// The name of the best mechanism that is `offered` (in upper case) and may be used; empty: none.
std::string_view choose_mechanism(const std::vector<std::string>& offered, const credentials& who,
                                  const sasl_circumstances& where);

/// A user as GS2 headers and SCRAM write it (RFC 5801 section 4, RFC 5802 section 5.1).
std::string saslname(std::string_view user);

/// Null for a name that `choose_mechanism` does not give.
std::unique_ptr<sasl_exchange> make_exchange(std::string_view mechanism, const credentials& who,
                                             const sasl_circumstances& where,
                                             const std::vector<std::string>& offered);

}  // namespace coracle::smtp::detail
