#pragma once

#include <coracle/base/buffer.hpp>
#include <coracle/base/detail/intrusive_list.hpp>
#include <coracle/base/detail/tally.hpp>
#include <coracle/base/error.hpp>
#include <coracle/runtime/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coracle {

class loop;
struct datagram_options;

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

/// Notified when the peer of a descriptor has closed or reset. Called from the loop, once.
struct hangup_watch {
    void (*gone)(hangup_watch&) noexcept;
    /// Ignores the end of the peer's sending side: a peer that has finished sending may still read.
    /// Only a connection that is lost in both directions is reported. Changed while it is not
    /// armed.
    bool ignores_end = false;
};

/// A descriptor as its backend knows it. Lives in the object that owns the descriptor, does not
/// move, and belongs to one loop. At most one operation waits in each direction; another one fails
/// with EBUSY.
struct descriptor {
    int fd = -1;
    std::uint32_t flags = 0;         ///< the backend's
    int failure = 0;                 ///< the errno by which the connection ended; 0: none is known
    io_operation* input = nullptr;   ///< waits until it can read, accept
    io_operation* output = nullptr;  ///< waits until it can write, connect
    hangup_watch* watch = nullptr;   ///< notified when the peer has closed
    void* state = nullptr;           ///< the backend's

    descriptor() noexcept = default;
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    bool open() const noexcept { return fd >= 0; }
};

enum class opcode : std::uint8_t {
    accept,        ///< result: the new descriptor's number; `peer` is filled
    connect,       ///< to `peer`
    receive,       ///< into `into`, whose block is taken when there are bytes; result 0: end
    send,          ///< all of `slices`, which are used up as it goes
    send_file,     ///< `file_size` bytes of `file` from `file_offset`
    receive_from,  ///< one datagram into `into`; `peer` is filled
    send_to,       ///< one datagram, `bytes`, to `peer`
    resolve,       ///< `host` to `found`, where the backend knows names of its own
    readable,      ///< a foreign descriptor
    writable,      ///< a foreign descriptor
    input_ready,   ///< `on` became readable after it was empty; result: 1 once the peer has closed
    output_ready,  ///< `on` became writable after it was full; result as of `input_ready`
    file,          ///< a `file_operation` (file_operation.hpp)
    receive_many,  ///< a `messages_operation` (datagram_operation.hpp); result: how many came
    send_many,     ///< a `messages_operation`; result: how many were sent
    splice_in,     ///< into a pipe, which is empty; result 0: receive what comes next, or the end
    splice_out,    ///< all of `size` bytes that a pipe holds
};

/// One asynchronous operation, embedded in its awaiter. The backend owns it between `submit`
/// and completion. `result` is a count, or a negated errno; a cancelled one has -ECANCELED.
struct io_operation : list_hook {
    /// Throws nothing. That is not said, for then it could not end with a jump into its task.
    using callback = void (*)(io_operation&);

    opcode code{};
    bool cancelled = false;
    descriptor* on = nullptr;
    std::int64_t result = 0;
    callback completed = nullptr;
    const void* far = nullptr;  ///< what `completed` will touch first that is not near this; a hint

    io_operation(opcode c, callback done) noexcept : code(c), completed(done) {}
    /// Moves an operation that is not submitted yet.
    io_operation(io_operation&& other) noexcept
        : list_hook(), code(other.code), completed(other.completed) {}
};

struct receive_operation : io_operation {
    explicit receive_operation(callback done, buffer partial = {},
                               std::size_t wanted = buffer::default_capacity) noexcept
        : io_operation(opcode::receive, done), into(std::move(partial)), capacity(wanted) {}
    buffer into;
    std::size_t capacity;
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

/// Moves bytes between a descriptor and a pipe within the kernel (splice(2)). `pipe` is the end of
/// it that is written to or read from; it is the caller's, and nothing else uses it meanwhile. Only
/// for a `byte_stream::can_splice`.
struct splice_operation : io_operation {
    splice_operation(callback done, opcode c, int pipe_end, std::int64_t bytes) noexcept
        : io_operation(c, done), pipe(pipe_end), size(bytes) {}
    int pipe;
    std::int64_t size;
};

struct address_operation : io_operation {
    address_operation(opcode c, callback done) noexcept : io_operation(c, done) {}
    endpoint peer;
};

/// A datagram: received into `into`, whose block is taken when there is one, and cut at `capacity`;
/// or sent from `bytes`, whole or not at all.
struct datagram_operation : io_operation {
    datagram_operation(opcode c, callback done) noexcept : io_operation(c, done) {}
    endpoint peer;
    buffer into;
    std::size_t capacity = 65'535;
    slice bytes;
    bool truncated = false;
};

/// The addresses of a host. A backend that knows no names of its own completes it at once with
/// -ENOSYS, and the resolver asks the system's name servers.
struct resolve_operation : io_operation {
    explicit resolve_operation(callback done) noexcept : io_operation(opcode::resolve, done) {}
    std::string_view host;        ///< without a trailing dot
    int family = 0;               ///< AF_INET or AF_INET6
    std::vector<endpoint> found;  ///< port 0; empty with result -ENOENT when there is no such host
    duration ttl{};               ///< how long the result is valid
};

struct foreign_operation : io_operation {
    foreign_operation(opcode c, callback done) noexcept : io_operation(c, done) {}
    int fd = -1;
    bool reported = false;
};

/// Probes of a connection on which nothing moves. Units are seconds; 0: the system's.
struct keep_alive_options {
    bool on = false;        ///< SO_KEEPALIVE
    unsigned idle = 0;      ///< of silence before the first probe (TCP_KEEPIDLE)
    unsigned interval = 0;  ///< between two probes (TCP_KEEPINTVL)
    unsigned count = 0;     ///< probes without a reply that end the connection (TCP_KEEPCNT)
};

/// The name of a network device, such as "eth0"; what is too long for one is cut.
struct device_name {
    char text[16] = {};

    constexpr device_name() noexcept = default;
    constexpr device_name(const char* name) noexcept : device_name(std::string_view(name)) {}
    constexpr device_name(std::string_view name) noexcept {
        for (std::size_t i = 0; i != name.size() && i + 1 != sizeof text; ++i) text[i] = name[i];
    }
};

/// Options for opening a listening or connecting socket. A refusal by the system of the buffer
/// sizes, `no_delay`, `keep_alive` or the timeout is ignored; any other refusal is an error.
/// Accepted sockets inherit the options of their listener.
struct socket_options {
    bool reuse_port = false;       ///< several listeners share one address (SO_REUSEPORT)
    bool claims_port = false;      ///< the first of these: fails where another listens already
    bool v6_only = false;          ///< an IPv6 listener takes no IPv4 connections
    bool no_delay = true;          ///< TCP_NODELAY
    int backlog = 4096;            ///< connections that wait for accept
    unsigned user_timeout_ms = 0;  ///< TCP_USER_TIMEOUT; 0: the system's
    keep_alive_options keep_alive;
    unsigned unsent = 0;     ///< bytes held that were not sent yet (TCP_NOTSENT_LOWAT); 0: any
    int send_buffer = 0;     ///< SO_SNDBUF, bytes; 0: the system chooses and adapts
    int receive_buffer = 0;  ///< SO_RCVBUF, bytes; 0: the system chooses and adapts
    /// The first bytes travel with the first packet (TCP_FASTOPEN_CONNECT, RFC 7413): a connect
    /// then completes at once and a failure shows at the first send. Only for what may arrive
    /// twice.
    bool fast_open = false;
    int fast_open_queue = 0;   ///< of a listener: connections begun so (TCP_FASTOPEN); 0: none
    int type_of_service = -1;  ///< IP_TOS, IPV6_TCLASS; -1: the system's
    unsigned mark = 0;         ///< SO_MARK, for routing; needs CAP_NET_ADMIN; 0: none
    /// The local address that a connecting socket is bound to, as `net::address::to_endpoint` gives
    /// it, with a port or 0. Size 0: the system chooses.
    endpoint local{};
    /// A connecting socket's port is one of these (IP_LOCAL_PORT_RANGE, kernels since 6.3); 0: any.
    std::uint16_t first_local_port = 0;
    std::uint16_t last_local_port = 0;
    device_name device;  ///< only through this device (SO_BINDTODEVICE); empty: any
};

/// Counters of the work of a backend, for reports and tests. Read from any thread.
struct backend_counters {
    tally waits;         ///< times that it asked the system for events
    tally events;        ///< events reported by the system
    tally system_calls;  ///< others than these waits
};

/// The system, as a loop sees it: sockets, readiness, both clocks and randomness. One object a
/// loop, used on the loop's thread only (`wake` apart).
class backend {
public:
    virtual ~backend() = default;

    virtual std::string_view name() const noexcept = 0;
    /// Returns true if descriptor numbers and paths are those of the operating system.
    virtual bool is_of_the_system() const noexcept { return true; }

    /// Starts `op`. Returns true if it has completed already (`result` is set, `completed` is not
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
    /// Opens a datagram socket bound to `at`, a Unix one without a path to nothing; `at` then holds
    /// the real port.
    virtual std::expected<int, error> open_datagram(endpoint&, const datagram_options&) noexcept {
        return std::unexpected(error(std::errc::operation_not_supported, "open_datagram"));
    }
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
    /// Notifies `w` when the peer has closed or reset; null ends that at once. Returns false if it
    /// has already, and `w` will not be called.
    virtual bool watch_hangup(descriptor& d, hangup_watch* w) noexcept = 0;
    /// Returns true if bytes, an end or an error are waiting at `d`, as far as that is known
    /// without waiting. For a socket on which no operation is pending.
    virtual bool has_input(descriptor&) noexcept { return false; }
    /// Sends what can be sent without waiting: a count, or a negated errno. -EAGAIN also when this
    /// backend has no such thing: then submit a send.
    virtual std::int64_t try_send(descriptor& d, slice bytes) noexcept = 0;
    /// Sends FIN.
    virtual void shutdown_output(descriptor& d) noexcept = 0;
    /// Accepts a connection that waits at this listener, and closes it; nothing when there is none.
    virtual void turn_away(descriptor&) noexcept {}
    /// Closes a number that was accepted and not attached.
    virtual void discard(int fd) noexcept = 0;

    const backend_counters& counters() const noexcept { return counters_; }
    /// Returns true while the backend waits in the system, as seen by another thread.
    bool is_waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); }
    /// Sets the place where the backend stores the time at which a wait ended, before it reports
    /// any event: event handlers must see that time has passed.
    void tell_time_in(time_point& place) noexcept { clock_ = &place; }
    /// Called when a thread begins to use it.
    virtual void enters_thread() noexcept {}
    /// Called when that thread ceases to use it, for now or for good: nothing of it may stay with
    /// the thread.
    virtual void leaves_thread() noexcept {}
    /// The processor time that the thread which uses it has spent since it began to; from any
    /// thread. Zero when that thread has ended.
    virtual duration processor_time() const noexcept { return duration::zero(); }
    /// Lets go of `d` without closing it, and gives its number, which the caller owns from then on;
    /// -1 where there is no such thing. Nothing may be pending.
    virtual int detach(descriptor&) noexcept { return -1; }
    /// Notes that a receive from `d` may return fewer bytes than asked for and leave bytes in the
    /// socket, as a Unix socket does after bytes that came with descriptors (unix(7)).
    virtual void may_read_short(descriptor&) noexcept {}
    /// Gives memory that the process has freed and still holds back to the system, where there is
    /// much of it. For a loop that has time.
    virtual void give_memory_back() noexcept {}
    /// A receive from `d` that waits may wait until so many bytes are there. False: it will not.
    virtual bool prefer_input(descriptor&, std::size_t /*bytes*/) noexcept { return false; }

protected:
    /// Stands around the call that waits.
    class waiting_mark {
    public:
        explicit waiting_mark(backend& b) noexcept : backend_(b) {
            ++b.counters_.waits;
            b.waiting_.store(true, std::memory_order_relaxed);
        }
        waiting_mark(const waiting_mark&) = delete;
        waiting_mark& operator=(const waiting_mark&) = delete;
        ~waiting_mark() {
            backend_.waiting_.store(false, std::memory_order_relaxed);
            if (backend_.clock_ != nullptr) *backend_.clock_ = backend_.now();
        }

    private:
        backend& backend_;
    };

    backend_counters counters_;

private:
    time_point* clock_ = nullptr;
    std::atomic<bool> waiting_{false};
};

enum class backend_kind : std::uint8_t { automatic, uring, epoll, poll };

/// Opens a backend of this kind. `automatic` takes the best one that works.
std::expected<std::unique_ptr<backend>, error> make_backend(backend_kind kind);

}  // namespace coracle
