#pragma once

#include <coracle/http/handler.hpp>

#include <cstdint>

namespace coracle::http {

/// Middleware that bounds the body of requests, in bytes as they are read: below `server_limits::
/// body`, for one route or a group. Where the client announces more the response is 413 before the
/// handler is called; where it does not, the read that goes beyond fails with status 413, however
/// the handler reads: in pieces, as a form, or passed on. Inside of `decompress` the decoded bytes
/// count.
class body_limit {
public:
    explicit body_limit(std::uint64_t bytes) noexcept : bytes_(bytes) {}
    handler operator()(handler inner) const;

private:
    std::uint64_t bytes_;
};

}  // namespace coracle::http
