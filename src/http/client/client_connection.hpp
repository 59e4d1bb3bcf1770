#pragma once

#include "http/client/client_exchange.hpp"

#include <coracle/base/detail/intrusive_list.hpp>
#include <coracle/net/byte_stream.hpp>
#include <coracle/runtime/timer.hpp>
#include <coracle/tls/session_info.hpp>

#include <memory>

namespace coracle::http::detail {

class origin;

/// The link of a connection in the list of its origin's idle ones, or of its pool's used ones.
struct pool_link : list_hook {};
/// The link in the list of all idle connections.
struct idle_link : list_hook {};

/// A connection to an origin, directly or through a proxy, as its pool sees it: it has places for
/// exchanges, and is idle while it has none under way.
class client_connection : public pool_link,
                          public idle_link,
                          public coracle::detail::pooled,
                          protected deadline {
public:
    client_connection(origin& home, std::unique_ptr<net::byte_stream> stream,
                      const tls::session_info* secured);
    client_connection(const client_connection&) = delete;
    client_connection& operator=(const client_connection&) = delete;

    origin& home() const noexcept { return *home_; }
    net::byte_stream& stream() noexcept { return *stream_; }
    const tls::session_info* secured() const noexcept { return secured_; }
    /// The certificate that the origin sent in the handshake.
    const tls::certificate& certificate() const noexcept { return certificate_; }
    time_point born() const noexcept { return born_; }
    /// Returns true while its loop runs.
    bool alive() const noexcept { return stream_ != nullptr; }

    /// Begins an exchange; there must be a free place.
    virtual client_exchange& begin_exchange() = 0;
    /// Watches an idle connection. Returns false when the peer has closed it already.
    virtual bool begin_waiting(time_point until) noexcept = 0;
    virtual void end_waiting() noexcept = 0;
    /// Returns true if an idle connection can carry another exchange.
    virtual bool fit() noexcept = 0;
    /// Closes and destroys the connection.
    virtual void end(bool reset) noexcept = 0;
    /// Closes the connection without destroying it, because its loop ends.
    virtual void abandon() noexcept = 0;

protected:
    virtual ~client_connection();

    std::unique_ptr<net::byte_stream> stream_;

private:
    void expired() noexcept override;

    origin* home_;
    const tls::session_info* secured_;
    tls::certificate certificate_;
    time_point born_;
};

}  // namespace coracle::http::detail
