#pragma once

#include "http/client/shard_use.hpp"
#include "http/exchange/h2_tunnel.hpp"

#include <coracle/net/address.hpp>
#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/timer.hpp>

#include <memory>
#include <optional>

namespace coracle::http::detail {

class client_h2_exchange;
class tunnel_handle;

/// The part of an exchange after a switch of protocols: the byte stream, its handle, and the end of
/// the exchange when the handle has been destroyed.
class client_h2_tunnel final : tunnel_carrier, coracle::detail::runnable, deadline {
public:
    client_h2_tunnel(client_h2_exchange& e, loop& owner, const net::address& peer,
                     h2::received_content early, bool ended);
    ~client_h2_tunnel();

    h2_tunnel& bytes() noexcept { return bytes_; }
    /// Returns the stream for its new owner, once. The stream holds `of` while it lives.
    std::unique_ptr<net::byte_stream> give(client_shard& of) noexcept;
    /// To be called when the handle is destroyed.
    void handle_closed() noexcept;
    /// To be called when the stream has changed: the exchange may be over.
    void settle_later() noexcept;

private:
    bool carry(std::span<const std::string_view> pieces, bool end) noexcept override;
    std::uint64_t peer_takes() const noexcept override;
    void consumed(std::size_t bytes) noexcept override;
    void cut_tunnel() noexcept override;
    void run() noexcept override;
    void expired() noexcept override;
    void settle() noexcept;

    client_h2_exchange* exchange_;
    std::uint64_t unsent_ = 0;  ///< bytes, when the end was looked at last
    bool all_sent_ = false;     ///< then
    net::address peer_;         ///< a copy, because the handle may outlive the connection
    h2_tunnel bytes_;
    std::unique_ptr<tunnel_handle> handle_;  ///< until `give`
    std::optional<shard_use> shard_;  ///< the shard, which the exchange needs until it is over
    bool closed_ = false;
};

}  // namespace coracle::http::detail
