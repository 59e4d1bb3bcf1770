#pragma once

#include <coracle/net/byte_stream.hpp>
#include <coracle/tls/context.hpp>
#include <coracle/tls/session_info.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tls {

/// A byte stream that is encrypted (RFC 8446, RFC 5246) over another one, which it owns. Records
/// begin small, so that the first bytes can be read early, and grow with what is sent. While the
/// connection waits, it holds no buffer. The end of the stream is the peer's close_notify; without
/// one, receive fails with `tls::errc::truncated`. `close` and `shutdown_output` send ours without
/// waiting: it is lost where the stream below takes nothing just then. After a send that was
/// cancelled in its midst there is none, and later sends fail with `std::errc::connection_aborted`.
class stream : public net::byte_stream, public session_info {
public:
    /// The stream below.
    virtual net::byte_stream& beneath() noexcept = 0;
};

/// The server's side of the handshake over a stream. `received` holds bytes that were read from it
/// already. Completes when the handshake has; fails with a `tls::errc`, with phase tls. `c` must
/// outlive the stream.
operation<std::unique_ptr<stream>> accept(server_context& c,
                                          std::unique_ptr<net::byte_stream> beneath,
                                          buffer received = {});

/// The client's side: `host` is the name, or the IP address, that the server's certificate must be
/// for, and is copied. A dot at its end is left out (RFC 6066 section 3). `protocols`, copied too,
/// are what this connection offers by ALPN; empty: what the context does. `c` must outlive the
/// handshake; the stream may outlive it.
operation<std::unique_ptr<stream>> connect(client_context& c,
                                           std::unique_ptr<net::byte_stream> beneath,
                                           std::string_view host,
                                           const std::vector<std::string>& protocols = {});

}  // namespace coracle::tls
