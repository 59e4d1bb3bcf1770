#pragma once

#include <coracle/base/unique_function.hpp>
#include <coracle/runtime/operation.hpp>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::http {

class fields;

/// The source of the pieces of a received body; each protocol has one.
class body_source {
public:
    /// The next piece, empty at the end; valid until the next call.
    virtual task<std::expected<std::string_view, error>> read() = 0;
    /// The size that is still to be read, when the sender has announced one.
    virtual std::optional<std::uint64_t> length() const noexcept = 0;
    /// The trailer fields, once the body has ended; null when there are none.
    virtual const fields* trailers() const noexcept { return nullptr; }
    /// Called by a reader that does not want the rest, for this reason. Returns the reason, with
    /// what is known of the message.
    virtual error refused(error why) { return why; }

protected:
    ~body_source() = default;
};

/// The body of a received message, read once: in pieces, or as a whole with a limit. What a handler
/// leaves unread is discarded by the server within bounds. Belongs to its message.
class received_body {
public:
    /// The default limit of the whole-body helpers, in bytes.
    static constexpr std::size_t default_limit = 1024 * 1024;

    received_body() noexcept = default;
    explicit received_body(body_source* source) noexcept : source_(source) {}

    /// Returns true if the message has no body, or it has been read to its end.
    bool ended() const noexcept { return source_ == nullptr || ended_; }
    /// The size that the sender announced, as far as it has not been read; 0 without a body,
    /// nothing for a chunked one.
    std::optional<std::uint64_t> length() const noexcept {
        return ended() ? std::optional<std::uint64_t>(0) : source_->length();
    }

    /// The trailer fields (RFC 9110 section 6.5) once the body has been read to its end; before,
    /// and when the sender gave none, there are none. Fields that frame, route or authenticate are
    /// left out (RFC 9110 section 6.5.1). Live as long as the message.
    const fields& trailers() const noexcept;

    /// The next piece, as it comes; empty at the end. Valid until the next call. Fails with
    /// `errc::too_slow` or `std::errc::timed_out` when the sender stalls, and when it breaks the
    /// framing. Cancelling it loses the body.
    operation<std::string_view> read();

    /// Reads the rest, at most `limit` bytes: beyond it fails with status 413, before reading when
    /// more is announced. Fails as `read` does, and with ENODATA
    /// (`std::errc::no_message_available`) when the end of a body that had content was read before.
    operation<std::string> text(std::size_t limit = default_limit);

    /// Abandons the body for this reason, and returns it with what is known of the message; for
    /// decoders of bodies. The server counts it and closes the connection after the response.
    error refuse(error why) {
        return source_ == nullptr ? std::move(why) : source_->refused(std::move(why));
    }

private:
    static task<std::expected<std::string_view, error>> read_piece(received_body* body);
    static task<std::expected<std::string, error>> read_all(received_body* body, std::size_t limit);
    body_source* source_ = nullptr;
    bool ended_ = false;
    bool had_content_ = false;  ///< some of which has been read
};

/// Writes a body of unknown length, piece by piece. Given to the function of a streamed response or
/// request, for as long as that runs.
class body_writer {
public:
    /// Completes when the piece has been handed to the system: awaiting it is the back-pressure.
    /// An empty piece does nothing. Fails when the peer is gone or takes nothing for the time
    /// of `server_timeouts::write`, or of a client's `idle_timeout`. Cancelling it ends the
    /// connection.
    operation<void> write(std::string_view piece) { return write_piece(piece); }
    /// Sends the head now, when the first piece is long in coming. Else it leaves with that piece.
    operation<void> flush() { return send_head(); }
    /// Writes `size` bytes of the open file `fd` from `offset` on, as `write` does, without copying
    /// them through the program where the connection can. `fd` must stay open until then. Fails
    /// with ENODATA when the file is shorter: end the body then. A server that has announced the
    /// size by then, of the body or of a chunk, takes nothing more and resets the connection, so
    /// that its client does not take a part for the whole.
    operation<void> write_file(int fd, std::uint64_t offset, std::uint64_t size) {
        return write_file_part(fd, offset, size);
    }
    /// Puts a field into the trailer section (RFC 9110 section 6.5), replacing one of its name; it
    /// may be called until the function of the body ends. It is sent where the protocol has a place
    /// for it (not HTTP/1.0, not a body of announced length), and with a response only when the
    /// client said `TE: trailers` or the response has a Trailer field. Else it is dropped: trailers
    /// are for what a receiver can do without. Throws `exception` (invalid_argument) when the field
    /// is malformed, or frames, routes or authenticates (section 6.5.1).
    void set_trailer(std::string_view name, std::string_view value) { add_trailer(name, value); }

protected:
    ~body_writer() = default;
    /// Reads the file and writes what it read.
    virtual task<std::expected<void, error>> write_file_part(int fd, std::uint64_t offset,
                                                             std::uint64_t size);
    virtual task<std::expected<void, error>> write_piece(std::string_view piece) = 0;
    virtual task<std::expected<void, error>> send_head() = 0;
    virtual void add_trailer(std::string_view, std::string_view) {}
};

/// A part of an open file.
class file_range {
public:
    file_range() noexcept = default;
    /// Takes over the descriptor number `fd`.
    file_range(int fd, std::uint64_t offset, std::uint64_t size) noexcept
        : fd_(fd), offset_(offset), size_(size) {}
    file_range(file_range&& other) noexcept
        : fd_(std::exchange(other.fd_, -1)), offset_(other.offset_), size_(other.size_) {}
    file_range& operator=(file_range&& other) noexcept;
    ~file_range() { close(); }

    int fd() const noexcept { return fd_; }
    std::uint64_t offset() const noexcept { return offset_; }
    std::uint64_t size() const noexcept { return size_; }
    /// Releases the descriptor: the caller closes it.
    int release() noexcept { return std::exchange(fd_, -1); }

private:
    void close() noexcept;
    int fd_ = -1;
    std::uint64_t offset_ = 0;
    std::uint64_t size_ = 0;
};

/// The body of a message to send: nothing, bytes, a part of a file, or a function that writes
/// pieces and owns what it needs. Move-only.
class body {
public:
    using stream_function = unique_function<task<>(body_writer&)>;
    enum class kind : std::uint8_t { empty, text, literal, file, stream };

    body() noexcept = default;
    body(std::string text) noexcept : kind_(kind::text), text_(std::move(text)) {}
    body(std::string_view text) : body(std::string(text)) {}
    body(const char* text) : body(std::string(text)) {}
    /// Bytes that outlive the message: literals, or a cache that is never changed.
    static body literal(std::string_view bytes) noexcept {
        body b;
        b.kind_ = kind::literal;
        b.literal_ = bytes;
        return b;
    }
    /// A part of bytes that are shared and never changed.
    static body shared(std::shared_ptr<const std::string> bytes, std::size_t offset,
                       std::size_t size) {
        body b = literal(std::string_view(*bytes).substr(offset, size));
        b.source_ = std::make_unique<source>(file_range(), stream_function(), std::nullopt,
                                             std::move(bytes));
        return b;
    }
    static body file(file_range range) {
        body b;
        b.kind_ = kind::file;
        b.source_ =
            std::make_unique<source>(std::move(range), stream_function(), std::nullopt, nullptr);
        return b;
    }
    /// Makes a streamed body. With a size, that is announced, and the function must write exactly
    /// so many bytes: more are refused, and with fewer the connection is reset, so that the client
    /// sees it.
    static body stream(stream_function f, std::optional<std::uint64_t> size = std::nullopt) {
        body b;
        b.kind_ = kind::stream;
        b.source_ = std::make_unique<source>(file_range(), std::move(f), size, nullptr);
        return b;
    }
    /// Writes `size` bytes of a body from `offset` on.
    using part_function = unique_function<task<>(body_writer&, std::uint64_t, std::uint64_t)>;
    /// A body of `size` bytes of which any part can be written, so that `ranged` can send ranges of
    /// it. `write(out, offset, size)` must write exactly so many bytes, as with `stream`; it is
    /// called once for each part that is sent, one after the other, each alive until the next is
    /// called.
    static body seekable(part_function write, std::uint64_t size) {
        body b = stream(stream_function(), size);
        b.source_->part = std::move(write);
        return b;
    }
    /// A body that was received, passed on piece by piece; `from` must outlive it.
    static body relay(received_body& from) noexcept {
        body b;
        b.kind_ = kind::stream;
        b.relayed_ = &from;
        return b;
    }
    body(body&&) noexcept = default;
    body& operator=(body&&) noexcept = default;

    kind type() const noexcept { return kind_; }
    /// Returns true if the bytes are in memory.
    bool in_memory() const noexcept { return kind_ <= kind::literal; }
    /// The bytes in memory.
    std::string_view bytes() const noexcept {
        return kind_ == kind::text ? std::string_view(text_) : literal_;
    }
    /// The range of the file. Only for kind::file.
    const file_range& file_part() const noexcept { return source_->file; }
    file_range& file_part() noexcept { return source_->file; }
    /// The function of the stream. Only for kind::stream.
    stream_function& stream_part() {
        if (source_ == nullptr)
            make_relay();
        else if (source_->part)
            make_stream_of_part();
        return source_->stream;
    }
    /// Returns true if any part of it can be sent. Not to be called once `stream_part` was taken.
    bool can_seek() const noexcept {
        return kind_ != kind::stream || (source_ != nullptr && source_->part);
    }
    /// The function that writes a part. Only for a body that is `seekable`; the offset of its first
    /// byte is `part_offset`.
    part_function& part() noexcept { return source_->part; }
    std::uint64_t part_offset() const noexcept { return source_->offset; }
    /// The size; nothing for a stream of unknown size.
    std::optional<std::uint64_t> size() const noexcept {
        if (kind_ == kind::stream) {
            return source_ == nullptr ? relayed_->length() : source_->stream_size;
        }
        return kind_ == kind::file ? source_->file.size() : bytes().size();
    }

    /// Keeps only `size` bytes from `offset` on, which must be there, and what owns them. Of
    /// kind::stream only for one that can seek.
    void narrow(std::uint64_t offset, std::uint64_t size);

    /// Copies a text into the memory that is there.
    void assign(std::string_view text) {
        kind_ = kind::text;
        // A third of the instructions of `assign`, which looks whether it is given a part of
        // itself. libstdc++ 12 passes the capacity in place of the size.
        text_.resize_and_overwrite(text.size(), [text](char* to, std::size_t) noexcept {
            if (!text.empty()) std::memcpy(to, text.data(), text.size());
            return text.size();
        });
    }

    /// Empty again; the memory of a text is kept.
    void clear() noexcept {
        kind_ = kind::empty;
        text_.clear();
        literal_ = {};
        source_.reset();
    }

private:
    struct source {
        file_range file;
        stream_function stream;
        std::optional<std::uint64_t> stream_size;
        std::shared_ptr<const std::string> bytes;  // what `literal_` is a part of
        part_function part = {};
        std::uint64_t offset = 0;  // of what `part` is to write
    };

    void make_relay();
    void make_stream_of_part();

    kind kind_ = kind::empty;
    std::string text_;
    std::string_view literal_;
    /// Allocated separately, so that the common response stays small.
    std::unique_ptr<source> source_;
    received_body* relayed_ = nullptr;  ///< of a stream without a source
};

}  // namespace coracle::http
