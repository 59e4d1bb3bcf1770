#pragma once

#include <coracle/net/detail/message_operation.hpp>
#include <coracle/net/socket.hpp>

#include <cerrno>
#include <utility>
#include <vector>

namespace coracle::net {

/// The kinds of Unix socket (unix(7)).
enum class unix_kind : std::uint8_t {
    stream,     ///< bytes without bounds, of one peer
    datagram,   ///< messages of any sender, in order and without loss
    seqpacket,  ///< messages, in order and none lost, of one peer, with an end
};

/// A message received from a Unix socket. Move-only.
struct unix_message {
    buffer bytes;
    std::vector<owned_fd> descriptors;  ///< of ours from now on; closed on exec
    process_credentials sender;         ///< with `tell_credentials` only
    bool truncated = false;             ///< the message was longer than the room; the rest is lost
};

/// The awaitable returned by `unix_socket::receive`.
class [[nodiscard]] receiving_message final
    : public detail::message_leaf<receiving_message, unix_message> {
public:
    static constexpr const char* name = "receive";
    receiving_message(detail::message_end& e, unix_kind kind, std::size_t room,
                      std::size_t descriptors) noexcept
        : message_leaf(e, opcode::receive_many), kind_(kind) {
        largest = room;
        passed_.most = descriptors < passed_objects::max_descriptors
                           ? descriptors
                           : passed_objects::max_descriptors;
    }
    bool start() noexcept {
        into = &bytes_;
        slot_.passed = &passed_;
        return begin({&slot_, 1});
    }
    std::expected<unix_message, error> result();

private:
    message_slot slot_;
    buffer bytes_;
    passed_objects passed_;
    unix_kind kind_;
};

/// The awaitable returned by `unix_socket::send`.
class [[nodiscard]] sending_message final
    : public detail::message_leaf<sending_message, std::size_t> {
public:
    static constexpr const char* name = "send";
    sending_message(detail::message_end& e, std::string_view bytes,
                    std::span<const int> descriptors) noexcept
        : message_leaf(e, opcode::send_many), bytes_(bytes) {
        passed_.to_send = descriptors;
    }
    bool start() noexcept;
    std::expected<std::size_t, error> result();

private:
    message_slot slot_;
    std::string_view bytes_;
    passed_objects passed_;
};

/// A connected Unix socket, of one loop, that can pass descriptors and identifies the other
/// process. At most one receive and one send at a time, which may overlap. Closed when destroyed;
/// nothing may be pending then. Move-only. Where only bytes are to be moved, `net::connect` and
/// `net::listener` give a `byte_stream`; datagrams with addresses are those of `datagram_socket`.
class unix_socket {
public:
    /// The default for the most descriptors that come with one message; the kernel passes
    /// `max_descriptors` at most (SCM_MAX_FD).
    static constexpr std::size_t default_descriptors = 16;
    static constexpr std::size_t max_descriptors = passed_objects::max_descriptors;

    /// Connects at once, for that never waits: ECONNREFUSED when no socket listens at the path,
    /// EAGAIN when too many wait to be accepted, EPROTOTYPE when it is of another kind.
    static std::expected<unix_socket, error> connect(loop& owner, const address& to,
                                                     unix_kind kind = unix_kind::seqpacket);
    /// Two that are connected with each other, and have no address. One may be passed on to another
    /// process or loop: `release`, `adopt`.
    static std::expected<std::pair<unix_socket, unix_socket>, error> pair(
        loop& owner, unix_kind kind = unix_kind::seqpacket);
    /// Takes over the descriptor number `fd`, a connected Unix socket; on failure it is closed.
    static std::expected<unix_socket, error> adopt(loop& owner, int fd);
    unix_socket(unix_socket&&) noexcept = default;
    unix_socket& operator=(unix_socket&&) noexcept = default;

    /// Completes with the next message, or with some bytes of a stream, in a pooled buffer of
    /// `room` bytes; none is held while it waits. Descriptors that come with it are closed. Throws
    /// `errc::end_of_stream` when the peer has closed (a stream or seqpacket). Cancelling it loses
    /// nothing.
    receiving_message receive(std::size_t room = buffer::default_capacity) noexcept {
        return {*end_, kind_, room, 0};
    }
    /// Receives as `receive` does, with the descriptors that come with the message. When there are
    /// more than `most`, or this process may not have so many, all of them are closed and it fails
    /// with `errc::limit_exceeded`; the bytes are lost too.
    receiving_message receive_with_descriptors(std::size_t room = buffer::default_capacity,
                                               std::size_t most = default_descriptors) noexcept {
        return {*end_, kind_, room, most == 0 ? 1 : most};
    }
    /// Completes when the message, or all bytes of a stream, have been handed to the system; gives
    /// their number. They must live until then. A message must not be empty, which would look like
    /// the end. Cancelled, a stream stands in the midst of the bytes: close it.
    sending_message send(std::string_view bytes) noexcept { return {*end_, bytes, {}}; }
    /// Sends as `send` does, with copies of open descriptors: ours stay ours, and must stay open
    /// until this has completed. More than `max_descriptors`: `errc::limit_exceeded`. `bytes` must
    /// not be empty (EINVAL): a stream passes nothing without them.
    sending_message send_with_descriptors(std::string_view bytes,
                                          std::span<const int> descriptors) noexcept {
        return {*end_, bytes, descriptors};
    }

    /// The process at the other end, as it was when it connected, or called `listen` or `pair`
    /// (SO_PEERCRED).
    std::expected<process_credentials, error> peer_credentials() const;
    /// Sets whether each received message names the process that sent it (SO_PASSCRED). Default:
    /// no.
    std::expected<void, error> tell_credentials(bool on);

    /// Tells the peer that no more will come.
    void shutdown_output() noexcept { end_->owner->backend().shutdown_output(end_->on); }
    void close() noexcept { end_->close(); }
    /// Gives up the socket without closing it, so that another loop may adopt it, or another
    /// process get it; nothing may be pending. ENOTSUP in a simulation.
    std::expected<owned_fd, error> release();

    unix_kind kind() const noexcept { return kind_; }
    const address& local() const noexcept { return end_->local; }
    const address& peer() const noexcept { return end_->peer; }
    loop& owner() const noexcept { return *end_->owner; }

private:
    unix_socket(std::unique_ptr<detail::message_end> e, unix_kind kind) noexcept
        : end_(std::move(e)), kind_(kind) {}

    std::unique_ptr<detail::message_end> end_;
    unix_kind kind_;
};

class unix_listener;

/// The awaitable returned by `unix_listener::accept`.
class [[nodiscard]] accepting_unix final
    : public coracle::detail::leaf<accepting_unix, unix_socket>,
      address_operation {
public:
    static constexpr const char* name = "accept";
    explicit accepting_unix(detail::message_end& e) noexcept
        : address_operation(opcode::accept, &done), end_(&e) {}
    bool start() noexcept;
    void cancel() noexcept override {
        if (!withdrawn_before_start()) owner().backend().cancel(*this);
    }
    std::expected<unix_socket, error> result();

private:
    static void done(io_operation& op) noexcept;
    detail::message_end* end_;
};

/// A listening Unix socket whose connections pass descriptors. Of one loop. Closed when destroyed;
/// nothing may be pending then. Move-only.
class unix_listener {
public:
    /// Opens a listener at `at`; `kind` is stream or seqpacket. A socket file on which no socket
    /// listens any more is replaced; one that is in use gives EADDRINUSE.
    static std::expected<unix_listener, error> open(loop& owner, const address& at,
                                                    unix_kind kind = unix_kind::seqpacket,
                                                    int backlog = 4096);
    unix_listener(unix_listener&&) noexcept = default;
    unix_listener& operator=(unix_listener&&) noexcept = default;

    /// Completes with the next connection. Running out of descriptors is an error of its own
    /// (EMFILE); the listener stays usable. Cancelling it loses none.
    accepting_unix accept() noexcept { return accepting_unix(*end_); }
    const address& local() const noexcept { return end_->local; }
    void close() noexcept { end_->close(); }

private:
    explicit unix_listener(std::unique_ptr<detail::message_end> e) noexcept : end_(std::move(e)) {}

    std::unique_ptr<detail::message_end> end_;
};

/// Two byte streams that are connected with each other.
std::expected<std::pair<std::unique_ptr<socket>, std::unique_ptr<socket>>, error> socket_pair(
    loop& owner);

/// The process at the other end of a stream over a Unix socket, as it was when it connected, or
/// called `listen` (SO_PEERCRED). Of any other socket it fails with ENOTSUP.
std::expected<process_credentials, error> peer_credentials(const socket& s);

}  // namespace coracle::net
