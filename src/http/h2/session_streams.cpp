#include "http/h2/session.hpp"

#include <algorithm>
#include <utility>

namespace coracle::http::h2 {

namespace {

bool comes_before(const stream* s, std::uint32_t id) noexcept {
    return s->id() < id;
}

}  // namespace

/// Returns the place of the stream, or of the first with a higher number. Most frames belong to the
/// stream of the frame before, or to the next one behind a stream that has ended.
std::size_t session::place_of(std::uint32_t id) noexcept {
    if (last_place_ < streams_.size() && streams_[last_place_]->id() == id) return last_place_;
    const auto at = std::lower_bound(streams_.begin(), streams_.end(), id, comes_before);
    last_place_ = static_cast<std::size_t>(at - streams_.begin());
    return last_place_;
}

stream* session::find(std::uint32_t id) noexcept {
    const std::size_t at = place_of(id);
    return at != streams_.size() && streams_[at]->id() == id ? streams_[at] : nullptr;
}

/// Returns true if the stream was never opened (RFC 9113 section 5.1).
bool session::is_idle(std::uint32_t id) const noexcept {
    return is_ours(id) ? id >= next_id_ : id > last_peer_id_;
}

/// Returns true if we may have reset the stream, so that the peer sent before it knew.
bool session::was_reset_by_us(std::uint32_t id) const noexcept {
    if (reset_count_ > resets_.size()) return true;
    return std::find(resets_.begin(), resets_.end(), id) != resets_.end() ||
           (shut_down_ && !is_ours(id));
}

void session::add(stream& s, std::uint32_t id) {
    // Until the peer has acknowledged our settings, it uses the default.
    const std::uint32_t window = settings_acknowledged_
                                     ? limits_.stream_window
                                     : std::max(limits_.stream_window, default_window);
    // Streams are opened by one side alone, with numbers that grow.
    streams_.push_back(&s);
    s.id_ = id;
    s.over_ = false;
    s.end_queued_at_ = 0;
    s.send_window_ = peer_.initial_window;
    s.window_ = receive_window(window, limits_.max_stream_window);
    ++(is_ours(id) ? our_streams_ : peer_streams_);
}

/// Removes a stream from the session, except its pieces in the batch.
void session::forget(stream& s) noexcept {
    streams_.erase(streams_.begin() + static_cast<std::ptrdiff_t>(place_of(s.id_)));
    --(is_ours(s.id_) ? our_streams_ : peer_streams_);
    if (s.end_queued_at_ == gathers_) ++ends_in_queue_;
    queue_.remove(s);
    settle_charge(s, s.unread_);
    s.over_ = true;
    unread_of_closed_ += s.unread_;
    if (data_stream_ == &s) data_stream_ = nullptr;
    if (block_target_ == &s) block_target_ = nullptr;
}

void session::close_if_done(stream& s) {
    if (!s.remote_ended_ || !s.local_ended_) return;
    forget(s);
    events_.closed(s);
}

/// A stream error that the peer has caused (RFC 9113 section 5.4.2). `s` may be null.
void session::stream_error(std::uint32_t id, stream* s, error_code code) {
    // The event that told of it may have made the owner reset the stream.
    if (s != nullptr && find(id) != s) return;
    send_rst(id, s, code);
    if (s != nullptr) fail_stream(*s, code, false);
    // CVE-2025-8671: resets that the peer provokes are as cheap for it as its own.
    if (!failure_ && !reset_bucket_.take(now_)) cut_peer(limit_kind::resets);
}

void session::fail_stream(stream& s, error_code code, bool by_peer) {
    forget(s);
    abandon(s);
    events_.failed(s, code, by_peer);
}

void session::reset(stream& s, error_code code) {
    if (s.over()) return;
    const std::uint32_t id = s.id_;
    // The steps that need no memory come first, so that the stream is over even if a later one
    // throws.
    forget(s);
    abandon_content(s);
    send_rst(id, &s, code);
    give_up_unread(s);
}

void session::refuse(stream& s, limit_kind kind) {
    if (s.over() || failure_) return;
    events_.limit_reached(kind);
    stream_error(s.id_, &s, error_code::refused_stream);
}

void session::release(stream& s) noexcept {
    if (!s.over()) forget(s);
    std::erase(batched_, &s);
    s.in_batch_ = false;
    abandon_content(s);
    unread_of_closed_ -= s.unread_;
    window_.forget(std::exchange(s.unread_, 0));
}

/// Drops unsent and unread content of a stream that was reset.
void session::abandon(stream& s) {
    abandon_content(s);
    give_up_unread(s);
}

void session::give_up_unread(stream& s) {
    const std::uint64_t unread = std::exchange(s.unread_, 0);
    unread_of_closed_ -= unread;
    if (unread > 0 && !failure_) drop_content(nullptr, unread);
}

/// Counts a DATA frame of a stream that we have reset: what was on its way, which its window
/// bounds, is no fault of the peer.
void session::take_late_data() {
    const std::int64_t size = std::max<std::int64_t>(1, frame_.length);
    if (late_data_ >= size)
        late_data_ -= size;
    else
        glitch();
}

/// Counts an allowed frame without effect.
void session::glitch() {
    if (!failure_ && !idle_bucket_.take(now_)) cut_peer(limit_kind::idle_frames);
}

/// Ends the connection with a peer that wastes our work (RFC 9113 section 10.5).
void session::cut_peer(limit_kind kind) {
    if (failure_) return;
    events_.limit_reached(kind);
    fail(error_code::enhance_your_calm, to_string(kind));
}

/// Takes back what small frames were charged, by the part `n` of the unread bytes that is consumed:
/// a reader that is always a little behind still pays for what is unread alone.
void session::settle_charge(stream& s, std::uint64_t n) noexcept {
    if (s.charged_ == 0) return;
    const auto part =
        static_cast<std::uint32_t>(n == s.unread_ ? s.charged_ : s.charged_ * n / s.unread_);
    small_data_ -= part;
    s.charged_ -= part;
}

void session::consume(stream& s, std::uint64_t n, instant now) {
    now_ = std::max(now_, now);
    n = std::min(n, s.unread_);
    settle_charge(s, n);
    s.unread_ -= n;
    if (s.over()) unread_of_closed_ -= n;
    if (failure_ || n == 0) return;
    drop_content(s.over() ? nullptr : &s, n);
}

bool session::has_place() const noexcept {
    return usable() && our_streams_ < peer_.max_concurrent_streams;
}

/// Bytes of the DATA frame that is being received which no stream has got yet.
std::uint64_t session::undelivered() const noexcept {
    if (!in_payload_ || frame_.type != frame_type::data) return 0;
    if (!frame_.has(flag::padded) || !padding_known_) return payload_left_;
    return payload_left_ - std::min(payload_left_, padding_left_) + padding_left_ + 1;
}

bool session::windows_add_up() const noexcept {
    if (failure_) return true;
    std::uint64_t unread = unread_of_closed_;
    for (const stream* s : streams_) {
        unread += s->unread_;
        if (!s->window_.adds_up(s->unread_ + (s == data_stream_ ? undelivered() : 0))) return false;
    }
    return window_.adds_up(unread + undelivered());
}

void session::trim() noexcept {
    head_reader_.trim();
    head_writer_.give_up();
    streams_.shrink_to_fit();
    head_.fields = {};
    blocks_.shrink_to_fit();
    // A batch may be being written: it says then whose content has gone.
    if (cuts_.empty()) cuts_ = {};
    if (batched_.empty()) batched_ = {};
}

}  // namespace coracle::http::h2
