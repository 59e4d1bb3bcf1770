#pragma once

#include <coracle/base/buffer.hpp>
#include <coracle/base/error.hpp>
#include <coracle/base/intrusive_list.hpp>
#include <coracle/runtime/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace coracle {

class loop;

/// An endpoint as bytes that only the network layer and the backends look into: a `sockaddr`.
struct endpoint {
    alignas(8) unsigned char bytes[112];
    std::uint32_t size = 0;
};

/// Bytes to send; laid out as `iovec`.
struct slice {
    const char* data = nullptr;
    std::size_t size = 0;

    slice() noexcept = default;
    slice(const char* d, std::size_t n) noexcept : data(d), size(n) {}
    slice(std::string_view text) noexcept : data(text.data()), size(text.size()) {}
};

struct io_operation;

/// Hears that the peer of a descriptor has closed or reset. Called from the loop, once.
struct hangup_watch {
    void (*gone)(hangup_watch&) noexcept;
};

/// A descriptor as its backend knows it. Lives in the object that owns the descriptor, does not
/// move, and belongs to one loop. At most one operation waits in each direction.
struct descriptor {
    int fd = -1;
    std::uint32_t flags = 0;         ///< the backend's
    io_operation* input = nullptr;   ///< waits until it can read, accept
    io_operation* output = nullptr;  ///< waits until it can write, connect
    hangup_watch* watch = nullptr;   ///< hears when the peer has closed

    descriptor() noexcept = default;
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    bool open() const noexcept { return fd >= 0; }
};

enum class opcode : std::uint8_t {
    accept,     ///< result: the new descriptor's number; `peer` is filled
    connect,    ///< to `peer`
    receive,    ///< into `into`, whose block is taken when there are bytes; result 0: end
    send,       ///< all of `slices`, which are used up as it goes
    send_file,  ///< `file_size` bytes of `file` from `file_offset`
    readable,   ///< a foreign descriptor
    writable,   ///< a foreign descriptor
};

/// One asynchronous operation, embedded in its awaiter. The backend owns it between `submit`
/// and completion. `result` is a count, or a negated errno; a cancelled one has -ECANCELED.
struct io_operation : list_hook {
    using callback = void (*)(io_operation&) noexcept;

    opcode code{};
    bool cancelled = false;
    descriptor* on = nullptr;
    std::int64_t result = 0;
    callback completed = nullptr;

    io_operation(opcode c, callback done) noexcept : code(c), completed(done) {}
};

struct receive_operation : io_operation {
    explicit receive_operation(callback done) noexcept : io_operation(opcode::receive, done) {}
    buffer into;
    std::size_t capacity = buffer::default_capacity;
};

struct send_operation : io_operation {
    explicit send_operation(callback done) noexcept : io_operation(opcode::send, done) {}
    std::span<slice> slices;
    std::int64_t sent = 0;
    bool more = false;  ///< more follows at once: hold back a partial segment
};

struct send_file_operation : io_operation {
    explicit send_file_operation(callback done) noexcept : io_operation(opcode::send_file, done) {}
    int file = -1;
    std::int64_t file_offset = 0;
    std::int64_t file_size = 0;
    std::int64_t sent = 0;
};

struct address_operation : io_operation {
    address_operation(opcode c, callback done) noexcept : io_operation(c, done) {}
    endpoint peer;
};

struct foreign_operation : io_operation {
    foreign_operation(opcode c, callback done) noexcept : io_operation(c, done) {}
    int fd = -1;
    bool reported = false;
};

/// How to open a listening or connecting socket.
struct socket_options {
    bool reuse_port = false;       ///< several listeners share one address (SO_REUSEPORT)
    bool v6_only = false;          ///< an IPv6 listener takes no IPv4 connections
    bool no_delay = true;          ///< TCP_NODELAY
    int backlog = 4096;            ///< connections that wait for accept
    unsigned user_timeout_ms = 0;  ///< TCP_USER_TIMEOUT; 0: the system's
};

/// What a backend did, for `/debug` pages and tests. One writer; read relaxed.
struct backend_counters {
    std::uint64_t waits = 0;
    std::uint64_t events = 0;
    std::uint64_t system_calls = 0;
};

/// The system, as a loop sees it: sockets, readiness, both clocks and randomness. One object a
/// loop, used on the loop's thread only (`wake` apart).
class backend {
public:
    virtual ~backend() = default;

    virtual std::string_view name() const noexcept = 0;

    /// Starts `op`. True when it has completed already (`result` is set, `completed` is not
    /// called); otherwise `completed` is called later, from `wait`.
    virtual bool submit(io_operation& op) noexcept = 0;

    /// Asks a submitted operation to end. It completes later, from `wait` or the loop, with
    /// -ECANCELED or its result.
    virtual void cancel(io_operation& op) noexcept = 0;

    /// Waits for events until `until` at the latest (not at all when that has passed), and
    /// completes the operations that are ready.
    virtual void wait(time_point until) noexcept = 0;

    /// Ends a `wait`, from any thread.
    virtual void wake() noexcept = 0;

    virtual time_point now() noexcept = 0;
    /// Nanoseconds since 1970-01-01 00:00 UTC.
    virtual std::int64_t wall_clock() noexcept = 0;
    virtual std::uint64_t random() noexcept = 0;

    /// Opens a socket that listens on `at`; `at` then holds the real port.
    virtual std::expected<int, error> listen(endpoint& at, const socket_options& o) noexcept = 0;
    /// Opens a stream socket fit for `connect` to `peer`.
    virtual std::expected<int, error> open_stream(const endpoint& peer,
                                                  const socket_options& o) noexcept = 0;
    virtual std::expected<endpoint, error> local_endpoint(int fd) noexcept = 0;
    /// A second number for the socket of `d`, which may belong to another loop.
    virtual std::expected<int, error> duplicate(const descriptor&) noexcept {
        return std::unexpected(error(std::errc::operation_not_supported, "duplicate"));
    }

    /// Takes a descriptor's number into `d`, so that operations can be submitted on it. It must
    /// not block. On failure the number still belongs to the caller.
    virtual std::expected<void, error> attach(descriptor& d, int fd) noexcept = 0;
    /// Closes; nothing may be pending. `reset` sends RST instead of FIN.
    virtual void close(descriptor& d, bool reset = false) noexcept = 0;
    /// Tells `w` when the peer has closed or reset; null ends that at once. False when it has
    /// already, and `w` will not be called.
    virtual bool watch_hangup(descriptor& d, hangup_watch* w) noexcept = 0;
    /// Sends what can be sent without waiting: a count, or a negated errno. -EAGAIN also when this
    /// backend has no such thing: then submit a send.
    virtual std::int64_t try_send(descriptor& d, slice bytes) noexcept = 0;
    /// Sends FIN.
    virtual void shutdown_output(descriptor& d) noexcept = 0;
    /// Closes a number that was accepted and not attached.
    virtual void discard(int fd) noexcept = 0;

    const backend_counters& counters() const noexcept { return counters_; }

protected:
    backend_counters counters_;
};

enum class backend_kind : std::uint8_t { automatic, epoll };

/// Opens a backend of this kind. `automatic` takes the best one that works.
std::expected<std::unique_ptr<backend>, error> make_backend(backend_kind kind);

}  // namespace coracle
