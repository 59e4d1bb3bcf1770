#include "http/h2/session.hpp"

#include <algorithm>
#include <utility>

namespace coracle::http::h2 {

namespace {

std::uint64_t read_u64(const char* bytes) noexcept {
    return std::uint64_t{read_u32(bytes)} << 32 | read_u32(bytes + 4);
}

}  // namespace

/// Ignores the priorities of RFC 7540 (RFC 9113 section 5.3.2), but checks their form.
void session::on_priority(std::string_view payload) {
    if (frame_.stream == 0) {
        fail(error_code::protocol_error, "PRIORITY without a stream");
    } else if (payload.size() != priority_size) {
        bad_priority(error_code::frame_size_error);
    } else if ((read_u32(payload.data()) & max_stream_id) == frame_.stream) {
        bad_priority(error_code::protocol_error);
    } else {
        glitch();
    }
}

/// A stream error; for a stream that was never opened, which cannot be reset, a connection error.
void session::bad_priority(error_code code) {
    if (is_idle(frame_.stream))
        fail(code, "a bad PRIORITY");
    else
        stream_error(frame_.stream, find(frame_.stream), code);
}

void session::on_rst_stream(std::string_view payload) {
    if (payload.size() != 4) {
        fail(error_code::frame_size_error, "RST_STREAM has four bytes");
        return;
    }
    if (frame_.stream == 0 || is_idle(frame_.stream)) {
        fail(error_code::protocol_error, "RST_STREAM of a stream that was never opened");
        return;
    }
    stream* const s = find(frame_.stream);
    if (s == nullptr) {
        // Python's h2 resets a stream anew with each frame that comes on it after its own reset.
        if (++late_resets_ > data_frames_sent_) glitch();
        return;
    }
    fail_stream(*s, static_cast<error_code>(read_u32(payload.data())), true);
    // CVE-2023-44487: opening and resetting a stream costs the peer nothing.
    if (side_ == role::server && !reset_bucket_.take(now_)) cut_peer(limit_kind::resets);
}

void session::on_settings(std::string_view payload) {
    if (frame_.stream != 0) {
        fail(error_code::protocol_error, "SETTINGS of a stream");
        return;
    }
    if (frame_.has(flag::ack)) {
        if (!payload.empty())
            fail(error_code::frame_size_error, "an acknowledgement has no settings");
        settings_are_known();
        return;
    }
    if (!apply_settings(payload)) return;
    control_frame(frame_type::settings, flag::ack, 0, {});
    events_.settings_received(peer_);
}

/// Applies the payload of SETTINGS. Returns false if the connection has failed.
bool session::apply_settings(std::string_view payload) {
    if (payload.size() % setting_size != 0) {
        fail(error_code::frame_size_error, "settings have six bytes each");
        return false;
    }
    if (payload.size() / setting_size > limits_.settings_entries || !settings_bucket_.take(now_)) {
        cut_peer(limit_kind::settings);
        return false;
    }
    for (; !payload.empty(); payload.remove_prefix(setting_size)) {
        const auto id = static_cast<setting>(read_u16(payload.data()));
        if (!apply_setting(id, read_u32(payload.data() + 2))) return false;
    }
    return true;
}

/// The peer has acknowledged our settings: they apply from now on, also to open streams.
void session::settings_are_known() {
    // We send them once: one more acknowledges nothing.
    if (std::exchange(settings_acknowledged_, true)) {
        glitch();
        return;
    }
    const std::uint32_t before = std::max(limits_.stream_window, default_window);
    for (stream* s : streams_) {
        const auto more = s->window_.narrow(before - limits_.stream_window);
        if (more > 0 && !s->remote_ended_) send_window_update(s->id_, more);
    }
}

/// Applies a setting (RFC 9113 section 6.5.2). Returns false if the value is a connection error.
bool session::apply_setting(setting id, std::uint32_t value) {
    const auto refuse = [this](const char* why) {
        fail(error_code::protocol_error, why);
        return false;
    };
    switch (id) {
        case setting::header_table_size: head_writer_.set_table_size(value); return true;
        case setting::enable_push:
            if (value > 1 || (value == 1 && side_ == role::client))
                return refuse("a bad ENABLE_PUSH");
            return true;
        case setting::max_concurrent_streams: peer_.max_concurrent_streams = value; return true;
        case setting::initial_window_size: return change_initial_window(value);
        case setting::max_frame_size:
            if (value < default_max_frame_size || value > 0xffffff)
                return refuse("a bad MAX_FRAME_SIZE");
            peer_.max_frame_size = value;
            return true;
        case setting::max_header_list_size: peer_.max_header_list_size = value; return true;
        case setting::enable_connect_protocol:
            // The permission must not be withdrawn (RFC 8441 section 3).
            if (value > 1 || (value == 0 && peer_.extended_connect)) {
                return refuse("a bad ENABLE_CONNECT_PROTOCOL");
            }
            peer_.extended_connect = value == 1;
            return true;
        case setting::no_rfc7540_priorities:
            return value <= 1 || refuse("a bad NO_RFC7540_PRIORITIES");
    }
    return true;
}

/// Adds the difference to the windows of open streams, which may become negative (RFC 9113 section
/// 6.9.2).
bool session::change_initial_window(std::uint32_t value) {
    if (value > max_window) {
        fail(error_code::flow_control_error, "a window above 2^31 - 1 bytes");
        return false;
    }
    const std::int64_t difference = std::int64_t{value} - peer_.initial_window;
    peer_.initial_window = value;
    for (stream* s : streams_) {
        s->send_window_ += difference;
        if (s->send_window_ > max_window) {
            fail(error_code::flow_control_error, "a window above 2^31 - 1 bytes");
            return false;
        }
        enqueue(*s);
    }
    return true;
}

void session::on_ping(std::string_view payload) {
    if (frame_.stream != 0) {
        fail(error_code::protocol_error, "PING of a stream");
    } else if (payload.size() != 8) {
        fail(error_code::frame_size_error, "PING has eight bytes");
    } else if (frame_.has(flag::ack) && pings_out_ == 0) {
        glitch();
    } else if (frame_.has(flag::ack)) {
        --pings_out_;
        events_.pong_received(read_u64(payload.data()));
    } else if (!may_ping()) {
        cut_peer(limit_kind::pings);
    } else {
        control_frame(frame_type::ping, flag::ack, 0, payload);
    }
}

/// gRPC measures the bandwidth by a PING for each round trip in which data came, and Go's client
/// sends one with each stream that it resets: one for what has moved since the last is free.
bool session::may_ping() noexcept {
    const std::uint64_t moved = data_frames_sent_ + streams_opened_;
    if (std::exchange(moved_at_ping_, moved) != moved) return true;
    return ping_bucket_.take(now_);
}

void session::on_goaway(std::string_view payload) {
    if (frame_.stream != 0) {
        fail(error_code::protocol_error, "GOAWAY of a stream");
        return;
    }
    if (payload.size() < 8) {
        fail(error_code::frame_size_error, "GOAWAY has at least eight bytes");
        return;
    }
    const std::uint32_t last = read_u32(payload.data()) & max_stream_id;
    const auto code = static_cast<error_code>(read_u32(payload.data() + 4));
    // Further GOAWAYs have no effect, so they are limited like idle frames.
    if (std::exchange(going_away_, true)) glitch();
    if (failure_) return;
    const bool asks_for_http_1 = code == error_code::http_1_1_required;
    const error_code why = asks_for_http_1 ? code : error_code::refused_stream;
    // Streams after the last one were not and will not be processed (RFC 9113 section 6.8).
    const auto left_out = [&](const stream* s) { return is_ours(s->id_) && s->id_ > last; };
    for (;;) {
        // The callback of a failed stream may change the list.
        const auto at = std::find_if(streams_.begin(), streams_.end(), left_out);
        if (at == streams_.end()) break;
        fail_stream(**at, why, true);
    }
    events_.goaway_received(last, code, payload.substr(8));
}

void session::on_window_update(std::string_view payload) {
    if (payload.size() != 4) {
        fail(error_code::frame_size_error, "WINDOW_UPDATE has four bytes");
        return;
    }
    // Counts window updates that no stream or sent data calls for as idle frames.
    if (++window_updates_ > 5 + 2 * (streams_opened_ + 10 * data_frames_sent_)) glitch();
    if (failure_) return;
    const std::uint32_t increment = read_u32(payload.data()) & max_stream_id;
    if (frame_.stream == 0) {
        send_window_ += increment;
        if (increment == 0)
            fail(error_code::protocol_error, "WINDOW_UPDATE with an increment of 0");
        if (send_window_ > max_window)
            fail(error_code::flow_control_error, "a window above 2^31 - 1 bytes");
        return;
    }
    if (is_idle(frame_.stream)) {
        fail(error_code::protocol_error, "WINDOW_UPDATE of a stream that was never opened");
        return;
    }
    stream* const s = find(frame_.stream);
    if (s == nullptr) return;
    s->send_window_ += increment;
    if (increment == 0)
        stream_error(frame_.stream, s, error_code::protocol_error);
    else if (s->send_window_ > max_window)
        stream_error(frame_.stream, s, error_code::flow_control_error);
    else
        enqueue(*s);
}

/// RFC 9218 section 7.1. An update before its stream is opened is ignored: the Priority field has
/// the same value.
void session::on_priority_update(std::string_view payload) {
    if (side_ == role::client || frame_.stream != 0) {
        fail(error_code::protocol_error, "PRIORITY_UPDATE of a stream, or of a server");
        return;
    }
    if (payload.size() < 4) {
        fail(error_code::frame_size_error, "PRIORITY_UPDATE names a stream");
        return;
    }
    const std::uint32_t id = read_u32(payload.data()) & max_stream_id;
    if (id == 0) {
        fail(error_code::protocol_error, "PRIORITY_UPDATE names no stream");
        return;
    }
    glitch();
    if (failure_) return;
    if (stream* const s = find(id)) prioritize(*s, parse_priority(payload.substr(4)));
}

}  // namespace coracle::http::h2
