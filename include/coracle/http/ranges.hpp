#pragma once

#include <coracle/http/handler.hpp>

namespace coracle::http {

/// Applies the Range field of a GET to the response `whole` (RFC 9110 section 14): when that is a
/// 200 whose body is in memory, a file or `seekable`, and If-Range holds against its ETag or
/// Last-Modified, a 206 with the requested part, or with several as multipart/byteranges, or 416
/// where none exists. Before that the preconditions are evaluated, of HEAD and of a GET without a
/// Range too: 412 where If-Match or If-Unmodified-Since fails, 304 where the client has it. Ranges
/// that overlap or nearly touch are joined; more than 16, and more than two that overlap, are
/// ignored, so that no request makes the response longer than the whole by more than the heads of
/// its parts. Every other response is returned as it is. `Accept-Ranges: bytes` is added to a 200
/// of GET or HEAD. Call it on a loop: its clock decides whether a date is good enough for If-Range.
response ranged(response whole, const request& req);

/// Middleware that applies `ranged` to every response. It belongs inside of `compress`, so that
/// parts are of the bytes that the handler made, and outside of `etag`, which gives tags to wholes.
class ranges {
public:
    handler operator()(handler inner) const;
};

}  // namespace coracle::http
