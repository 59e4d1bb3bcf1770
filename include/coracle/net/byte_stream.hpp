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

/// What the operations on a stream have in common: `Op` is the operation of the backend.
template <class Derived, class Op, class T>
class stream_operation : public coracle::detail::leaf<Derived, T>, protected Op {
public:
    stream_operation(stream_operation&&) noexcept = default;

    bool start() noexcept;
    void cancel() noexcept override;

protected:
    /// What `start` gives for an operation that is done: it resumes its task at once, or in the
    /// next turn when that has had its share of this one.
    bool completes_now() noexcept;
    /// The same where so many bytes were copied, which takes time too.
    bool completes_now(std::int64_t bytes) noexcept;

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

/// What `byte_stream::receive` gives.
class [[nodiscard]] receive final
    : public detail::stream_operation<receive, receive_operation, buffer> {
public:
    static constexpr const char* name = "receive";
    struct asked {
        byte_stream* from;
        std::size_t capacity;
    };
    explicit receive(const asked& a) noexcept : stream_operation(*a.from, buffer(), a.capacity) {}
    receive(byte_stream& from, buffer partial) noexcept
        : stream_operation(from, std::move(partial), std::size_t{0}) {}
    bool start() noexcept;
    std::expected<buffer, error> result();
    /// For callers that only ask whether bytes came: they, or an empty buffer.
    buffer& received() noexcept { return into; }
};

/// What `byte_stream::send` gives.
class [[nodiscard]] send final
    : public detail::stream_operation<send, send_operation, std::size_t> {
public:
    static constexpr const char* name = "send";
    /// Bytes or pieces. Words, each copied by itself: pairs that are copied as one have to wait
    /// until the words that were just written have reached the cache.
    struct asked {
        byte_stream* to;
        const char* data;
        std::size_t size;
        slice* pieces;
        std::size_t count;
        bool more;
    };
    explicit send(const asked& a) noexcept : stream_operation(*a.to), single_(a.data, a.size) {
        slices = {a.pieces, a.count};
        more = a.more;
    }
    bool start() noexcept {
        if (single_.size != 0) slices = {&single_, 1};
        if (slices.size() == 1 && !more && sent_at_once()) return completes_now();
        return stream_operation::start();
    }
    std::expected<std::size_t, error> result();
    /// How many bytes have gone so far.
    const std::int64_t& progress() const noexcept { return sent; }

private:
    bool sent_at_once() noexcept;

    slice single_;  ///< where there are no pieces
};

/// What `byte_stream::send_file` gives.
class [[nodiscard]] send_file final
    : public detail::stream_operation<send_file, send_file_operation, std::size_t> {
public:
    static constexpr const char* name = "send_file";
    struct asked {
        byte_stream* to;
        int fd;
        std::uint64_t offset;
        std::uint64_t size;
    };
    explicit send_file(const asked& a) noexcept : stream_operation(*a.to) {
        file = a.fd;
        file_offset = static_cast<std::int64_t>(a.offset);
        file_size = static_cast<std::int64_t>(a.size);
    }
    std::expected<std::size_t, error> result();
    const std::int64_t& progress() const noexcept { return sent; }
};

/// An ordered, reliable stream of bytes in both directions: a socket, TLS over one, a simulated
/// one. Belongs to one loop. At most one receive and one send (or send_file) at a time, which may
/// overlap; nothing may be pending when it is destroyed or closed.
class byte_stream {
public:
    byte_stream() noexcept = default;
    byte_stream(const byte_stream&) = delete;
    byte_stream& operator=(const byte_stream&) = delete;
    virtual ~byte_stream() = default;

    /// Completes when at least one byte has come, with the bytes in a pooled buffer that the caller
    /// owns; no block is held while it waits. Throws `errc::end_of_stream` at the end. Cancelling
    /// it loses nothing: bytes that came stay in the stream.
    unstarted<net::receive> receive(std::size_t capacity = buffer::default_capacity) noexcept {
        return unstarted<net::receive>({this, capacity});
    }
    /// The same, into the spare room of `partial`, of which there must be some.
    net::receive receive_into(buffer partial) noexcept { return {*this, std::move(partial)}; }

    /// Completes when all bytes have been handed to the system, which it tries at once. The memory,
    /// and the array of slices, which is used up, must live until then. With `more`, bytes follow
    /// at once and a partial segment may be held back. Cancelling it leaves the stream in the midst
    /// of the bytes: close it.
    unstarted<net::send> send(std::span<slice> pieces, bool more = false) noexcept {
        return unstarted<net::send>({this, nullptr, 0, pieces.data(), pieces.size(), more});
    }
    unstarted<net::send> send(std::string_view bytes, bool more = false) noexcept {
        return unstarted<net::send>({this, bytes.data(), bytes.size(), nullptr, 0, more});
    }

    /// Sends `size` bytes of the open file `fd`, without copying them through the program where it
    /// can. Fails with ENODATA when the file is shorter.
    unstarted<net::send_file> send_file(int fd, std::uint64_t offset, std::uint64_t size) noexcept {
        return unstarted<net::send_file>({this, fd, offset, size});
    }

    /// Sends the end of our side; the other side stays open.
    virtual void shutdown_output() noexcept = 0;
    /// Closes both sides; `reset` tells the peer that something went wrong.
    virtual void close(bool reset = false) noexcept = 0;

    /// Sends what can be sent without waiting, and gives its size or a negated errno; -EAGAIN where
    /// a stream has no such thing. Not while a send is pending.
    virtual std::int64_t try_send(std::string_view bytes) noexcept = 0;
    /// Whether something waits to be received, an end among it, as far as can be told without
    /// waiting. Only while no receive is pending.
    virtual bool has_input() noexcept = 0;
    /// From now on a receive that has to wait need not complete before so many bytes are there
    /// (SO_RCVLOWAT, socket(7)); 1, as at first: one. What is there already a receive gives, and
    /// the end completes it, even so. False where there is no such thing, as for all but sockets.
    virtual bool prefer_input(std::size_t /*bytes*/) noexcept { return false; }
    /// Tells `w` when the peer has closed or reset; null ends that at once. False when it has
    /// already.
    virtual bool watch_hangup(hangup_watch* w) noexcept = 0;

    virtual const address& peer() const noexcept = 0;
    virtual loop& owner() const noexcept = 0;

    /// For operations and for streams over streams: starts; true when completed at once.
    virtual bool start(io_operation& op) noexcept = 0;
    virtual void cancel(io_operation& op) noexcept = 0;
    /// What the negative result of an operation means: an errno, unless a stream over a stream
    /// knows better.
    virtual std::error_code code_of(std::int64_t result) const noexcept {
        return {static_cast<int>(-result), std::generic_category()};
    }
    /// What errors call it: the address of the peer, unless there is a better name.
    virtual std::string subject() const { return peer().to_string(); }
};

template <class Derived, class Op, class T>
bool detail::stream_operation<Derived, Op, T>::start() noexcept {
    return stream_->start(*this) && completes_now();
}

template <class Derived, class Op, class T>
bool detail::stream_operation<Derived, Op, T>::completes_now() noexcept {
    if (this->owner().may_complete_inline()) return true;
    this->owner().complete_later(*this);
    return false;
}

template <class Derived, class Op, class T>
bool detail::stream_operation<Derived, Op, T>::completes_now(std::int64_t bytes) noexcept {
    constexpr std::int64_t share = buffer::default_capacity;
    for (std::int64_t left = bytes; left > share; left -= share) {
        if (!this->owner().may_complete_inline()) break;
    }
    return completes_now();
}

inline bool receive::start() noexcept {
    far = this->far_part();
    return stream_->start(*this) && completes_now(io_operation::result);
}

template <class Derived, class Op, class T>
void detail::stream_operation<Derived, Op, T>::cancel() noexcept {
    stream_->cancel(*this);
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
