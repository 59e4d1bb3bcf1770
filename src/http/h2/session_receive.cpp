#include "http/h2/session.hpp"

#include <algorithm>
#include <cstring>

namespace coracle::http::h2 {

session::session(role side, session_events& events, const h2_limits& limits, bool tunnels)
    : side_{side}, tunnels_{side == role::server && tunnels},
      expects_{side == role::server ? expects::preface : expects::settings}, events_{events},
      limits_{limits}, next_id_{side == role::client ? 1U : 2U},
      window_(default_window, limits.connection_window),
      reset_bucket_(limits.resets, limits.resets_per_second),
      ping_bucket_(limits.pings, limits.pings / 10.0),
      settings_bucket_(limits.settings_frames, limits.settings_frames / 10.0),
      idle_bucket_(limits.idle_frames, limits.idle_frames_per_second) {
    if (side == role::client) pending_.append(client_preface);
    send_settings();
    if (const auto more = window_.widen(limits.connection_window); more > 0)
        send_window_update(0, more);
    // The first SETTINGS do not count as control frames that the peer caused.
    control_bytes_ = 0;
}

void session::receive(std::string_view bytes, instant now) {
    now_ = now;
    while (!bytes.empty() && !failure_) {
        if (expects_ == expects::preface) {
            if (!receive_preface(bytes)) return;
        } else if (!in_payload_) {
            if (receive_header(bytes)) begin_frame();
        } else if (frame_.type == frame_type::data) {
            receive_data(bytes);
        } else {
            receive_payload(bytes);
        }
    }
}

/// RFC 9113 section 3.4.
bool session::receive_preface(std::string_view& bytes) {
    // `header_size_` counts matched bytes of the preface.
    const std::string_view left = client_preface.substr(header_size_);
    const std::size_t n = std::min(left.size(), bytes.size());
    if (bytes.substr(0, n) != left.substr(0, n)) {
        fail(error_code::protocol_error, "not the preface of HTTP/2");
        return false;
    }
    bytes.remove_prefix(n);
    header_size_ = static_cast<std::uint8_t>(header_size_ + n);
    if (header_size_ < client_preface.size()) return false;
    header_size_ = 0;
    expects_ = expects::settings;
    return true;
}

/// Collects the nine bytes of a frame header. Returns true when it is complete.
bool session::receive_header(std::string_view& bytes) {
    const std::size_t n = std::min(frame_header::size - header_size_, bytes.size());
    std::memcpy(header_bytes_.data() + header_size_, bytes.data(), n);
    bytes.remove_prefix(n);
    header_size_ = static_cast<std::uint8_t>(header_size_ + n);
    if (header_size_ < frame_header::size) return false;
    header_size_ = 0;
    frame_ = read_frame_header(header_bytes_.data());
    return true;
}

void session::begin_frame() {
    if (frame_.length > default_max_frame_size) {
        fail(error_code::frame_size_error, "a frame exceeds SETTINGS_MAX_FRAME_SIZE");
        return;
    }
    // SETTINGS must be the first frame (RFC 9113 section 3.4).
    if (expects_ == expects::settings) {
        if (frame_.type != frame_type::settings || frame_.has(flag::ack)) {
            fail(error_code::protocol_error, "the first frame is not SETTINGS");
            return;
        }
        expects_ = expects::frames;
    }
    // No other frame may come between the parts of a head (RFC 9113 section 6.10).
    const bool continues = frame_.type == frame_type::continuation;
    if (block_open_ != continues || (continues && frame_.stream != block_stream_)) {
        fail(error_code::protocol_error, "a head is not whole, or CONTINUATION follows none");
        return;
    }
    payload_left_ = frame_.length;
    in_payload_ = true;
    if (frame_.type == frame_type::data) {
        begin_data();
    } else if (payload_left_ == 0) {
        in_payload_ = false;
        dispatch({});
    }
}

/// Receives the payload of a frame other than DATA; uses it in place if it is complete.
void session::receive_payload(std::string_view& bytes) {
    const std::size_t n = std::min<std::size_t>(payload_left_, bytes.size());
    const std::string_view part = bytes.substr(0, n);
    bytes.remove_prefix(n);
    payload_left_ -= static_cast<std::uint32_t>(n);
    const bool whole = payload_left_ == 0;
    if (whole && payload_.empty()) {
        in_payload_ = false;
        dispatch(part);
        return;
    }
    if (!payload_) payload_.obtain(frame_.length);
    payload_.append(part);
    if (!whole) return;
    in_payload_ = false;
    const buffer gathered = std::move(payload_);
    dispatch(gathered.view());
}

void session::dispatch(std::string_view payload) {
    switch (frame_.type) {
        case frame_type::headers: on_headers(payload); break;
        case frame_type::continuation: on_continuation(payload); break;
        case frame_type::priority: on_priority(payload); break;
        case frame_type::rst_stream: on_rst_stream(payload); break;
        case frame_type::settings: on_settings(payload); break;
        case frame_type::ping: on_ping(payload); break;
        case frame_type::goaway: on_goaway(payload); break;
        case frame_type::window_update: on_window_update(payload); break;
        case frame_type::priority_update: on_priority_update(payload); break;
        case frame_type::push_promise:
            // A client must not push, and our client has disabled push (RFC 9113 section 6.6).
            fail(error_code::protocol_error, "PUSH_PROMISE is not accepted");
            break;
        default: glitch(); break;  // unknown types are ignored (RFC 9113 section 4.1)
    }
}

/// Checks the header of a DATA frame (RFC 9113 section 6.1), before its content arrives.
void session::begin_data() {
    data_stream_ = nullptr;
    padding_left_ = 0;
    padding_known_ = !frame_.has(flag::padded);
    if (frame_.stream == 0 || is_idle(frame_.stream)) {
        fail(error_code::protocol_error, "DATA on a stream that was never opened");
        return;
    }
    if (!padding_known_ && frame_.length == 0) {
        fail(error_code::frame_size_error,
             "a padded frame has no byte for the length of its padding");
        return;
    }
    if (!window_.receive(frame_.length)) {
        fail(error_code::flow_control_error, "the connection's window is exceeded");
        return;
    }
    stream* const s = find(frame_.stream);
    if (s == nullptr) {
        if (!was_reset_by_us(frame_.stream)) {
            fail(error_code::stream_closed, "DATA on a stream that has ended");
            return;
        }
        take_late_data();
    } else if (s->remote_ended_) {
        stream_error(frame_.stream, s, error_code::stream_closed);
    } else if (!s->head_received_) {
        stream_error(frame_.stream, s, error_code::protocol_error);
    } else if (!s->window_.receive(frame_.length)) {
        stream_error(frame_.stream, s, error_code::flow_control_error);
    } else {
        data_stream_ = s;
    }
    if (failure_) return;
    // Where all that comes stays unread nothing else would give back what was read before.
    if (const auto more = window_.reopen_early(); more > 0) send_window_update(0, more);
    if (!failure_ && frame_.length == 0) end_data();
}

void session::receive_data(std::string_view& bytes) {
    if (!padding_known_) {
        padding_known_ = true;
        padding_left_ = static_cast<unsigned char>(bytes.front());
        bytes.remove_prefix(1);
        --payload_left_;
        if (padding_left_ > payload_left_) {
            fail(error_code::protocol_error, "the padding is longer than its frame");
            return;
        }
    }
    const std::uint32_t content = payload_left_ - std::min(padding_left_, payload_left_);
    if (content > 0 && !bytes.empty()) {
        const std::string_view piece = bytes.substr(0, content);
        bytes.remove_prefix(piece.size());
        payload_left_ -= static_cast<std::uint32_t>(piece.size());
        receive_content(piece);
        if (failure_) return;
    }
    const std::size_t padding =
        std::min<std::size_t>(payload_left_ <= padding_left_ ? payload_left_ : 0, bytes.size());
    bytes.remove_prefix(padding);
    payload_left_ -= static_cast<std::uint32_t>(padding);
    if (payload_left_ == 0) end_data();
}

/// Delivers a piece of content to its stream, or drops it.
void session::receive_content(std::string_view piece) {
    if (data_stream_ == nullptr) {
        drop_content(nullptr, piece.size());
        return;
    }
    stream& s = *data_stream_;
    s.received_ += piece.size();
    // Content must have the announced length (RFC 9113 section 8.1.1).
    if (s.announced_ >= 0 && s.received_ > static_cast<std::uint64_t>(s.announced_)) {
        drop_content(nullptr, piece.size());
        stream_error(s.id_, &s, error_code::protocol_error);
        return;
    }
    s.unread_ += piece.size();
    events_.data_received(s, piece);
}

/// Reopens the windows for dropped bytes.
void session::drop_content(stream* s, std::size_t n) {
    if (s != nullptr) {
        const auto bytes = static_cast<std::uint32_t>(n);
        const auto more = s->window_.consume(bytes, now_, round_trip_);
        if (more > 0 && !s->remote_ended_) send_window_update(s->id_, more);
    }
    auto more = window_.consume(static_cast<std::uint32_t>(n), now_, round_trip_);
    if (more == 0) more = window_.reopen_early();
    if (more > 0) send_window_update(0, more);
}

void session::end_data() {
    in_payload_ = false;
    stream* const s = data_stream_;
    const std::uint32_t padding = frame_.has(flag::padded) ? padding_left_ + 1 : 0;
    const std::uint32_t content = frame_.length - padding;
    // Padding and its length byte count for the windows (RFC 9113 section 6.1).
    if (padding != 0) drop_content(s, padding);
    data_stream_ = nullptr;
    // RFC 9113 section 10.5: frames without content that end nothing are work for nothing.
    if (content != 0) {
        empty_data_ = 0;
    } else if (!frame_.has(flag::end_stream) && ++empty_data_ > limits_.empty_data) {
        cut_peer(limit_kind::empty_data);
        return;
    }
    if (s == nullptr) return;
    if (frame_.has(flag::end_stream)) {
        finish_remote(*s, nullptr);
        return;
    }
    charge_small_frame(*s, content);
}

/// Charges a frame of little content the bytes that it lacks, until its content is consumed.
/// Padding makes it no larger: its window is given back at once.
void session::charge_small_frame(stream& s, std::uint32_t content) {
    constexpr std::uint32_t small = 256;
    if (content >= small || s.unread_ == 0) return;
    s.charged_ += small - content;
    small_data_ += small - content;
    if (small_data_ > limits_.small_data) cut_peer(limit_kind::small_data);
}

/// Removes the padding of a HEADERS frame (RFC 9113 section 6.2).
bool session::strip_padding(std::string_view& payload) {
    if (!frame_.has(flag::padded)) return true;
    if (payload.empty()) {
        fail(error_code::frame_size_error,
             "a padded frame has no byte for the length of its padding");
        return false;
    }
    const std::size_t padding = static_cast<unsigned char>(payload.front());
    payload.remove_prefix(1);
    if (padding > payload.size()) {
        fail(error_code::protocol_error, "the padding is longer than its frame");
        return false;
    }
    payload.remove_suffix(padding);
    return true;
}

}  // namespace coracle::http::h2
