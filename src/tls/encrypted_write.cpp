// The writing side of an encrypted stream.

#include "tls/encrypted_stream.hpp"

#include <coracle/fs/plain_file.hpp>
#include <coracle/runtime/loop.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace coracle::tls::detail {

namespace {

/// The block in which records are gathered, to be sent in one call: four of the largest.
constexpr std::size_t gathered = 64 * 1024;
constexpr std::size_t largest_record = gathered / 4;
/// Its content: encryption adds up to 29 bytes.
constexpr std::size_t largest_content = largest_record - 32;
/// A record that fits a packet of Ethernet with the overhead of TLS 1.2.
constexpr std::size_t small_record = 1400;

}  // namespace

int encrypted_stream::take(const char* from, std::size_t size) noexcept {
    std::string_view bytes(from, size);
    record_at_ = reinterpret_cast<std::uintptr_t>(from);
    // At most two records of the writer, and a flight. More accumulates only if a peer provokes
    // responses and does not read.
    constexpr std::size_t most_held = 128 * 1024;
    if (out_.size() + behind_.size() + size > most_held) {
        write_error_ = -ENOBUFS;
        return 0;
    }
    if (writes_below_) return keep(behind_, bytes) ? static_cast<int>(size) : 0;
    if (!gathers_ && out_.empty()) {
        const std::int64_t n = below_->try_send(bytes);
        if (n < 0 && n != -EAGAIN) {
            write_error_ = n;
            return 0;
        }
        if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    if (gathers_ && !out_ && !out_.try_obtain(gathered)) {
        write_error_ = -ENOMEM;
        return 0;
    }
    return keep(out_, bytes) ? static_cast<int>(size) : 0;
}

/// Buffers bytes that could not be sent at once; without memory nothing can follow.
bool encrypted_stream::keep(buffer& in, std::string_view bytes) noexcept {
    if (in.try_append(bytes)) return true;
    write_error_ = -ENOMEM;
    return false;
}

/// Records are small at first, so that the peer can decrypt the first packet without waiting for
/// more, and of the largest size once a connection is busy.
std::size_t encrypted_stream::record_size() noexcept {
    constexpr std::size_t warm = 16 * 1024;
    const time_point now = owner().now();
    if (last_sent_ == time_point::min() || now - last_sent_ > std::chrono::seconds(1)) burst_ = 0;
    last_sent_ = now;
    return burst_ < warm ? small_record : largest_content;
}

/// Returns true if another record may be gathered before they are sent.
bool encrypted_stream::may_gather() const noexcept {
    return out_.size() + largest_record <= gathered;
}

// OpenSSL copies what it encrypts. Where the copy begins up to 31 bytes after its source, modulo
// the size of a page, glibc's "rep movsb" runs at a twentieth of its speed on AMD's Zen processors
// (sourceware bug 30994), and neighbours on the heap lie just so.
constexpr std::size_t page = 4096;

/// Returns true if OpenSSL would copy these bytes slowly to where it put the last record.
bool encrypted_stream::copies_slowly(const char* bytes) const noexcept {
    // Headers of records, the explicit nonce of TLS 1.2 included, have 5 to 13 bytes.
    constexpr std::uintptr_t most = 31 + 13;
    return (record_at_ + 13 - reinterpret_cast<std::uintptr_t>(bytes)) % page <= most;
}

/// Returns a place in `block` for a record, at most a page after its begin, to which copying is
/// fast, also from the pages of a file.
char* encrypted_stream::well_placed(char* block) const noexcept {
    constexpr std::uintptr_t line = 64;
    const std::uintptr_t wanted = (record_at_ + page / 2) / line * line;
    return block + (wanted - reinterpret_cast<std::uintptr_t>(block)) % page;
}

bool encrypted_stream::encrypt(const char* bytes, std::size_t size) noexcept {
    if (write_error_ < 0) return false;
    std::size_t written = 0;
    forget_failures();
    if (SSL_write_ex(ssl_.get(), bytes, size, &written) == 1) {
        burst_ += size;
        ++records_;
        return true;
    }
    if (write_error_ == 0) fail_writes(errc::bad_record, "send");
    return false;
}

std::int64_t encrypted_stream::try_send(std::string_view bytes) noexcept {
    if (writer_ != nullptr || writes_below_) return -EAGAIN;
    if (write_error_ < 0) return write_error_;
    if (bytes.empty()) return 0;
    if (owed_ == 0) {
        const std::size_t record = record_size();
        const std::size_t all = std::min(bytes.size(), largest_content);
        gathers_ = all > record || !out_.empty();
        for (std::size_t at = 0; at < all; at += record) {
            if (!encrypt(bytes.data() + at, std::min(record, all - at))) break;
        }
        gathers_ = false;
        if (write_error_ < 0) return write_error_;
        owed_ = all;
    }
    const progress p = flush_below();
    if (p == progress::failed) return write_error_;
    if (p == progress::waits) return -EAGAIN;
    return static_cast<std::int64_t>(std::exchange(owed_, 0));
}

/// To be called when the first `n` bytes were taken.
void encrypted_stream::advance(send_operation& op, std::size_t n) noexcept {
    while (n != 0 && !op.slices.empty()) {
        slice& first = op.slices.front();
        const std::size_t part = std::min(n, first.size);
        first.data += part;
        first.size -= part;
        n -= part;
        op.sent += static_cast<std::int64_t>(part);
        if (first.size == 0) op.slices = op.slices.subspan(1);
    }
}

/// Sends what the stream below takes without waiting.
encrypted_stream::progress encrypted_stream::flush_below() noexcept {
    while (!out_.empty()) {
        const std::int64_t n = below_->try_send(out_.view());
        if (n == -EAGAIN || n == 0) return progress::waits;
        if (n < 0) {
            write_error_ = n;
            return progress::failed;
        }
        out_.consume(static_cast<std::size_t>(n));
    }
    out_.release();
    return progress::done;
}

encrypted_stream::progress encrypted_stream::flush() noexcept {
    const progress p = flush_below();
    if (p != progress::waits) return p;
    lower_slice_ = slice(out_.view());
    lower_send_.slices = {&lower_slice_, 1};
    lower_send_.sent = 0;
    writes_below_ = true;
    if (!below_->start(lower_send_)) return progress::waits;
    writes_below_ = false;
    if (lower_send_.result < 0) {
        write_error_ = lower_send_.result;
        return progress::failed;
    }
    out_ = std::move(behind_);
    return out_.empty() ? progress::done : flush();
}

void encrypted_stream::sent(io_operation& op) noexcept {
    encrypted_stream& self = *static_cast<lower_send&>(op).self;
    io_operation& writer = *self.writer_;
    if (self.rests_) {
        self.rests_ = false;
    } else {
        self.writes_below_ = false;
        self.out_ = std::move(self.behind_);
        // A record was sent in part: nothing can follow.
        if (op.result < 0) self.write_error_ = op.result;
    }
    if (self.cancelled_) {
        self.end_after_cancel(op.result);
        self.finish_write(-ECANCELED);
    } else if (!self.advance_write()) {
        return;
    }
    writer.completed(writer);
}

/// The next sender must fail: it cannot continue within a record, nor within the bytes of the
/// cancelled send, which the peer would take for complete.
void encrypted_stream::end_after_cancel(std::int64_t beneath) noexcept {
    const bool cut = bytes_sent() != 0 && !all_encrypted();
    if (beneath == -ECANCELED || (cut && write_error_ == 0)) write_error_ = -ECONNABORTED;
}

bool encrypted_stream::all_encrypted() const noexcept {
    if (writer_->code == opcode::send) {
        return static_cast<const send_operation*>(writer_)->slices.empty();
    }
    const auto& op = static_cast<const send_file_operation&>(*writer_);
    return op.sent == op.file_size;
}

std::int64_t encrypted_stream::bytes_sent() const noexcept {
    return writer_->code == opcode::send ? static_cast<const send_operation*>(writer_)->sent
                                         : static_cast<const send_file_operation*>(writer_)->sent;
}

bool encrypted_stream::finish_write(std::int64_t result) noexcept {
    writer_->result = result;
    writer_ = nullptr;
    gathers_ = false;
    file_.release();
    return true;
}

/// Returns true when the writer has its result.
bool encrypted_stream::advance_write() noexcept {
    // After this many records, other tasks run first.
    constexpr unsigned share = 16;
    for (;;) {
        const bool over = all_encrypted();
        const bool waits_for_more =
            over && writer_->code == opcode::send && static_cast<send_operation&>(*writer_).more;
        const bool holds_back = gathers_ && may_gather() && (!over || waits_for_more);
        if (write_error_ == 0 && !out_.empty() && !holds_back) {
            if (flush() == progress::waits) {
                if (file_.empty()) file_.release();
                return false;
            }
        }
        if (write_error_ < 0) return finish_write(write_error_);
        if (over) return finish_write(bytes_sent());
        if (records_ >= share && out_.empty()) {
            records_ = 0;
            rests_ = true;
            lower_send_.result = 0;
            owner().complete_behind(lower_send_);
            return false;
        }
        const bool good = writer_->code == opcode::send
                              ? encrypt_slices(static_cast<send_operation&>(*writer_))
                              : encrypt_file(static_cast<send_file_operation&>(*writer_));
        if (!good && write_error_ == 0) return finish_write(writer_->result);
    }
}

/// Returns true if more than `size` bytes are to be sent.
bool encrypted_stream::is_longer(std::span<const slice> slices, std::size_t size) noexcept {
    for (const slice& s : slices) {
        if (s.size > size) return true;
        size -= s.size;
    }
    return false;
}

/// Encrypts one record: several small pieces share one.
bool encrypted_stream::encrypt_slices(send_operation& op) noexcept {
    while (!op.slices.empty() && op.slices.front().size == 0) op.slices = op.slices.subspan(1);
    if (op.slices.empty()) return true;
    const std::size_t limit = record_size();
    gathers_ = op.more || is_longer(op.slices, limit);
    char block[largest_content + page];
    const char* bytes = op.slices.front().data;
    std::size_t size = std::min(op.slices.front().size, limit);
    if ((size < limit && op.slices.size() > 1) || (size >= page && copies_slowly(bytes))) {
        char* const together = well_placed(block);
        bytes = together;
        size = 0;
        for (const slice& s : op.slices) {
            const std::size_t n = std::min(s.size, limit - size);
            std::memcpy(together + size, s.data, n);
            size += n;
            if (size == limit) break;
        }
    }
    if (!encrypt(bytes, size)) return false;
    advance(op, size);
    return true;
}

/// Reads as much of the file as is then sent in one call: the bytes are still in the cache when
/// they are encrypted.
bool encrypted_stream::read_piece(send_file_operation& op) noexcept {
    constexpr std::size_t piece = gathered / largest_record * largest_content;
    if (!file_ && !file_.try_obtain(piece + page)) {
        op.result = -ENOMEM;
        return false;
    }
    file_.clear();
    const auto skipped = static_cast<std::size_t>(well_placed(file_.spare()) - file_.spare());
    file_.commit(skipped);
    file_.consume(skipped);
    const auto left = static_cast<std::size_t>(op.file_size - op.sent);
    const auto read = fs::read_at(op.file, static_cast<std::uint64_t>(op.file_offset + op.sent),
                                  {file_.spare(), std::min(left, piece)});
    if (!read || *read == 0) {
        op.result = read ? -ENODATA : -read.error().code().value();
        return false;
    }
    file_.commit(*read);
    return true;
}

bool encrypted_stream::encrypt_file(send_file_operation& op) noexcept {
    if (file_.empty() && !read_piece(op)) return false;
    const std::size_t limit = record_size();
    const std::size_t size = std::min(file_.size(), limit);
    gathers_ = op.sent + static_cast<std::int64_t>(size) != op.file_size;
    if (!encrypt(file_.data(), size)) return false;
    file_.consume(size);
    op.sent += static_cast<std::int64_t>(size);
    return true;
}

}  // namespace coracle::tls::detail
