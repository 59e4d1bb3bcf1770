#pragma once

#include <coracle/http/request.hpp>
#include <coracle/http/response.hpp>

#include <string>
#include <string_view>

namespace coracle::http::detail {

/// The request of a client to go on with another protocol, which a proxy passes on (RFC 9110
/// section 7.8, RFC 8441). Either side may speak HTTP/1.1 or HTTP/2, which differ in the fields of
/// WebSocket: the key and its acceptance exist in HTTP/1.1 alone (RFC 8441 section 5).
class passed_upgrade {
public:
    /// False when the client requested none, or sends a body, or `allowed` says no.
    passed_upgrade(request& req, bool allowed);

    explicit operator bool() const noexcept { return !protocol_.empty(); }
    const std::string& protocol() const noexcept { return protocol_; }

    /// Adds the key that the upstream needs, where the client sent none.
    void prepare(fields& out) const;
    /// Returns true if the upstream goes on with the other protocol.
    bool has_switched(const response& r) const noexcept;
    /// The response for the client, whose connection is joined with that of the upstream.
    response pass_back(response r, fields kept, duration idle) const;

private:
    std::string protocol_;
    std::string key_;       ///< the client's; empty over HTTP/2
    std::string made_key_;  ///< for the upstream, where the client sent none
};

}  // namespace coracle::http::detail
