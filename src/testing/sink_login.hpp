#pragma once

#include "smtp/channel_binding.hpp"

#include <coracle/testing/smtp_sink.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::testing::detail {

/// The server's side of one SASL exchange, of bytes.
class sink_login {
public:
    enum class verdict : std::uint8_t { challenge, accepted, refused };
    struct step {
        verdict what = verdict::refused;
        std::string challenge = {};
        std::string user = {};  ///< that was accepted; empty: `smtp_sink_options::user`
    };

    virtual ~sink_login() = default;
    /// `said`: what came with AUTH, or behind a challenge; nothing: AUTH alone.
    virtual step take(std::optional<std::string_view> said) = 0;
};

/// Null for a mechanism that is not known. `bindings`: those of the channel that a client may use.
std::unique_ptr<sink_login> make_login(std::string_view mechanism, const smtp_sink_options& o,
                                       std::vector<smtp::detail::channel_binding> bindings,
                                       std::uint64_t nonce);

}  // namespace coracle::testing::detail
