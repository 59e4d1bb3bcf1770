// The reading side of an encrypted stream.

#include "tls/encrypted_stream.hpp"

#include <coracle/runtime/loop.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace coracle::tls::detail {

int encrypted_stream::give(char* to, std::size_t size) noexcept {
    if (in_.empty()) return -1;
    const std::size_t n = size < in_.size() ? size : in_.size();
    std::memcpy(to, in_.data(), n);
    in_.consume(n);
    return static_cast<int>(n);
}

/// Returns true when the reader has its result.
bool encrypted_stream::advance_read() noexcept {
    // After this many reads without data, other tasks run first.
    constexpr int share = 16;
    for (int rounds = 0; !decrypt(); ++rounds) {
        in_.release();
        if (rounds == share) {
            reader_rests_ = true;
            owner().complete_behind(lower_receive_);
            return false;
        }
        constexpr std::size_t much = 64 * 1024;
        constexpr std::size_t most = 1024 * 1024;
        lower_receive_.capacity =
            std::clamp(reader_->capacity, flows_ ? much : buffer::default_capacity, most);
        if (!below_->start(lower_receive_)) return false;
        take_received();
    }
    if (in_.empty()) keep_nothing();
    reader_ = nullptr;
    return true;
}

/// Frees all buffers. OpenSSL has consumed all received bytes, so a connection that waits for its
/// next read, or is idle in a pool, holds no blocks.
void encrypted_stream::keep_nothing() noexcept {
    in_.release();
    // Only between two records: OpenSSL before 3.0.14 would free a record that is partly read or
    // received (CVE-2024-4741).
    const bool between_records = std::string_view(SSL_rstate_string(ssl_.get())) == "RH";
    if (between_records && SSL_pending(ssl_.get()) == 0) SSL_free_buffers(ssl_.get());
}

/// Processes the bytes received from the stream below, or its end.
void encrypted_stream::take_received() noexcept {
    in_ = std::move(lower_receive_.into);
    // More bytes are probably coming: larger pieces cost fewer calls.
    flows_ = lower_receive_.result >= static_cast<std::int64_t>(buffer::default_capacity);
    // RFC 8446 section 6.1: without close_notify the data may be incomplete.
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

/// Peers update their keys after so many bytes or records (RFC 8446 section 5.5): only those that
/// come with little data between them are made up to cost us time.
void encrypted_stream::forget_key_updates(std::size_t received) noexcept {
    constexpr std::size_t enough = 64 * 1024;
    since_key_update_ += received;
    if (since_key_update_ >= enough) key_updates_ = 0;
}

/// Decrypts received records into the reader's buffer. Returns false if there is no data.
bool encrypted_stream::decrypt() noexcept {
    receive_operation& op = *reader_;
    if (read_end_ <= 0) {
        op.result = read_end_;
        return true;
    }
    if (in_.empty() && SSL_pending(ssl_.get()) == 0) return false;
    const bool lent = static_cast<bool>(op.into);
    if (!lent && !op.into.try_obtain(op.capacity)) {
        op.result = -ENOMEM;
        return true;
    }
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
        // Sends an alert, the only one that OpenSSL lets a program send. (It has sent
        // no_renegotiation itself.)
        send_close_notify();
        read_end_ = write_error_ =
            result_of(renegotiates_ ? errc::renegotiation : errc::too_many_key_updates);
        op.into.clear();
        total = 0;
    }
    if (key_updates_ != 0) forget_key_updates(total);
    if (total != 0) {
        op.result = static_cast<std::int64_t>(total);
        return true;
    }
    if (!lent) op.into.release();
    if (read_end_ > 0) return false;
    op.result = read_end_;
    return true;
}

/// Returns the reason why no bytes could be read: 1 when more records are needed.
std::int64_t encrypted_stream::read_failure() noexcept {
    switch (SSL_get_error(ssl_.get(), 0)) {
        case SSL_ERROR_WANT_READ: return 1;
        case SSL_ERROR_ZERO_RETURN: return 0;
        default: break;
    }
    // An alert that the peer sent before it closed has more information than the failed write after
    // it.
    if (write_error_ < 0 && ERR_peek_error() == 0) return write_error_;
    fail_writes(errc::bad_record, "receive");
    return write_error_;
}

/// Stores the failure that OpenSSL has just reported for all later writes.
void encrypted_stream::fail_writes(errc otherwise, const char* operation) noexcept {
    write_error_ = result_of(otherwise);
    try {
        const error e = take_failure(otherwise, operation);
        write_error_ = result_of(static_cast<errc>(e.code().value()));
        refusal_ = e.subject();
    } catch (const std::bad_alloc&) {
        ERR_clear_error();  // only the code is used
    }
}

}  // namespace coracle::tls::detail
