// How an encrypted stream reads.

#include "tls/encrypted_stream.hpp"

#include <coracle/runtime/loop.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace coracle::tls::detail {

int encrypted_stream::give(char* to, std::size_t size) noexcept {
    if (in_.empty()) return -1;
    const std::size_t n = size < in_.size() ? size : in_.size();
    std::memcpy(to, in_.data(), n);
    in_.consume(n);
    return static_cast<int>(n);
}

/// True when the reader has its result.
bool encrypted_stream::advance_read() noexcept {
    // So many reads that bring no data, and others get their turn.
    constexpr int share = 16;
    for (int rounds = 0; !decrypt(); ++rounds) {
        in_.release();
        if (rounds == share) {
            reader_rests_ = true;
            owner().complete_later(lower_receive_);
            return false;
        }
        constexpr std::size_t much = 64 * 1024;
        lower_receive_.capacity =
            std::max(reader_->capacity, flows_ ? much : buffer::default_capacity);
        if (!beneath_->start(lower_receive_)) return false;
        take_received();
    }
    if (in_.empty()) keep_nothing();
    reader_ = nullptr;
    return true;
}

/// All that came is OpenSSL's: who waits for his next read, or in a pool, holds no blocks.
void encrypted_stream::keep_nothing() noexcept {
    in_.release();
    // OpenSSL before 3.0.14 frees a record of which a part is still to be read, or to come
    // (CVE-2024-4741): only between two records, where it waits for the head of the next.
    const bool between_records = std::string_view(SSL_rstate_string(ssl_.get())) == "RH";
    if (between_records && SSL_pending(ssl_.get()) == 0) SSL_free_buffers(ssl_.get());
}

/// What came from beneath, or why nothing more does.
void encrypted_stream::take_received() noexcept {
    in_ = std::move(lower_receive_.into);
    // More waits than was taken, most likely: in larger pieces it costs fewer calls.
    flows_ = lower_receive_.result >= static_cast<std::int64_t>(lower_receive_.capacity);
    // RFC 8446 section 6.1: without close_notify nobody knows whether this is all.
    if (lower_receive_.result == 0) read_end_ = result_of(errc::truncated);
    if (lower_receive_.result < 0) read_end_ = lower_receive_.result;
}

void encrypted_stream::received(io_operation& op) noexcept {
    encrypted_stream& self = *static_cast<lower_receive&>(op).self;
    receive_operation& reader = *self.reader_;
    const bool rested = std::exchange(self.reader_rests_, false);
    if (rested ? std::exchange(self.reader_cancelled_, false) : op.result == -ECANCELED) {
        self.reader_ = nullptr;
        reader.result = -ECANCELED;
    } else {
        if (!rested) self.take_received();
        if (!self.advance_read()) return;
    }
    reader.completed(reader);
}

/// Decrypts what there is into the reader's buffer; false when that is nothing.
bool encrypted_stream::decrypt() noexcept {
    receive_operation& op = *reader_;
    if (read_end_ <= 0) {
        op.result = read_end_;
        return true;
    }
    if (in_.empty() && SSL_pending(ssl_.get()) == 0) return false;
    const bool lent = static_cast<bool>(op.into);
    if (!lent) op.into = buffer(op.capacity);
    std::size_t total = 0;
    do {
        std::size_t n = 0;
        forget_failures();
        if (SSL_read_ex(ssl_.get(), op.into.spare(), op.into.spare_size(), &n) != 1) {
            const std::int64_t end = read_failure();
            if (end <= 0) read_end_ = end;
            break;
        }
        op.into.commit(n);
        total += n;
    } while (op.into.spare_size() != 0 && (!in_.empty() || SSL_pending(ssl_.get()) != 0));
    if (key_updates_ > most_key_updates_ || renegotiates_) {
        read_end_ = write_error_ =
            result_of(renegotiates_ ? errc::renegotiation : errc::too_many_key_updates);
        op.into.clear();
        total = 0;
    }
    if (total != 0) {
        op.result = static_cast<std::int64_t>(total);
        return true;
    }
    if (!lent) op.into.release();
    if (read_end_ > 0) return false;
    op.result = read_end_;
    return true;
}

/// Why nothing could be read: 1 when there is only nothing yet.
std::int64_t encrypted_stream::read_failure() noexcept {
    switch (SSL_get_error(ssl_.get(), 0)) {
        case SSL_ERROR_WANT_READ: return 1;
        case SSL_ERROR_ZERO_RETURN: return 0;
        default: break;
    }
    if (write_error_ < 0) return write_error_;
    const error e = take_failure(errc::bad_record, "receive");
    refusal_ = e.subject();
    write_error_ = result_of(static_cast<errc>(e.code().value()));
    return write_error_;
}

}  // namespace coracle::tls::detail
