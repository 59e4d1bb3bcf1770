#pragma once

#include "http/h2/frame.hpp"

#include <coracle/http/h2_limits.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace coracle::http::h2 {

/// The limits for which a session ends a stream or the connection.
enum class limit_kind : std::uint8_t {
    streams,
    head,
    heads,
    continuations,
    resets,
    pings,
    settings,
    idle_frames,
    empty_data,
    small_data,
    queued_control,
    interim_responses,
};
inline constexpr std::size_t limit_kinds = 12;

/// Returns the name of the limit's member in `h2_limits`. The text is valid forever.
[[nodiscard]] constexpr const char* to_string(limit_kind kind) noexcept {
    switch (kind) {
        case limit_kind::streams: return "streams";
        case limit_kind::head: return "head";
        case limit_kind::heads: return "heads";
        case limit_kind::continuations: return "continuations";
        case limit_kind::resets: return "resets";
        case limit_kind::pings: return "pings";
        case limit_kind::settings: return "settings_frames";
        case limit_kind::idle_frames: return "idle_frames";
        case limit_kind::empty_data: return "empty_data";
        case limit_kind::small_data: return "small_data";
        case limit_kind::queued_control: return "queued_control";
        case limit_kind::interim_responses: return "interim_responses";
    }
    return "";
}

/// Returns the limits as the protocol can have them: windows no larger than RFC 9113 section 6.9.1
/// allows, and room for what each peer must send.
[[nodiscard]] inline h2_limits within_protocol(h2_limits l) noexcept {
    constexpr auto most = static_cast<std::uint32_t>(max_window);
    // Without a window no byte comes, and none is read.
    l.stream_window = std::clamp<std::uint32_t>(l.stream_window, 1, most);
    l.max_stream_window = std::min(l.max_stream_window, most);
    l.connection_window = std::min(l.connection_window, most);
    // The first is the peer's duty.
    l.settings_frames = std::max<std::uint32_t>(l.settings_frames, 1);
    return l;
}

}  // namespace coracle::http::h2
