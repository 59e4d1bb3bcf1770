#include "http/h2/session.hpp"

#include <utility>

namespace coracle::http::h2 {

void session::on_headers(std::string_view payload) {
    if (frame_.stream == 0) {
        fail(error_code::protocol_error, "HEADERS without a stream");
        return;
    }
    if (!strip_padding(payload)) return;
    bool depends_on_itself = false;
    if (frame_.has(flag::priority)) {
        if (payload.size() < priority_size) {
            fail(error_code::frame_size_error, "HEADERS are too short for their priority");
            return;
        }
        depends_on_itself = (read_u32(payload.data()) & max_stream_id) == frame_.stream;
        payload.remove_prefix(priority_size);
    }
    begin_head();
    if (failure_) return;
    if (depends_on_itself && block_target_ != nullptr) {
        stream_error(frame_.stream, block_target_, error_code::protocol_error);
        if (failure_) return;
    }
    read_fragment(payload);
}

void session::on_continuation(std::string_view payload) {
    // CVE-2024-27316: an endless sequence of CONTINUATION frames.
    if (++continuations_ > limits_.continuations) {
        cut_peer(limit_kind::continuations);
        return;
    }
    read_fragment(payload);
}

/// Finds the stream of a head, and the kind of the head. A head without a stream is decompressed
/// too, because later heads depend on the compression state.
void session::begin_head() {
    end_stream_ = frame_.has(flag::end_stream);
    block_stream_ = frame_.stream;
    block_target_ = nullptr;
    block_size_ = 0;
    continuations_ = 0;
    block_kind_ = head_kind::trailers;
    stream* const s = find(frame_.stream);
    bool good = true;
    if (s != nullptr) {
        good = begin_on_stream(*s);
    } else if (side_ == role::server && !is_ours(frame_.stream) && frame_.stream > last_peer_id_) {
        good = begin_new_stream(frame_.stream);
    } else if (is_idle(frame_.stream) || is_ours(frame_.stream) == (side_ == role::server)) {
        fail(error_code::protocol_error, "HEADERS of a stream that cannot be opened");
        return;
    } else if (was_reset_by_us(frame_.stream)) {
        glitch();
    } else {
        fail(error_code::stream_closed, "HEADERS of a stream that has ended");
        return;
    }
    if (!good || failure_) block_target_ = nullptr;
    block_limits limits{limits_.head, limits_.fields};
    if (block_kind_ == head_kind::trailers) limits = {limits_.trailers, limits_.trailer_fields};
    head_reader_.begin(block_kind_, limits, tunnels_);
}

bool session::begin_new_stream(std::uint32_t id) {
    block_kind_ = head_kind::request;
    last_peer_id_ = id;
    if (shut_down_) return false;  // after our GOAWAY: ignored (RFC 9113 section 6.8)
    ++streams_opened_;
    // A stream above our limit is refused, and was not processed (RFC 9113 section 5.1.2). Those
    // that are over and whose ends are in the queue count too, so that no peer collects responses
    // unread: it may have reset as many as it may have open.
    if (peer_streams_ >= limits_.streams ||
        peer_streams_ + ends_in_queue_ >= 2 * std::uint64_t{limits_.streams}) {
        events_.limit_reached(limit_kind::streams);
        stream_error(id, nullptr, error_code::refused_stream);
        return false;
    }
    stream* const s = events_.open();
    if (s == nullptr) {
        stream_error(id, nullptr, error_code::refused_stream);
        return false;
    }
    add(*s, id);
    block_target_ = s;
    return true;
}

void session::begin_upgraded(std::string_view settings, const head& request, instant now) {
    now_ = now;
    if (!apply_settings(settings) || !begin_new_stream(1)) return;
    head_ = request;
    deliver_head(*std::exchange(block_target_, nullptr), head_, false, true);
}

bool session::begin_on_stream(stream& s) {
    if (s.remote_ended_) {
        stream_error(s.id_, &s, error_code::stream_closed);
        return false;
    }
    const bool response = side_ == role::client && !s.head_received_;
    block_kind_ = response ? head_kind::response : head_kind::trailers;
    // A message ends with its trailers (RFC 9113 section 8.1).
    if (!response && !end_stream_) {
        stream_error(s.id_, &s, error_code::protocol_error);
        return false;
    }
    block_target_ = &s;
    return true;
}

void session::read_fragment(std::string_view fragment) {
    block_size_ += static_cast<std::uint32_t>(fragment.size());
    const bool last = frame_.has(flag::end_headers);
    block_open_ = !last;
    if (block_size_ > limits_.compressed_head) {
        cut_peer(limit_kind::head);
        return;
    }
    const bool is_whole = last && block_size_ == fragment.size();
    if (is_whole) {
        if (const head* const known = head_reader_.find(fragment)) {
            stream* const s = std::exchange(block_target_, nullptr);
            if (s != nullptr) deliver(*s, *known);
            return;
        }
    }
    if (!head_reader_.read(fragment, last)) {
        fail(error_code::compression_error, "a head cannot be decompressed");
        return;
    }
    if (last) end_head(is_whole ? fragment : std::string_view());
}

void session::end_head(std::string_view whole_block) {
    stream* const s = std::exchange(block_target_, nullptr);
    if (s != nullptr) {
        const head_fault fault = head_reader_.finish(whole_block, head_);
        if (fault == head_fault::none) {
            deliver(*s, head_);
        } else if (fault == head_fault::malformed) {
            stream_error(s->id_, s, error_code::protocol_error);
        } else {
            deliver_excess(*s, fault);
        }
    }
    head_reader_.release();
}

void session::deliver(stream& s, const head& message) {
    const bool end = end_stream_;
    if (block_kind_ == head_kind::request) {
        deliver_head(s, message, false, end);
    } else if (block_kind_ == head_kind::response) {
        deliver_response(s, message, end);
    } else {
        finish_remote(s, &message);
    }
}

void session::deliver_excess(stream& s, head_fault limit) {
    events_.limit_reached(limit_kind::head);
    const std::uint32_t id = s.id_;
    if (block_kind_ == head_kind::request) {
        const bool end = end_stream_;
        s.head_received_ = true;
        events_.head_too_large(s, limit);
        if (end && find(id) == &s) finish_remote(s, nullptr);
        return;
    }
    if (block_kind_ == head_kind::response) events_.head_too_large(s, limit);
    stream_error(id, &s, error_code::enhance_your_calm);
}

/// Delivers the head of a request, or the final head of a response.
void session::deliver_head(stream& s, const head& message, bool has_no_content, bool end) {
    // A successful CONNECT has no content, but the bytes of its tunnel (RFC 9110 section 9.3.6).
    const bool tunnels = s.connects_ && message.code / 100 == 2;
    if (message.has_content_length && !tunnels)
        s.announced_ = static_cast<std::int64_t>(message.content_length);
    if (has_no_content) s.announced_ = 0;
    // The message ends without its announced content (RFC 9113 section 8.1.1).
    if (end && s.announced_ > 0) {
        stream_error(s.id_, &s, error_code::protocol_error);
        return;
    }
    s.head_received_ = true;
    const std::uint32_t id = s.id_;
    events_.head_received(s, message, end);
    if (end && find(id) == &s) finish_remote(s, nullptr);
}

void session::deliver_response(stream& s, const head& message, bool end) {
    if (message.code >= 200) {
        const bool has_no_content = s.no_content_ || message.code == 204 || message.code == 304;
        deliver_head(s, message, has_no_content, end);
    } else if (end) {
        // An interim response must not end the stream (RFC 9113 section 8.1).
        stream_error(s.id_, &s, error_code::protocol_error);
    } else if (++s.interim_ > limits_.interim_responses) {
        events_.limit_reached(limit_kind::interim_responses);
        events_.head_too_large(s, head_fault::too_many_interim);
        stream_error(s.id_, &s, error_code::enhance_your_calm);
    } else {
        events_.head_received(s, message, false);
    }
}

/// Ends the peer's message, with or without trailers.
void session::finish_remote(stream& s, const head* trailers) {
    if (s.announced_ >= 0 && s.received_ != static_cast<std::uint64_t>(s.announced_)) {
        stream_error(s.id_, &s, error_code::protocol_error);
        return;
    }
    s.remote_ended_ = true;
    const std::uint32_t id = s.id_;
    events_.end_received(s, trailers);
    if (find(id) == &s) close_if_done(s);
}

}  // namespace coracle::http::h2
