#pragma once

#include <coracle/net/detail/message_operation.hpp>

#include <cerrno>
#include <iterator>
#include <vector>

namespace coracle::net {

/// The datagrams that the kernel joined into one (`datagram_options::join_segments`), or the one
/// that came alone: a range of `std::string_view`, all of `segment` bytes but for the last.
class segments {
public:
    segments(std::string_view bytes, std::size_t segment) noexcept
        : bytes_(bytes), segment_(segment == 0 ? bytes.size() : segment),
          count_(bytes.empty() ? 1 : (bytes.size() + segment_ - 1) / segment_) {}

    class iterator {
    public:
        using value_type = std::string_view;
        using difference_type = std::ptrdiff_t;
        iterator() noexcept = default;
        iterator(const segments& of, std::size_t at) noexcept : of_(&of), at_(at) {}
        std::string_view operator*() const noexcept { return (*of_)[at_]; }
        iterator& operator++() noexcept {
            ++at_;
            return *this;
        }
        iterator operator++(int) noexcept { return {*of_, at_++}; }
        bool operator==(const iterator& o) const noexcept { return at_ == o.at_; }

    private:
        const segments* of_ = nullptr;
        std::size_t at_ = 0;
    };

    /// The number of datagrams, at least 1: a datagram may be empty.
    std::size_t size() const noexcept { return count_; }
    std::string_view operator[](std::size_t i) const noexcept {
        return bytes_.substr(i * segment_, segment_);
    }
    iterator begin() const noexcept { return {*this, 0}; }
    iterator end() const noexcept { return {*this, count_}; }

private:
    std::string_view bytes_;
    std::size_t segment_;
    std::size_t count_;
};

/// The known facts about a received datagram. Fields that `datagram_options` did not request keep
/// these defaults.
struct datagram_info {
    address from;                ///< `family::none` when a Unix sender is bound to nothing
    address to;                  ///< the address that it was sent to, with our port
    unsigned interface = 0;      ///< that it came by
    bool truncated = false;      ///< it was longer than the room for it; the rest is lost
    int hops = -1;               ///< the time to live that it had left
    int traffic_class = -1;      ///< DSCP in the upper six bits, ECN in the lower two
    std::int64_t time_ns = 0;    ///< when the kernel took it, nanoseconds since 1970, UTC
    process_credentials sender;  ///< of a Unix socket; process -1: not known
    std::size_t segment = 0;  ///< not 0: it is several datagrams of so many bytes, the last shorter

    /// The mark of a congested path (RFC 3168): 0 none, 1 and 2 capable, 3 congested; -1 not known.
    int ecn() const noexcept { return traffic_class < 0 ? -1 : traffic_class & 3; }
};

/// A received datagram. Owns its bytes. Move-only.
struct datagram : datagram_info {
    buffer bytes;
    /// The local address to reply from; `reply` uses it.
    std::array<std::uint8_t, 16> source{};
    std::uint8_t source_size = 0;  ///< 4, 16 or, unknown, 0

    std::string_view view() const noexcept { return bytes.view(); }
    net::segments segments() const noexcept { return {bytes.view(), segment}; }
};

/// Room for several datagrams, to receive them or to send them in one system call. All memory is
/// taken when it is made, and used again and again. What was received can be sent as it stands:
/// each then goes back to where it came from. Move-only; not while an operation uses it.
class datagram_batch {
public:
    /// The most datagrams that one system call moves; a batch may hold more.
    static constexpr std::size_t most_at_once = messages_operation::most;
    static constexpr std::size_t default_room = 2048;

    /// Room for `count` datagrams of up to `room` bytes. What is longer is cut when received, and
    /// says so.
    explicit datagram_batch(std::size_t count = most_at_once, std::size_t room = default_room);

    std::size_t capacity() const noexcept { return slots_.size(); }
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    void clear() noexcept { size_ = 0; }

    std::string_view bytes(std::size_t i) const noexcept {
        return {slots_[i].data, slots_[i].size};
    }
    std::string_view operator[](std::size_t i) const noexcept { return bytes(i); }
    net::segments segments(std::size_t i) const noexcept { return {bytes(i), slots_[i].segment}; }
    /// The address of the sender of a received datagram, or of the receiver of one to send.
    address peer(std::size_t i) const { return address::from(slots_[i].peer); }
    /// Returns all that is known of a received datagram.
    datagram_info info(std::size_t i) const;

    /// Adds a datagram to send, a copy; to the peer of a connected socket without `to`. Returns
    /// false if the batch is full or the bytes are more than the room for one.
    [[nodiscard]] bool add(std::string_view bytes, const address& to);
    [[nodiscard]] bool add(std::string_view bytes) { return add(bytes, address()); }
    /// The bytes of datagram `i`, to change them in place: its capacity, and then how much of it is
    /// used.
    std::span<char> room(std::size_t i) noexcept { return {slots_[i].data, slots_[i].room}; }
    void resize(std::size_t i, std::size_t size) noexcept {
        slots_[i].size = size;
        slots_[i].segment = 0;
    }
    /// The errno with which sending datagram `i` failed, or 0.
    int failure(std::size_t i) const noexcept { return slots_[i].failure; }

private:
    friend class receiving_many;
    friend class sending_many;
    friend class datagram_socket;

    std::vector<message_slot> slots_;
    std::unique_ptr<char[]> memory_;
    std::size_t room_;
    std::size_t size_ = 0;
    std::uint16_t port_ = 0;  ///< of the socket that it was received on
};

class datagram_socket;

/// The awaitable returned by `datagram_socket::receive`.
class [[nodiscard]] receiving final : public detail::message_leaf<receiving, datagram> {
public:
    static constexpr const char* name = "receive";
    receiving(detail::message_end& e, std::size_t room, bool plain) noexcept
        : message_leaf(e, opcode::receive_many) {
        largest = room;
        is_plain = plain;
    }
    bool start() noexcept {
        into = &bytes_;
        return begin({&slot_, 1});
    }
    std::expected<datagram, error> result();

private:
    message_slot slot_;
    buffer bytes_;
};

/// The awaitable returned by `datagram_socket::receive_many`.
class [[nodiscard]] receiving_many final
    : public detail::message_leaf<receiving_many, std::size_t> {
public:
    static constexpr const char* name = "receive_many";
    receiving_many(detail::message_end& e, datagram_batch& b, bool plain) noexcept
        : message_leaf(e, opcode::receive_many), batch_(&b) {
        is_plain = plain;
    }
    bool start() noexcept;
    std::expected<std::size_t, error> result();

private:
    datagram_batch* batch_;
};

/// The awaitable returned by `datagram_socket::send_to` and its like.
class [[nodiscard]] sending final : public detail::message_leaf<sending, std::size_t> {
public:
    static constexpr const char* name = "send";
    sending(detail::message_end& e, std::string_view bytes, const endpoint& to, bool cut) noexcept
        : message_leaf(e, opcode::send_many) {
        slot_.peer = to;
        // Sending only reads from there.
        slot_.data = const_cast<char*>(bytes.data());
        slot_.size = size_ = bytes.size();
        cuts_itself = cut;
    }
    sending& segmented(std::size_t size) noexcept {
        slot_.segment = static_cast<std::uint32_t>(size);
        return *this;
    }
    sending& from(const datagram& d) noexcept {
        slot_.ip_size = d.source_size;
        slot_.source = d.source;
        slot_.interface = d.interface;
        return *this;
    }
    bool start() noexcept {
        slot_.failure = 0;
        return begin({&slot_, 1});
    }
    std::expected<std::size_t, error> result();

private:
    message_slot slot_;
    std::size_t size_;
};

/// The awaitable returned by `datagram_socket::send_many`.
class [[nodiscard]] sending_many final : public detail::message_leaf<sending_many, std::size_t> {
public:
    static constexpr const char* name = "send_many";
    sending_many(detail::message_end& e, datagram_batch& b, bool cut) noexcept
        : message_leaf(e, opcode::send_many), batch_(&b) {
        cuts_itself = cut;
    }
    bool start() noexcept;
    std::expected<std::size_t, error> result();

private:
    datagram_batch* batch_;
};

/// The number of a network interface, for multicast and link-local addresses.
std::expected<unsigned, error> interface_index(std::string_view name);

/// A UDP socket (RFC 768) or a Unix datagram socket, of one loop. At most one receive and one send
/// at a time, which may overlap. Closed when destroyed; nothing may be pending then. Move-only.
///
/// Datagrams may be lost, doubled and reordered on their way (not those of Unix sockets), and those
/// that come while the receive buffer is full are dropped: `dropped` counts them.
class datagram_socket {
public:
    /// Opens a socket bound to `at`. Port 0 lets the system choose, and `local` returns the choice;
    /// `address()` is an unbound Unix socket. A Unix socket file to which no socket is bound any
    /// more is replaced.
    static std::expected<datagram_socket, error> open(loop& owner, const address& at,
                                                      const datagram_options& options = {});
    datagram_socket(datagram_socket&&) noexcept = default;
    datagram_socket& operator=(datagram_socket&&) noexcept = default;

    /// Connects to `to`, at once: only its datagrams are received, `send` sends to it, and ICMP
    /// errors from it are reported, such as ECONNREFUSED when no socket listens there. A new peer
    /// replaces the old one.
    std::expected<void, error> connect(const address& to) { return end_->connect(to); }
    /// Ends what `connect` began.
    std::expected<void, error> disconnect() { return end_->connect(address()); }

    /// Completes with the next datagram, which may be empty, in a pooled buffer of
    /// `datagram_options::largest` bytes; none is held while it waits. On a connected socket it
    /// fails with ECONNREFUSED, naming the peer, when no socket listens there; the socket stays
    /// usable. Cancelling it loses nothing.
    receiving receive() noexcept { return {*end_, largest_, is_plain_}; }
    /// Completes when at least one datagram has come, and takes as many as are there and fit, up to
    /// 64, in one system call; gives their number. What the batch held is gone. It must live until
    /// then. Cancelling it loses nothing.
    receiving_many receive_many(datagram_batch& into) noexcept { return {*end_, into, is_plain_}; }

    /// Completes when the datagram has been handed to the system, which is nearly always at once;
    /// gives its size. The bytes must live until then. Fails with EMSGSIZE, which says the size and
    /// the limit, when it is too large; with ECONNREFUSED as `receive`; with EAGAIN when the queue
    /// of a Unix socket that this one is not connected with is full, for nothing tells when that
    /// has room (a connected socket waits). Cancelled, it was not sent.
    sending send_to(std::string_view bytes, const address& to) noexcept {
        return {*end_, bytes, to.to_endpoint(), cuts_};
    }
    /// Sends as `send_to` does, to the peer of a connected socket.
    sending send(std::string_view bytes) noexcept { return {*end_, bytes, endpoint(), cuts_}; }
    /// Sends as `send_to` does, to the sender of `d`; from the address that `d` came to, if that
    /// was reported (`datagram_options::tell_destination`).
    sending reply(const datagram& d, std::string_view bytes) noexcept {
        return std::move(sending(*end_, bytes, d.from.to_endpoint(), cuts_).from(d));
    }
    /// Sends `bytes` as datagrams of `size` bytes, of which the last may be shorter, or as none
    /// where there are no bytes: cut by the
    /// kernel, some 64 at once (UDP_SEGMENT), or by us where it does not. `to` without a family is
    /// the peer of a connected socket. Cancelled, or failed, some of them may have been sent.
    sending send_segments(std::string_view bytes, std::size_t size, const address& to) noexcept {
        return std::move(sending(*end_, bytes, to.to_endpoint(), cuts_).segmented(size));
    }
    /// Sends all of the batch, up to 64 in one system call, and gives how many the system took.
    /// One that is refused does not hold up the others; `datagram_batch::failure` says which. Fails
    /// when all were refused, with the error of the first. The batch stays as it is, and must live
    /// until then. Cancelled, some may have been sent.
    sending_many send_many(datagram_batch& all) noexcept { return {*end_, all, cuts_}; }

    /// Receives what is sent to this group, by `interface`, or 0: the one that the routes choose;
    /// from any sender (RFC 1112, RFC 3810).
    std::expected<void, error> join(const address& group, unsigned interface = 0);
    /// Joins the group for one sender only (RFC 4607).
    std::expected<void, error> join(const address& group, const address& sender,
                                    unsigned interface = 0);
    std::expected<void, error> leave(const address& group, unsigned interface = 0);
    std::expected<void, error> leave(const address& group, const address& sender,
                                     unsigned interface = 0);
    /// Sets whether this host too receives what this socket sends to groups. Default: yes.
    std::expected<void, error> multicast_loop(bool on);
    /// Sets how many hops the datagrams that this socket sends to groups may go, 0 to 255. Default:
    /// 1, this network.
    std::expected<void, error> multicast_hops(int hops);
    /// Sets the interface by which it sends to groups.
    std::expected<void, error> multicast_interface(unsigned interface);

    /// The largest packet that is known to reach the peer of a connected socket, bytes with its IP
    /// header; a datagram may have 28 (IPv4) or 48 (IPv6) bytes less. ENOTCONN for any other.
    std::expected<std::size_t, error> path_mtu() const;
    /// The number of datagrams that the kernel has dropped, since the socket was opened, because
    /// its receive buffer was full (SO_MEMINFO).
    std::expected<std::uint64_t, error> dropped() const;
    /// The size of the receive buffer, bytes, as the kernel counts it: with its own overhead.
    std::expected<std::size_t, error> receive_buffer() const;

    const address& local() const noexcept { return end_->local; }
    /// The peer set by `connect`; without a family when there is none.
    const address& peer() const noexcept { return end_->peer; }
    loop& owner() const noexcept { return *end_->owner; }
    bool is_open() const noexcept { return end_ && end_->on.open(); }
    void close() noexcept { end_->close(); }

private:
    datagram_socket(std::unique_ptr<detail::message_end> e, const datagram_options& o) noexcept
        : end_(std::move(e)), largest_(o.largest), cuts_(o.cut_segments),
          is_plain_(!tells_more(o)) {}

    std::unique_ptr<detail::message_end> end_;
    std::size_t largest_;
    bool cuts_;
    bool is_plain_;
};

}  // namespace coracle::net
