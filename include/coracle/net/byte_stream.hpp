#pragma once

#include <coracle/net/address.hpp>
#include <coracle/runtime/operation.hpp>

#include <cerrno>
#include <cstdint>
#include <span>
#include <string_view>

namespace coracle::net {

class byte_stream;

namespace detail {

/// The base of the operations on a stream: `Op` is the operation of the backend.
template <class Derived, class Op, class T>
class stream_operation : public coracle::detail::leaf<Derived, T>, protected Op {
public:
    stream_operation(stream_operation&&) noexcept = default;

    bool start() noexcept;
    void cancel() noexcept override;

protected:
    /// Takes from the share of this turn what copying so many bytes costs, beyond that of an
    /// operation: each `part` of them is another.
    void spend(std::int64_t bytes, std::int64_t part) noexcept;

    template <class... A>
    explicit stream_operation(byte_stream& s, A&&... more) noexcept
        : Op(&done, std::forward<A>(more)...), stream_(&s) {}
    ~stream_operation() = default;

    byte_stream* stream_;

private:
    static void done(io_operation& op) {
        auto& self = static_cast<stream_operation&>(static_cast<Op&>(op));
        if (op.result == -ECANCELED) self.mark_cancelled();
        self.complete();
    }
};

}  // namespace detail

/// The awaitable returned by `byte_stream::receive`.
class [[nodiscard]] receive final
    : public detail::stream_operation<receive, receive_operation, buffer> {
public:
    static constexpr const char* name = "receive";
    struct parameters {
        byte_stream* from;
        std::size_t capacity;
    };
    explicit receive(const parameters& p) noexcept
        : stream_operation(*p.from, buffer(), p.capacity) {}
    receive(byte_stream& from, buffer partial) noexcept
        : stream_operation(from, std::move(partial), std::size_t{0}) {}
    bool start() noexcept;
    std::expected<buffer, error> result();
    /// The received bytes, or an empty buffer: for callers that only need to know whether bytes
    /// came.
    buffer& received() noexcept { return into; }
};

/// The awaitable returned by `byte_stream::send`.
class [[nodiscard]] send final
    : public detail::stream_operation<send, send_operation, std::size_t> {
public:
    static constexpr const char* name = "send";
    /// Bytes or pieces. Words, each copied by itself: pairs that are copied as one have to wait
    /// until the words that were just written have reached the cache.
    struct parameters {
        byte_stream* to;
        const char* data;
        std::size_t size;
        slice* pieces;
        std::size_t count;
        bool more;
    };
    explicit send(const parameters& p) noexcept : stream_operation(*p.to), single_(p.data, p.size) {
        slices = {p.pieces, p.count};
        more = p.more;
    }
    bool start() noexcept;
    std::expected<std::size_t, error> result();
    /// The number of bytes sent so far.
    const std::int64_t& progress() const noexcept { return sent; }

private:
    /// 64 of them are 512 KiB: what a task that writes without end may send in one turn.
    static constexpr std::int64_t sent_for_one = 8 * 1024;

    bool sent_at_once() noexcept;

    slice single_;  ///< where there are no pieces
};

/// The awaitable returned by `byte_stream::send_file`.
class [[nodiscard]] send_file final
    : public detail::stream_operation<send_file, send_file_operation, std::size_t> {
public:
    static constexpr const char* name = "send_file";
    struct parameters {
        byte_stream* to;
        int fd;
        std::uint64_t offset;
        std::uint64_t size;
    };
    explicit send_file(const parameters& p) noexcept : stream_operation(*p.to) {
        file = p.fd;
        file_offset = static_cast<std::int64_t>(p.offset);
        file_size = static_cast<std::int64_t>(p.size);
    }
    std::expected<std::size_t, error> result();
    const std::int64_t& progress() const noexcept { return sent; }
};

/// An ordered, reliable stream of bytes in both directions: a socket, TLS over one, a simulated
/// one. Belongs to one loop. At most one receive and one send (or send_file) at a time, which may
/// overlap: a second one in the same direction fails with EBUSY. Nothing may be pending when it is
/// destroyed or closed.
///
/// A reset (ECONNRESET), and whatever else ends a connection out of order, is remembered: all
/// receives after the bytes that came before it, and all sends, fail with it. An end of the stream
/// is always the end that the peer has sent.
class byte_stream {
public:
    byte_stream() noexcept = default;
    byte_stream(const byte_stream&) = delete;
    byte_stream& operator=(const byte_stream&) = delete;
    virtual ~byte_stream() = default;

    /// Completes when at least one byte has come, with the bytes in a pooled buffer that the caller
    /// owns; no block is held while it waits. Throws `errc::end_of_stream` at the end. Cancelling
    /// it loses nothing: bytes that came stay in the stream. Fails with ENOMEM where there is no
    /// memory for `capacity` bytes.
    deferred_operation<net::receive> receive(
        std::size_t capacity = buffer::default_capacity) noexcept {
        return deferred_operation<net::receive>({this, capacity});
    }
    /// Receives as `receive` does, into the spare capacity of `partial`, which must not be 0.
    net::receive receive_into(buffer partial) noexcept { return {*this, std::move(partial)}; }

    /// Completes when all bytes have been handed to the system, which it tries at once. The memory,
    /// and the array of slices, which is used up, must live until then. With `more`, bytes follow
    /// at once and a partial segment may be held back. Cancelling it leaves the stream in the midst
    /// of the bytes: close it.
    deferred_operation<net::send> send(std::span<slice> pieces, bool more = false) noexcept {
        return deferred_operation<net::send>(
            {this, nullptr, 0, pieces.data(), pieces.size(), more});
    }
    deferred_operation<net::send> send(std::string_view bytes, bool more = false) noexcept {
        return deferred_operation<net::send>({this, bytes.data(), bytes.size(), nullptr, 0, more});
    }

    /// Sends `size` bytes of the open file `fd`, without copying them through the program where it
    /// can. Fails with ENODATA when the file is shorter.
    deferred_operation<net::send_file> send_file(int fd, std::uint64_t offset,
                                                 std::uint64_t size) noexcept {
        return deferred_operation<net::send_file>({this, fd, offset, size});
    }

    /// Sends the end of our side; the other side stays open.
    virtual void shutdown_output() noexcept = 0;
    /// Closes both sides; `reset` shows the peer that there was an error.
    virtual void close(bool reset = false) noexcept = 0;

    /// Sends what can be sent without waiting, and gives its size or a negated errno, which is
    /// remembered where it ends the connection; -EAGAIN where a stream has no such thing. Not while
    /// a send is pending. After -EAGAIN the next send must begin with the same bytes: a stream over
    /// another may have taken them in already.
    virtual std::int64_t try_send(std::string_view bytes) noexcept = 0;
    /// Returns true if bytes or an end are waiting to be received, as far as that is known without
    /// waiting. Only while no receive is pending.
    virtual bool has_input() noexcept = 0;
    /// Lets a receive that has to wait complete only when so many bytes are there (SO_RCVLOWAT,
    /// socket(7)); 1 is the default. Bytes that are there already are given at once, and the end
    /// completes it all the same. Returns false if there is no such thing, as for all but sockets.
    virtual bool prefer_input(std::size_t /*bytes*/) noexcept { return false; }
    /// Notifies `w` when the peer has closed or reset; null ends that at once. Returns false if it
    /// has already.
    virtual bool watch_hangup(hangup_watch* w) noexcept = 0;
    /// Returns true if the kernel can move the bytes to and from a pipe by itself: `start` then
    /// takes a `splice_operation`. True only of a socket or a pipe of the system.
    virtual bool can_splice() const noexcept { return false; }

    virtual const address& peer() const noexcept = 0;
    virtual loop& owner() const noexcept = 0;

    /// Starts an operation, for operations and for streams over streams; true when it has completed
    /// at once.
    virtual bool start(io_operation& op) noexcept = 0;
    virtual void cancel(io_operation& op) noexcept = 0;
    /// Converts the negative result of an operation: it is an errno, unless a stream over a stream
    /// has errors of its own.
    virtual std::error_code code_of(std::int64_t result) const noexcept {
        return {static_cast<int>(-result), std::generic_category()};
    }
    /// The name of the stream in errors: the address of the peer, unless there is a better one.
    virtual std::string subject() const { return peer().to_string(); }
};

template <class Derived, class Op, class T>
bool detail::stream_operation<Derived, Op, T>::start() noexcept {
    return this->may_begin() && stream_->start(*this);
}

template <class Derived, class Op, class T>
void detail::stream_operation<Derived, Op, T>::spend(std::int64_t bytes,
                                                     std::int64_t part) noexcept {
    for (std::int64_t left = bytes; left > part; left -= part) {
        if (!this->owner().may_complete_inline()) break;
    }
}

inline bool receive::start() noexcept {
    if (!may_begin()) return false;
    far = this->far_part();
    if (!stream_->start(*this)) return false;
    spend(io_operation::result, buffer::default_capacity);
    return true;
}

template <class Derived, class Op, class T>
void detail::stream_operation<Derived, Op, T>::cancel() noexcept {
    if (!this->withdrawn_before_start()) stream_->cancel(*this);
}

inline bool send::start() noexcept {
    if (!may_begin()) return false;
    if (single_.size != 0) slices = {&single_, 1};
    const bool tries = slices.size() == 1 && !more;
    if (!(tries && sent_at_once()) && !stream_->start(*this)) return false;
    spend(sent, sent_for_one);
    return true;
}

/// Most sends fit into the socket: a plain call costs 120 instructions less than an operation.
inline bool send::sent_at_once() noexcept {
    slice& all = slices[0];
    const std::int64_t n = stream_->try_send({all.data, all.size});
    if (n < 0) return false;  // what is wrong is said by the operation
    sent = n;
    io_operation::result = n;
    all.data += n;
    all.size -= static_cast<std::size_t>(n);
    return all.size == 0;
}

}  // namespace coracle::net
