#pragma once

#include <cstdint>

namespace coracle::http {

/// Limits for the peer of an HTTP/2 connection. A peer that exceeds one loses its stream or the
/// connection (ENHANCE_YOUR_CALM), and is counted.
struct h2_limits {
    /// Streams that the peer may have open at once (SETTINGS_MAX_CONCURRENT_STREAMS). Default 100.
    std::uint32_t streams = 100;
    /// Bytes of one head: names, values and 32 for each field (RFC 9113 section 6.5.2). Default 64
    /// KiB.
    std::uint32_t head = 64 * 1024;
    /// Bytes of the heads of all requests of a connection that are under way, counted in the same
    /// way; for servers. A stream beyond it is refused, unless it is the only one. Default 1 MiB:
    /// 100 requests with 8 KiB of cookies each.
    std::uint32_t heads = 1024 * 1024;
    /// Field lines of one head, of which all crumbs of a cookie are one and pseudo-fields none.
    /// Default 100.
    std::uint32_t fields = 100;
    /// Bytes of one head as compressed. Default 64 KiB.
    std::uint32_t compressed_head = 64 * 1024;
    /// CONTINUATION frames of one head. Default 8.
    std::uint32_t continuations = 8;
    /// Bytes of a trailer section, and its field lines. Default 16 KiB, 32.
    std::uint32_t trailers = 16 * 1024;
    std::uint32_t trailer_fields = 32;
    /// Streams that were reset by the peer, or by us because of its fault: a burst, and a rate per
    /// second. Default 200 and 20.
    std::uint32_t resets = 200;
    std::uint32_t resets_per_second = 20;
    /// Handlers beyond `streams`: those of streams that were reset, until they have ended; for
    /// servers. Then a stream is refused. Default 100.
    std::uint32_t reset_handlers = 100;
    /// PING and SETTINGS frames at once, of which a tenth comes back each second, and settings in
    /// one frame. One PING is free whenever a stream was opened or DATA was sent since the last.
    /// Default 100, 10 and 32.
    std::uint32_t pings = 100;
    std::uint32_t settings_frames = 10;
    std::uint32_t settings_entries = 32;
    /// Frames without effect (PRIORITY, unknown types, WINDOW_UPDATE without data to send, frames
    /// for streams that ended): a burst, and a rate per second. Default 1,000 and 100.
    std::uint32_t idle_frames = 1000;
    std::uint32_t idle_frames_per_second = 100;
    /// Empty DATA frames in a row that do not end their stream. Default 16.
    std::uint32_t empty_data = 16;
    /// A DATA frame of fewer than 256 bytes is charged the difference until the content of its
    /// stream has been consumed; this is the most that may be charged, in bytes. Default 8 MiB:
    /// frames of 64 bytes and more fill the connection's window before.
    std::uint32_t small_data = 8 * 1024 * 1024;
    /// Bytes of queued control frames (acknowledgements, resets). Default 16 KiB.
    std::uint32_t queued_control = 16 * 1024;
    /// Interim responses before a final one, for clients. Default 16.
    std::uint32_t interim_responses = 16;
    /// The first and the largest window of a stream, and that of the connection, in bytes: what the
    /// peer may send before it is read. A stream that is not read holds up the others once the
    /// connection's window is full, so it should be larger than that of a stream. The connection's
    /// is 65,535 at least (RFC 9113 section 6.9.2), and none is larger than 2^31 - 1
    /// (section 6.9.1), that of a stream is 1 at least. Default 64 KiB, 1 MiB and 2 MiB.
    std::uint32_t stream_window = 64 * 1024;
    std::uint32_t max_stream_window = 1024 * 1024;
    std::uint32_t connection_window = 2 * 1024 * 1024;
};

/// The limits of a client's connections: larger windows, and as many small frames in them, as those
/// that it reads are its own choice.
inline constexpr h2_limits default_client_h2_limits = {.small_data = 64 * 1024 * 1024,
                                                       .max_stream_window = 4 * 1024 * 1024,
                                                       .connection_window = 16 * 1024 * 1024};

}  // namespace coracle::http
