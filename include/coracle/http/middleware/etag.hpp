#pragma once

#include <coracle/http/handler.hpp>

#include <cstddef>
#include <memory>

namespace coracle::http {

struct etag_options {
    /// Larger bodies get no ETag. SHA-256 takes about a millisecond for a megabyte or two. Default
    /// 1 MiB.
    std::size_t longest = 1024 * 1024;
};

/// Middleware that gives responses to GET and HEAD with status 200 and a body in memory a strong
/// ETag, of their content, and evaluates the preconditions of the request (RFC 9110 section 13):
/// 304 without a body for a client that has it already, 412 where If-Match or
/// If-Unmodified-Since fails. ETags that the
/// handler sets are left as they are, weak ones too. The handler runs in any case: it saves bytes,
/// not work. Responses with "Cache-Control: no-store" are left alone. It belongs inside of
/// `compress`, `cors` and `ranges`.
class etag {
public:
    explicit etag(etag_options options = {});
    handler operator()(handler inner) const;

    class rules;

private:
    std::shared_ptr<const rules> rules_;
};

}  // namespace coracle::http
