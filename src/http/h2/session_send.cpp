#include "http/h2/session.hpp"

#include <coracle/base/secret.hpp>

#include <algorithm>
#include <cassert>
#include <utility>

namespace coracle::http::h2 {

namespace {

/// Pieces below this many bytes are copied after the header of their frame: one view less to send.
constexpr std::size_t copied = 1024;

/// Bytes of the blocks that sources fill: four records, as our streams of TLS make them, which so
/// need not be put together.
constexpr std::size_t block_size = 4 * (16 * 1024 - 32);

/// The least part of a frame that is worth reading for the rest of a block.
constexpr std::size_t least_read = 4096;

void overwrite(buffer& b) noexcept {
    if (b) wipe(const_cast<char*>(b.data()), b.size());
}

/// Reserves capacity. Bytes that move to another block are overwritten in the old one if they are
/// secret.
void reserve(buffer& b, std::size_t n, bool has_secrets) {
    if (!has_secrets || b.spare_size() >= n) {
        b.reserve_spare(n);
        return;
    }
    buffer larger(2 * b.size() + n);
    larger.append(b.view());
    overwrite(b);
    b = std::move(larger);
}

}  // namespace

session::~session() {
    assert(windows_add_up());
    if (pending_has_secrets_) overwrite(pending_);
    release_batch();
}

void session::reserve_pending(std::size_t n) {
    reserve(pending_, n, pending_has_secrets_);
}

void session::release_batch() noexcept {
    if (std::exchange(batch_has_secrets_, false)) overwrite(batch_);
    batch_.release();
    blocks_.clear();
}

/// Queues a control frame.
void session::control_frame(frame_type type, std::uint8_t flags, std::uint32_t id,
                            std::string_view payload) {
    const std::size_t size = frame_header::size + payload.size();
    reserve_pending(size);
    char* const out = write_frame_header(
        pending_.spare(), {static_cast<std::uint32_t>(payload.size()), type, flags, id});
    std::copy(payload.begin(), payload.end(), out);
    pending_.commit(size);
    control_bytes_ += static_cast<std::uint32_t>(size);
    // The peer provokes acknowledgements and does not read them. What cuts it moves the queue.
    if (control_bytes_ > limits_.queued_control) cut_peer(limit_kind::queued_control);
}

void session::send_settings() {
    struct entry {
        setting id;
        std::uint32_t value;
    };
    std::array<entry, 5> entries{};
    std::size_t n = 0;
    const auto add = [&](setting id, std::uint32_t value) { entries[n++] = {id, value}; };
    if (side_ == role::server) {
        add(setting::max_concurrent_streams, limits_.streams);
        if (tunnels_) add(setting::enable_connect_protocol, 1);
        add(setting::no_rfc7540_priorities, 1);
    } else {
        add(setting::enable_push, 0);
    }
    add(setting::max_header_list_size, limits_.head);
    if (limits_.stream_window != default_window)
        add(setting::initial_window_size, limits_.stream_window);
    std::array<char, 6 * entries.size()> payload;
    char* out = payload.data();
    for (std::size_t i = 0; i < n; ++i) {
        out = write_u16(out, static_cast<std::uint16_t>(entries[i].id));
        out = write_u32(out, entries[i].value);
    }
    control_frame(frame_type::settings, 0, 0, {payload.data(), n * 6});
}

/// `s` may be null.
void session::send_rst(std::uint32_t id, const stream* s, error_code code) {
    resets_[reset_count_++ % resets_.size()] = id;
    if (s != nullptr) late_data_ += std::max<std::int64_t>(0, s->window_.left());
    std::array<char, 4> payload;
    write_u32(payload.data(), static_cast<std::uint32_t>(code));
    control_frame(frame_type::rst_stream, 0, id, {payload.data(), payload.size()});
}

void session::send_window_update(std::uint32_t id, std::uint32_t increment) {
    std::array<char, 4> payload;
    write_u32(payload.data(), increment);
    control_frame(frame_type::window_update, 0, id, {payload.data(), payload.size()});
}

void session::send_goaway(std::uint32_t last, error_code code, std::string_view why) {
    const std::size_t size = frame_header::size + 8 + why.size();
    reserve_pending(size);
    char* out = write_frame_header(
        pending_.spare(), {static_cast<std::uint32_t>(8 + why.size()), frame_type::goaway, 0, 0});
    out = write_u32(out, last);
    out = write_u32(out, static_cast<std::uint32_t>(code));
    std::copy(why.begin(), why.end(), out);
    pending_.commit(size);
}

void session::ping(std::uint64_t payload) {
    ++pings_out_;
    std::array<char, 8> bytes;
    write_u32(bytes.data(), static_cast<std::uint32_t>(payload >> 32));
    write_u32(bytes.data() + 4, static_cast<std::uint32_t>(payload));
    control_frame(frame_type::ping, 0, 0, {bytes.data(), bytes.size()});
}

void session::shut_down(bool last) {
    if (failure_ || shut_down_) return;
    shut_down_ = last;
    last_served_ = last ? last_peer_id_ : max_stream_id;
    send_goaway(last_served_, error_code::no_error, {});
}

void session::fail(error_code code, std::string_view why) {
    if (failure_) return;
    failure_ = code;
    // A later GOAWAY must not name a later stream (RFC 9113 section 6.8).
    send_goaway(std::min(last_peer_id_, last_served_), code, why);
}

bool session::open(stream& s, std::span<const field> control, std::span<const field> fields,
                   bool end) {
    if (!has_place()) return false;
    const std::uint32_t id = next_id_;
    next_id_ += 2;
    ++streams_opened_;
    add(s, id);
    s.no_content_ = !control.empty() && control.front().value == "HEAD";
    s.connects_ = !control.empty() && control.front().value == "CONNECT";
    try {
        send_head(s, control, fields, end);
    } catch (...) {
        // The peer never hears of the stream, so it must not be reset.
        forget(s);
        throw;
    }
    return true;
}

void session::send_head(stream& s, std::span<const field> control, std::span<const field> fields,
                        bool end) {
    if (s.over() || s.local_ended_) return;
    send_block(s.id_, control, fields, end);
    s.local_ended_ = end;
    if (end) s.end_queued_at_ = gathers_;
    close_if_done(s);
}

/// Reserves the room for all frames of a block that was written. Without memory the peer does not
/// get it, so nothing may be referred to that is in it.
void session::reserve_for_block(std::size_t size) {
    const std::size_t frames = 1 + size / peer_.max_frame_size;
    try {
        reserve_pending(size + frames * frame_header::size);
    } catch (...) {
        head_writer_.block_is_lost();
        throw;
    }
}

/// Writes HEADERS, and CONTINUATION if the block exceeds the peer's largest frame. The block is
/// written first; the header before it is filled in when its size is known.
void session::send_block(std::uint32_t id, std::span<const field> control,
                         std::span<const field> fields, bool end) {
    buffer block(512);
    const bool has_secrets = head_writer_.write(control, fields, block);
    pending_has_secrets_ = pending_has_secrets_ || has_secrets;
    std::uint8_t flags = end ? flag::end_stream : 0;
    frame_type type = frame_type::headers;
    std::string_view rest = block.view();
    reserve_for_block(rest.size());
    do {
        const std::string_view part = rest.substr(0, peer_.max_frame_size);
        rest.remove_prefix(part.size());
        if (rest.empty()) flags |= flag::end_headers;
        write_frame_header(pending_.spare(),
                           {static_cast<std::uint32_t>(part.size()), type, flags, id});
        pending_.commit(frame_header::size);
        pending_.append(part);
        type = frame_type::continuation;
        flags = 0;
    } while (!rest.empty());
    if (has_secrets) overwrite(block);
}

bool session::send_data(stream& s, std::span<const std::string_view> pieces, bool end) {
    std::uint64_t size = 0;
    for (const std::string_view piece : pieces) size += piece.size();
    if (s.over() || s.local_ended_ || failure_ || (size == 0 && !end)) return false;
    s.pieces_ = pieces;
    s.taken_ = 0;
    offer(s, size, end);
    return true;
}

bool session::send_from(stream& s, content_source& from, std::uint64_t size, bool end) {
    if (s.over() || s.local_ended_ || failure_ || size == 0) return false;
    s.source_ = &from;
    offer(s, size, end);
    return true;
}

void session::withdraw(stream& s) noexcept {
    if (s.source_ == nullptr) return;
    queue_.remove(s);
    abandon_content(s);
}

void session::offer(stream& s, std::uint64_t size, bool end) noexcept {
    s.left_ = size;
    s.end_after_ = end;
    s.offered_ = true;
    enqueue(s);
}

/// Adds a stream to the queue if it can send now: an end without content needs no window.
void session::enqueue(stream& s) noexcept {
    if (!s.offered_ || s.local_ended_ || (s.left_ == 0 && !s.end_after_)) return;
    if (s.left_ == 0 || s.send_window_ > 0) queue_.add(s);
}

bool session::wants_to_write() noexcept {
    if (!pending_.empty()) return true;
    if (failure_) return false;
    stream* const s = queue_.next();
    return s != nullptr && (s->left_ == 0 || send_window_ > 0);
}

void session::gather(std::size_t limit, std::vector<std::string_view>& out) {
    release_batch();
    batch_ = std::move(pending_);
    batch_has_secrets_ = std::exchange(pending_has_secrets_, false);
    gathered_ = batch_.size();
    control_bytes_ = 0;
    ends_in_queue_ = 0;
    ++gathers_;
    // After our GOAWAY for an error nothing else is sent (RFC 9113 section 5.4.1).
    if (!failure_) gather_data(limit);
    std::size_t from = 0;
    for (const cut& c : cuts_) {
        if (c.at > from) out.push_back(batch_.view().substr(from, c.at - from));
        out.push_back(c.bytes);
        from = c.at;
    }
    if (batch_.size() > from) out.push_back(batch_.view().substr(from));
}

void session::gather_data(std::size_t limit) {
    while (gathered_ < limit) {
        stream* const s = queue_.next();
        if (s == nullptr || (s->left_ > 0 && send_window_ <= 0)) return;
        if (s->left_ > 0 && s->send_window_ <= 0) {
            // The peer has reduced its window since it was queued.
            queue_.remove(*s);
            continue;
        }
        const std::uint64_t size = std::min(s->left_, peer_takes(*s));
        if (s->source_ == nullptr)
            gather_pieces(*s, size);
        else
            gather_from_source(*s, size);
    }
}

/// Makes one DATA frame of the pieces of a stream.
void session::gather_pieces(stream& s, std::uint64_t most) {
    const auto size =
        static_cast<std::size_t>(std::min<std::uint64_t>(most, default_max_frame_size));
    reserve(batch_, frame_header::size + copied, batch_has_secrets_);
    write_data_header(s, size, batch_.spare());
    batch_.commit(frame_header::size);
    take_pieces(s, size);
    move_on(s);
}

/// Makes DATA frames of what the source of a stream gives, as many as fit a block.
void session::gather_from_source(stream& s, std::uint64_t most) {
    std::size_t room = blocks_.empty() ? 0 : block_size - blocks_.back().size();
    if (room < frame_header::size + std::min<std::uint64_t>(most, least_read)) {
        blocks_.emplace_back(block_size);
        room = block_size;
    }
    buffer& block = blocks_.back();
    char* at = block.spare();
    std::array<std::span<char>, content_source::frames_at_once> places;
    std::size_t count = 0;
    while (count != places.size() && most != 0 && room > frame_header::size) {
        const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(
            {most, room - frame_header::size, std::uint64_t{default_max_frame_size}}));
        at += frame_header::size;
        places[count++] = {at, size};
        at += size;
        room -= frame_header::size + size;
        most -= size;
    }
    std::size_t left = s.source_->read({places.data(), count});
    if (left == 0) {
        queue_.remove(s);
        return;
    }
    const char* const begin = block.spare();
    for (std::size_t i = 0; left != 0; ++i) {
        const std::size_t size = std::min(left, places[i].size());
        write_data_header(s, size, places[i].data() - frame_header::size);
        block.commit(frame_header::size + size);
        left -= size;
    }
    add_cut({begin, static_cast<std::size_t>(block.spare() - begin)});
    move_on(s);
}

/// Puts bytes after those of the batch so far, which frames of one block follow each other in.
void session::add_cut(std::string_view bytes) {
    const bool goes_on = !cuts_.empty() && cuts_.back().at == batch_.size() &&
                         cuts_.back().bytes.end() == bytes.begin();
    if (goes_on) {
        std::string_view& last = cuts_.back().bytes;
        last = {last.data(), last.size() + bytes.size()};
    } else {
        cuts_.push_back({static_cast<std::uint32_t>(batch_.size()), bytes});
    }
}

/// Writes the header of a DATA frame with the next `size` bytes of a stream.
void session::write_data_header(stream& s, std::size_t size, char* to) {
    s.left_ -= size;
    const bool end = s.left_ == 0 && s.end_after_;
    write_frame_header(to, {static_cast<std::uint32_t>(size), frame_type::data,
                            end ? flag::end_stream : std::uint8_t{0}, s.id_});
    gathered_ += frame_header::size + size;
    ++data_frames_sent_;
    s.send_window_ -= static_cast<std::int64_t>(size);
    send_window_ -= static_cast<std::int64_t>(size);
}

/// Moves a stream on in the queue, behind frames of it.
void session::move_on(stream& s) {
    note_in_batch(s);
    if (s.left_ == 0) {
        queue_.remove(s);
        s.local_ended_ = s.end_after_;
    } else if (s.send_window_ <= 0) {
        queue_.remove(s);
    } else {
        queue_.sent(s);
    }
}

/// Moves `size` bytes from the front of the pieces to the batch: small pieces by copy, others by
/// reference.
void session::take_pieces(stream& s, std::size_t size) {
    while (size > 0) {
        std::string_view piece = s.pieces_.front().substr(s.taken_, size);
        s.taken_ += piece.size();
        size -= piece.size();
        if (s.taken_ == s.pieces_.front().size()) {
            s.pieces_ = s.pieces_.subspan(1);
            s.taken_ = 0;
        }
        if (piece.size() <= copied) {
            reserve(batch_, piece.size(), batch_has_secrets_);
            batch_.append(piece);
        } else {
            add_cut(piece);
        }
    }
}

void session::note_in_batch(stream& s) {
    if (s.in_batch_) return;
    batched_.push_back(&s);
    s.in_batch_ = true;
}

void session::written() {
    release_batch();
    cuts_.clear();
    // An event handler may call `gather` again.
    std::vector<stream*> batched = std::exchange(batched_, {});
    for (stream* s : batched) s->in_batch_ = false;
    for (stream* s : batched) {
        if (s->offered_ && (s->left_ == 0 || s->over_)) report_sent(*s);
    }
    if (batched_.capacity() > 0) return;
    batched.clear();
    batched_ = std::move(batched);
}

/// Drops the unsent content of a stream. What is in the batch is reported when it has been written.
void session::abandon_content(stream& s) noexcept {
    if (!s.in_batch_) s.offered_ = false;
    s.pieces_ = {};
    s.source_ = nullptr;
    s.given_up_ = std::exchange(s.left_, 0);
}

void session::report_sent(stream& s) {
    s.offered_ = false;
    s.pieces_ = {};
    s.source_ = nullptr;
    const std::uint32_t id = s.id_;
    const bool over = s.over_;
    events_.sent(s);
    if (!over && find(id) == &s) close_if_done(s);
}

}  // namespace coracle::http::h2
