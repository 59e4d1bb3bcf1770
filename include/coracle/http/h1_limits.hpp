#pragma once

#include <cstdint>

namespace coracle::http {

/// Limits for a client that speaks HTTP/1. Each has a counter in `server_counters`.
struct h1_limits {
    /// Bytes of a request head. Default 64 KiB; beyond it 431.
    std::uint32_t head = 64 * 1024;
    /// Field lines of a head. Default 100; beyond it 431.
    std::uint32_t fields = 100;
    /// Bytes of the request line. Default 8 KiB; beyond it 414.
    std::uint32_t request_line = 8 * 1024;
    /// Bytes of one field line. Default 16 KiB; beyond it 431.
    std::uint32_t field = 16 * 1024;
    /// Bytes of a chunk-size line with its extensions. Default 256.
    std::uint32_t chunk_line = 256;
    /// Bytes of chunk framing beyond 16 a chunk and twice the data. Default 16 KiB.
    std::uint32_t chunk_overhead = 16 * 1024;
    /// Bytes of a trailer section. Default 16 KiB.
    std::uint32_t trailers = 16 * 1024;
    /// Trailer fields. Default 32.
    std::uint32_t trailer_fields = 32;
    /// Requests of one read that are served before other connections get their turn. Default 16.
    std::uint32_t pipelined = 16;
};

}  // namespace coracle::http
