#include "tls/encrypted_stream.hpp"

#include "tls/bio.hpp"
#include "tls/certificate.hpp"
#include "tls/message_watch.hpp"

#include <coracle/runtime/loop.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace coracle::tls::detail {
namespace {

/// Results below this one are a `tls::errc`; above it, errnos.
constexpr std::int64_t first_tls_result = -4096;

constexpr std::int64_t result_of(errc e) noexcept {
    return first_tls_result - static_cast<std::int64_t>(e);
}

std::int64_t read_file(int fd, char* to, std::size_t size, std::int64_t at) noexcept {
    ssize_t n = 0;
    do n = ::pread(fd, to, size, at);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

}  // namespace

void watch_message(int sent, int, int type, const void* bytes, std::size_t size, SSL* s, void*) {
    const auto* const message = static_cast<const unsigned char*>(bytes);
    auto& self = *static_cast<encrypted_stream*>(SSL_get_app_data(s));
    if (sent == 0 && type == SSL3_RT_HANDSHAKE && size != 0 && message[0] == SSL3_MT_KEY_UPDATE) {
        self.key_updated();
    }
    if (sent != 0 && type == SSL3_RT_ALERT && size > 1 && message[1] == SSL_AD_NO_RENEGOTIATION) {
        self.renegotiation_refused();
    }
}

encrypted_stream::encrypted_stream(ssl_ptr s, std::unique_ptr<net::byte_stream> beneath,
                                   buffer received, const common_options& o)
    : ssl_(std::move(s)), beneath_(std::move(beneath)), in_(std::move(received)),
      most_key_updates_(o.key_updates) {
    SSL_set_app_data(ssl_.get(), this);
    BIO* const b = make_bio(*this);
    SSL_set_bio(ssl_.get(), b, b);
}

int encrypted_stream::give(char* to, std::size_t size) noexcept {
    if (in_.empty()) return -1;
    const std::size_t n = size < in_.size() ? size : in_.size();
    std::memcpy(to, in_.data(), n);
    in_.consume(n);
    return static_cast<int>(n);
}

int encrypted_stream::take(const char* from, std::size_t size) noexcept {
    std::string_view bytes(from, size);
    // Two records of the writer's at most, and a flight; what is more is answers to a peer that
    // makes us answer and does not read.
    constexpr std::size_t most_held = 128 * 1024;
    if (out_.size() + behind_.size() + size > most_held) {
        write_error_ = -ENOBUFS;
        return 0;
    }
    if (writes_beneath_) {
        behind_.append(bytes);
        return static_cast<int>(size);
    }
    if (!gathers_ && out_.empty()) {
        const std::int64_t n = beneath_->try_send(bytes);
        if (n < 0 && n != -EAGAIN) {
            write_error_ = n;
            return 0;
        }
        if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    out_.append(bytes);
    return static_cast<int>(size);
}

std::error_code encrypted_stream::code_of(std::int64_t result) const noexcept {
    if (result < first_tls_result) {
        return make_error_code(static_cast<errc>(first_tls_result - result));
    }
    return beneath_->code_of(result);
}

bool encrypted_stream::start(io_operation& op) noexcept {
    if (op.code == opcode::receive) {
        reader_ = static_cast<receive_operation*>(&op);
        return advance_read();
    }
    writer_ = &op;
    cancelled_ = false;
    records_ = 0;
    if (op.code == opcode::send) skip_owed();
    return advance_write();
}

void encrypted_stream::cancel(io_operation& op) noexcept {
    if (&op == reader_) {
        reader_cancelled_ = reader_rests_;
        if (!reader_rests_) beneath_->cancel(lower_receive_);
    } else if (&op == writer_) {
        cancelled_ = true;
        if (!rests_) beneath_->cancel(lower_send_);
    }
}

// ---- reading -----------------------------------------------------------------------------------

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
        lower_receive_.capacity = reader_->capacity > buffer::default_capacity
                                      ? reader_->capacity
                                      : buffer::default_capacity;
        reads_beneath_ = true;
        if (!beneath_->start(lower_receive_)) return false;
        reads_beneath_ = false;
        in_ = std::move(lower_receive_.into);
        // RFC 8446 section 6.1: without close_notify nobody knows whether this is all.
        if (lower_receive_.result == 0) read_end_ = result_of(errc::truncated);
        if (lower_receive_.result < 0) read_end_ = lower_receive_.result;
    }
    reader_ = nullptr;
    return true;
}

void encrypted_stream::received(io_operation& op) noexcept {
    encrypted_stream& self = *static_cast<lower_receive&>(op).self;
    receive_operation& reader = *self.reader_;
    self.reads_beneath_ = false;
    if (self.reader_rests_) {
        self.reader_rests_ = false;
        op.result = std::exchange(self.reader_cancelled_, false) ? -ECANCELED : 1;
    } else {
        self.in_ = std::move(self.lower_receive_.into);
    }
    if (op.result == -ECANCELED) {
        self.reader_ = nullptr;
        reader.result = -ECANCELED;
    } else {
        if (op.result == 0) self.read_end_ = result_of(errc::truncated);
        if (op.result < 0) self.read_end_ = op.result;
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
        ERR_clear_error();
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
    write_error_ = result_of(static_cast<errc>(e.code().value()));
    return write_error_;
}

// ---- writing -----------------------------------------------------------------------------------

/// Small at first, so that the peer can use the first packet without waiting for more, and as large
/// as they get once a connection is busy.
std::size_t encrypted_stream::record_size() noexcept {
    // Fits a packet of Ethernet with the overhead of TLS 1.2.
    constexpr std::size_t one_packet = 1400;
    constexpr std::size_t whole = SSL3_RT_MAX_PLAIN_LENGTH;
    constexpr std::size_t warm = 16 * 1024;
    const time_point now = owner().now();
    if (last_sent_ == time_point::min() || now - last_sent_ > std::chrono::seconds(1)) burst_ = 0;
    last_sent_ = now;
    return burst_ < warm ? one_packet : whole;
}

/// Whether small records may wait for each other, to leave in one call.
bool encrypted_stream::may_gather() const noexcept {
    return out_.size() < 16 * 1024;
}

bool encrypted_stream::encrypt(const char* bytes, std::size_t size) noexcept {
    if (write_error_ < 0) return false;
    std::size_t written = 0;
    ERR_clear_error();
    if (SSL_write_ex(ssl_.get(), bytes, size, &written) == 1) {
        burst_ += size;
        ++records_;
        return true;
    }
    if (write_error_ == 0) {
        const error e = take_failure(errc::bad_record, "send");
        write_error_ = result_of(static_cast<errc>(e.code().value()));
    }
    return false;
}

std::int64_t encrypted_stream::try_send(std::string_view bytes) noexcept {
    if (writer_ != nullptr || writes_beneath_) return -EAGAIN;
    if (write_error_ < 0) return write_error_;
    if (bytes.empty()) return 0;
    if (owed_ == 0) {
        const std::size_t record = record_size();
        const std::size_t all = std::min<std::size_t>(bytes.size(), SSL3_RT_MAX_PLAIN_LENGTH);
        gathers_ = all > record || !out_.empty();
        for (std::size_t at = 0; at < all; at += record) {
            if (!encrypt(bytes.data() + at, std::min(record, all - at))) break;
        }
        gathers_ = false;
        if (write_error_ < 0) return write_error_;
        owed_ = all;
    }
    const progress p = flush_beneath();
    if (p == progress::failed) return write_error_;
    if (p == progress::waits) return -EAGAIN;
    return static_cast<std::int64_t>(std::exchange(owed_, 0));
}

/// What `try_send` took and could not send whole is the beginning of what is sent now.
void encrypted_stream::skip_owed() noexcept {
    auto& op = static_cast<send_operation&>(*writer_);
    while (owed_ != 0 && !op.slices.empty()) {
        slice& first = op.slices.front();
        const std::size_t n = std::min(owed_, first.size);
        first.data += n;
        first.size -= n;
        owed_ -= n;
        op.sent += static_cast<std::int64_t>(n);
        if (first.size == 0) op.slices = op.slices.subspan(1);
    }
    owed_ = 0;
}

/// Hands over what the stream beneath takes without waiting.
encrypted_stream::progress encrypted_stream::flush_beneath() noexcept {
    while (!out_.empty()) {
        const std::int64_t n = beneath_->try_send(out_.view());
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
    const progress p = flush_beneath();
    if (p != progress::waits) return p;
    lower_slice_ = slice(out_.view());
    lower_send_.slices = {&lower_slice_, 1};
    lower_send_.sent = 0;
    writes_beneath_ = true;
    if (!beneath_->start(lower_send_)) return progress::waits;
    writes_beneath_ = false;
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
        self.writes_beneath_ = false;
        self.out_ = std::move(self.behind_);
        // Cut in the midst of a record: nothing can follow.
        if (op.result < 0) self.write_error_ = op.result;
    }
    if (self.cancelled_) {
        self.finish_write(-ECANCELED);
    } else if (!self.advance_write()) {
        return;
    }
    writer.completed(writer);
}

bool encrypted_stream::all_encrypted() const noexcept {
    if (writer_->code == opcode::send) {
        return static_cast<const send_operation*>(writer_)->slices.empty();
    }
    const auto& op = static_cast<const send_file_operation&>(*writer_);
    return op.sent == op.file_size;
}

bool encrypted_stream::finish_write(std::int64_t result) noexcept {
    writer_->result = result;
    writer_ = nullptr;
    gathers_ = false;
    file_.release();
    return true;
}

/// True when the writer has its result.
bool encrypted_stream::advance_write() noexcept {
    // So many records, and others get their turn.
    constexpr unsigned share = 16;
    for (;;) {
        const bool over = all_encrypted();
        const bool waits_for_more =
            over && writer_->code == opcode::send && static_cast<send_operation&>(*writer_).more;
        const bool holds_back = may_gather() && (gathers_ ? !over || waits_for_more : false);
        if (write_error_ == 0 && !out_.empty() && !holds_back) {
            if (flush() == progress::waits) return false;
        }
        if (write_error_ < 0) return finish_write(write_error_);
        if (over) {
            const bool is_send = writer_->code == opcode::send;
            return finish_write(is_send ? static_cast<send_operation&>(*writer_).sent
                                        : static_cast<send_file_operation&>(*writer_).sent);
        }
        if (records_ >= share && !gathers_) {
            records_ = 0;
            rests_ = true;
            lower_send_.result = 0;
            owner().complete_later(lower_send_);
            return false;
        }
        const bool good = writer_->code == opcode::send
                              ? encrypt_slices(static_cast<send_operation&>(*writer_))
                              : encrypt_file(static_cast<send_file_operation&>(*writer_));
        if (!good && write_error_ == 0) return finish_write(writer_->result);
    }
}

/// One record of what there is to send: several small pieces share one.
bool encrypted_stream::encrypt_slices(send_operation& op) noexcept {
    while (!op.slices.empty() && op.slices.front().size == 0) op.slices = op.slices.subspan(1);
    if (op.slices.empty()) return true;
    const std::size_t limit = record_size();
    gathers_ = op.more || limit != SSL3_RT_MAX_PLAIN_LENGTH;
    char together[SSL3_RT_MAX_PLAIN_LENGTH];
    const char* bytes = op.slices.front().data;
    std::size_t size = std::min(op.slices.front().size, limit);
    if (size < limit && op.slices.size() > 1) {
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
    owed_ = size;
    skip_owed();
    return true;
}

bool encrypted_stream::encrypt_file(send_file_operation& op) noexcept {
    constexpr std::size_t piece = 64 * 1024;
    if (file_.empty()) {
        if (!file_) file_ = buffer(piece);
        file_.clear();
        const auto left = static_cast<std::size_t>(op.file_size - op.sent);
        const std::int64_t n =
            read_file(op.file, file_.spare(), std::min(left, piece), op.file_offset + op.sent);
        if (n <= 0) {
            op.result = n == 0 ? -ENODATA : n;
            return false;
        }
        file_.commit(static_cast<std::size_t>(n));
    }
    const std::size_t limit = record_size();
    gathers_ = limit != SSL3_RT_MAX_PLAIN_LENGTH;
    const std::size_t size = std::min(file_.size(), limit);
    if (!encrypt(file_.data(), size)) return false;
    file_.consume(size);
    op.sent += static_cast<std::int64_t>(size);
    return true;
}

// ---- the end -----------------------------------------------------------------------------------

void encrypted_stream::shutdown_output() noexcept {
    if (output_ended_) return;
    output_ended_ = true;
    if (established_ && write_error_ == 0) {
        ERR_clear_error();
        SSL_shutdown(ssl_.get());
        if (!writes_beneath_) flush_beneath();
        ERR_clear_error();
    }
    beneath_->shutdown_output();
}

void encrypted_stream::close(bool reset) noexcept {
    if (closed_) return;
    closed_ = true;
    if (!reset && !output_ended_ && established_ && write_error_ == 0) {
        output_ended_ = true;
        ERR_clear_error();
        SSL_shutdown(ssl_.get());
        flush_beneath();
        ERR_clear_error();
    }
    beneath_->close(reset);
}

// ---- what was agreed on -------------------------------------------------------------------------

version encrypted_stream::version() const noexcept {
    return SSL_version(ssl_.get()) == TLS1_3_VERSION ? version::tls_1_3 : version::tls_1_2;
}

std::string_view encrypted_stream::cipher() const noexcept {
    const SSL_CIPHER* const c = SSL_get_current_cipher(ssl_.get());
    const char* const name = c == nullptr ? nullptr : SSL_CIPHER_standard_name(c);
    return name == nullptr ? std::string_view() : name;
}

std::string_view encrypted_stream::protocol() const noexcept {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl_.get(), &name, &size);
    return {reinterpret_cast<const char*>(name), size};
}

std::string_view encrypted_stream::server_name() const noexcept {
    const char* const name = SSL_get_servername(ssl_.get(), TLSEXT_NAMETYPE_host_name);
    return name == nullptr ? std::string_view() : name;
}

certificate encrypted_stream::peer_certificate() const {
    return certificate_of(SSL_get0_peer_certificate(ssl_.get()));
}

bool encrypted_stream::verified() const noexcept {
    return SSL_get_verify_mode(ssl_.get()) != SSL_VERIFY_NONE &&
           SSL_get0_peer_certificate(ssl_.get()) != nullptr &&
           SSL_get_verify_result(ssl_.get()) == X509_V_OK;
}

}  // namespace coracle::tls::detail
