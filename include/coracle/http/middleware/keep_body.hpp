#pragma once

#include <coracle/http/handler.hpp>

#include <cstddef>
#include <string_view>

namespace coracle::http {

/// Middleware that reads the body of a request before the handler does, so that what stands between
/// them can look at its bytes, to check a signature over them say, and the handler still finds the
/// body: as JSON, as a form, in pieces. At most `limit` bytes; a larger body is 413. The trailers
/// stay as they are.
///
///     routes.use(http::keep_body());
///     routes.use([](http::request& req, const http::handler& next) -> task<http::response> {
///         if (!is_signed(req.header("X-Signature"), http::keep_body::of(req))) co_return 403;
///         co_return co_await next(req);
///     });
class keep_body {
public:
    explicit keep_body(std::size_t limit = received_body::default_limit) noexcept : limit_(limit) {}
    task<response> operator()(request& req, const handler& next) const;

    /// The body of a request that passed through here, until the request ends; empty without one.
    static std::string_view of(const request& req) noexcept;

private:
    std::size_t limit_;
};

}  // namespace coracle::http
