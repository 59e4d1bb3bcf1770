#include "http/exchange/h2_tunnel.hpp"

#include "io/slices.hpp"

#include <coracle/fs/plain_file.hpp>
#include <coracle/runtime/loop.hpp>

#include <algorithm>
#include <cerrno>

namespace coracle::http::detail {
namespace {

/// Bytes that are copied, and given to the session, at once.
constexpr std::size_t step = 64 * 1024;
/// The least of them, where the peer takes no more: whoever looks for progress of a writer sees it
/// with each.
constexpr std::uint64_t least_step = 4 * 1024;

bool is_all_sent(const io_operation& op) noexcept {
    if (op.code == opcode::send) {
        const auto& pieces = static_cast<const send_operation&>(op).slices;
        return std::ranges::all_of(pieces, [](const slice& s) { return s.size == 0; });
    }
    const auto& file = static_cast<const send_file_operation&>(op);
    return file.sent == file.file_size;
}

std::int64_t bytes_sent(const io_operation& op) noexcept {
    return op.code == opcode::send ? static_cast<const send_operation&>(op).sent
                                   : static_cast<const send_file_operation&>(op).sent;
}

/// Takes what a step has room for. An errno, or 0.
int copy_slices(send_operation& op, std::size_t most, buffer& to) noexcept {
    std::size_t size = 0;
    for (const slice& s : op.slices) size += std::min(s.size, most - size);
    if (!to.try_obtain(size)) return ENOMEM;
    for (slice& s : op.slices) {
        const std::size_t n = std::min(s.size, size - to.size());
        to.append({s.data, n});
        s.data += n;
        s.size -= n;
        op.sent += static_cast<std::int64_t>(n);
    }
    return 0;
}

int read_file(send_file_operation& op, std::size_t most, buffer& to) noexcept {
    const auto left = static_cast<std::size_t>(op.file_size - op.sent);
    if (!to.try_obtain(std::min(left, most))) return ENOMEM;
    const auto read = fs::read_at(op.file, static_cast<std::uint64_t>(op.file_offset + op.sent),
                                  {to.spare(), std::min(left, most)});
    if (!read || *read == 0) {
        to.release();
        return read ? ENODATA : read.error().code().value();
    }
    to.commit(*read);
    op.sent += static_cast<std::int64_t>(*read);
    return 0;
}

}  // namespace

bool h2_tunnel::start(io_operation& op) noexcept {
    switch (op.code) {
        case opcode::receive:
            if (reader_ != nullptr) break;
            if (try_receive(static_cast<receive_operation&>(op))) return true;
            reader_ = &static_cast<receive_operation&>(op);
            return false;
        case opcode::send:
        case opcode::send_file:
            if (writer_ != nullptr) break;
            writer_ = &op;
            if (!advance_write()) return false;
            writer_ = nullptr;
            return true;
        default: op.result = -EOPNOTSUPP; return true;
    }
    op.result = -EBUSY;
    return true;
}

void h2_tunnel::cancel(io_operation& op) noexcept {
    if (&op == reader_) {
        reader_ = nullptr;
    } else if (&op == writer_) {
        writer_ = nullptr;
        // Nothing can follow in the midst of the bytes: the peer would take it for their rest.
        if (bytes_sent(op) != 0 && write_failure_ == 0) write_failure_ = ECONNABORTED;
    } else {
        return;  // it is on its way
    }
    op.result = -ECANCELED;
    owner_->complete_later(op);
}

// ---- receiving

void h2_tunnel::received(std::string_view piece, const h2::shared_block& block) {
    if (closed_) {
        carrier_->consumed(piece.size());
        return;
    }
    content_.add(piece, block);
    complete_reader();
}

void h2_tunnel::input_ended() noexcept {
    input_ended_ = true;
    complete_reader();
    if (watch_ != nullptr && !watch_->ignores_end) tell_watch();
}

/// Bytes are taken when the reader goes on: one that is cancelled before that loses nothing.
void h2_tunnel::complete_reader() noexcept {
    if (reader_ != nullptr && !linked()) owner_->enqueue(*this);
}

void h2_tunnel::run() noexcept {
    if (reader_ == nullptr || !try_receive(*reader_)) return;
    io_operation& op = *std::exchange(reader_, nullptr);
    op.completed(op);
}

/// Returns true if the operation has its result.
bool h2_tunnel::try_receive(receive_operation& op) noexcept {
    const std::size_t there = rest_.size() + content_.size();
    if (there != 0) {
        if (!op.into && !op.into.try_obtain(std::min(there, op.capacity))) {
            op.result = -ENOMEM;
            return true;
        }
        const std::size_t before = op.into.size();
        take(op.into);
        op.result = static_cast<std::int64_t>(op.into.size() - before);
        return true;
    }
    if (!input_ended_ && failure_ == 0) return false;
    op.result = input_ended_ ? 0 : -failure_;
    return true;
}

/// As many bytes as there are, and have room.
void h2_tunnel::take(buffer& into) noexcept {
    while (into.spare_size() != 0 && (!rest_.empty() || !content_.empty())) {
        if (rest_.empty()) rest_ = content_.next();
        const std::string_view part = rest_.substr(0, into.spare_size());
        into.append(part);
        rest_.remove_prefix(part.size());
        if (rest_.empty()) carrier_->consumed(content_.done());
    }
}

// ---- sending

std::int64_t h2_tunnel::try_send(std::string_view bytes) noexcept {
    if (write_failure_ != 0) return -write_failure_;
    if (bytes.empty()) return 0;
    if (sending_ || writer_ != nullptr) return -EAGAIN;
    const std::string_view part = bytes.substr(0, next_step());
    if (!out_.try_obtain(part.size())) return -EAGAIN;  // an operation says so
    out_.append(part);
    return offer(out_.view(), false) ? static_cast<std::int64_t>(part.size()) : -write_failure_;
}

/// Returns true if the writer has its result.
bool h2_tunnel::advance_write() noexcept {
    for (;;) {
        if (is_all_sent(*writer_)) {
            writer_->result = bytes_sent(*writer_);
            return true;
        }
        if (write_failure_ != 0) {
            writer_->result = -write_failure_;
            return true;
        }
        if (sending_) return false;
        if (const int why = take_piece(); why != 0) {
            writer_->result = -why;
            return true;
        }
        offer(out_.view(), false);
    }
}

std::size_t h2_tunnel::next_step() const noexcept {
    return static_cast<std::size_t>(
        std::clamp<std::uint64_t>(carrier_->peer_takes(), least_step, step));
}

int h2_tunnel::take_piece() noexcept {
    const std::size_t most = next_step();
    return writer_->code == opcode::send
               ? copy_slices(static_cast<send_operation&>(*writer_), most, out_)
               : read_file(static_cast<send_file_operation&>(*writer_), most, out_);
}

/// Returns false if the stream takes nothing any more.
bool h2_tunnel::offer(std::string_view bytes, bool end) noexcept {
    out_piece_ = bytes;
    sending_ = carrier_->carry({&out_piece_, bytes.empty() ? 0U : 1U}, end);
    if (!sending_ && write_failure_ == 0) write_failure_ = EPIPE;
    if (!sending_) out_.release();
    return sending_;
}

void h2_tunnel::sent() noexcept {
    sending_ = false;
    out_.release();
    if (writer_ != nullptr && advance_write()) {
        owner_->complete_later(*std::exchange(writer_, nullptr));
    }
    if (output_ended_ && !sending_ && failure_ == 0 && !std::exchange(end_sent_, true)) {
        offer({}, true);
    }
}

void h2_tunnel::shutdown_output() noexcept {
    if (std::exchange(output_ended_, true) || failure_ != 0) return;
    if (write_failure_ == 0) write_failure_ = EPIPE;
    if (!sending_ && !std::exchange(end_sent_, true)) offer({}, true);
}

// ---- the end

void h2_tunnel::close(bool reset) noexcept {
    if (std::exchange(closed_, true)) return;
    watch_ = nullptr;
    rest_ = {};
    if (const std::size_t unread = content_.clear(); unread != 0) carrier_->consumed(unread);
    // The rest of what was begun will not come.
    const bool is_cut = write_failure_ == ECONNABORTED;
    if (reset || is_cut)
        carrier_->cut_tunnel();
    else
        shutdown_output();
}

void h2_tunnel::lost(int failure) noexcept {
    if (failure_ != 0) return;
    failure_ = failure;
    write_failure_ = failure;
    complete_reader();
    if (writer_ != nullptr) {
        writer_->result = -failure;
        owner_->complete_later(*std::exchange(writer_, nullptr));
    }
    if (watch_ != nullptr) tell_watch();
}

bool h2_tunnel::watch_hangup(hangup_watch* w) noexcept {
    watch_ = nullptr;
    if (w == nullptr) return true;
    if (failure_ != 0 || (input_ended_ && !w->ignores_end)) return false;
    watch_ = w;
    return true;
}

void h2_tunnel::tell_watch() noexcept {
    hangup_watch& w = *std::exchange(watch_, nullptr);
    w.gone(w);
}

}  // namespace coracle::http::detail
