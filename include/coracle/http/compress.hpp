#pragma once

#include <coracle/http/coding.hpp>
#include <coracle/http/handler.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace coracle::http {

struct compress_options {
    /// The codings to offer, the preferred first: among codings that the client likes as much, the
    /// first is taken. Default zstd, brotli, gzip.
    std::vector<content_coding> codings = {content_coding::zstd, content_coding::brotli,
                                           content_coding::gzip};
    /// Bytes of a body below which it is left alone. A body of unknown size never is. Default 1
    /// KiB.
    std::size_t least = 1024;
    /// Media types ("type/subtype" or "type/*") to compress besides those that are known to become
    /// smaller: text, JSON, XML, scripts, SVG, WebAssembly, uncompressed fonts and the like.
    std::vector<std::string> types = {};
};

/// Middleware that compresses responses as the client's Accept-Encoding allows (RFC 9110 section
/// 12.5.3): `routes.use(http::compress())`.
///
/// A body in memory is compressed whole and keeps its Content-Length; it is sent as it was when
/// that makes it no smaller. A stream is compressed while it is written, and every piece that the
/// handler writes reaches the client when it is written, so that events do not wait. A file is read
/// and compressed in pieces. Whatever is long gives way to other tasks after every 32 KiB.
///
/// Sets Content-Encoding, adds Vary: Accept-Encoding (also to responses that it leaves alone only
/// because the client accepts no coding), makes a strong ETag weak and drops Accept-Ranges.
/// Responses that have a Content-Encoding, a Content-Range, a digest of their content or
/// `Cache-Control: no-transform`, and 1xx, 204, 205, 206 and 304, are left alone. HEAD has the
/// fields of GET but Content-Length.
///
/// An encoder at work holds 262 KiB (gzip, level 6), 1.8 MiB (brotli, quality 5) or 1.3 MiB (zstd,
/// level 3); each loop keeps two of each coding for reuse.
///
/// Where one response holds both a secret and text that the client's request chose, its length
/// reveals the secret (BREACH): leave such routes out.
class compress {
public:
    explicit compress(compress_options options = {});
    handler operator()(handler inner) const;

private:
    std::shared_ptr<const compress_options> options_;
};

struct decompress_options {
    decoding_limits limits = {};
    /// Bytes of the window of a decoder, in place of `limits.window` where that is larger: what one
    /// small body may make the server hold. Default 1 MiB; a body that needs more is refused with
    /// 413.
    std::uint64_t window = 1024 * 1024;
    /// Bytes that the decoders of one loop hold together. Default 32 MiB; the body whose decoder
    /// goes beyond is refused with 503.
    std::uint64_t memory = 32 * 1024 * 1024;
    /// The codings to accept; any other gets 415 and this list. Default: all.
    std::vector<content_coding> codings = {content_coding::zstd, content_coding::brotli,
                                           content_coding::gzip, content_coding::deflate};
};

/// Middleware that gives handlers the decoded body of a request with a Content-Encoding, which is
/// removed together with Content-Length. Content is decoded as it is read. Reading fails with a
/// `coding_error`, which an uncaught exception makes 413 for content beyond its limits and 400 for
/// content that is corrupt or cut short; the connection is closed then. A coding that is not
/// accepted, or more codings than the limit, gets 415 and Accept-Encoding (RFC 9110 section
/// 15.5.16) before the handler is called.
class decompress {
public:
    explicit decompress(decompress_options options = {});
    handler operator()(handler inner) const;

private:
    std::shared_ptr<const decompress_options> options_;
};

}  // namespace coracle::http
