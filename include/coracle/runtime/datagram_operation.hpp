#pragma once

#include <coracle/runtime/backend.hpp>
#include <coracle/runtime/owned_fd.hpp>

#include <array>

namespace coracle {

/// The treatment of datagrams that are larger than the MTU of the path to their receiver
/// (IP_MTU_DISCOVER, IPV6_MTU_DISCOVER; RFC 1191, RFC 8201).
enum class path_mtu_mode : std::uint8_t {
    system,    ///< what the system has set
    fragment,  ///< cut into fragments; the path MTU is not discovered (IP_PMTUDISC_DONT)
    want,      ///< cut into fragments when too large for a path that is known (IP_PMTUDISC_WANT)
    discover,  ///< refused with EMSGSIZE when too large for what is known (IP_PMTUDISC_DO)
    probe,     ///< sent unfragmented whatever is known of the path (IP_PMTUDISC_PROBE)
};

/// Options for opening a datagram socket. A refusal by the system of the buffer sizes or of joined
/// segments is ignored; any other refusal is an error.
struct datagram_options {
    bool reuse_port = false;     ///< several sockets share one address (SO_REUSEPORT)
    bool reuse_address = false;  ///< as several receivers of one multicast group do (SO_REUSEADDR)
    bool v6_only = false;        ///< an IPv6 socket takes no datagrams of IPv4
    bool broadcast = false;      ///< may send to broadcast addresses (SO_BROADCAST)
    /// Report the address and the interface that each datagram came to (IP_PKTINFO,
    /// IPV6_RECVPKTINFO, RFC 3542), so that a reply can leave from there.
    bool tell_destination = false;
    bool tell_time = false;           ///< report when each datagram arrived (SO_TIMESTAMPNS)
    bool tell_hops = false;           ///< report the remaining time to live of each (IP_RECVTTL)
    bool tell_traffic_class = false;  ///< report DSCP and ECN of each (IP_RECVTOS, IPV6_RECVTCLASS)
    /// Tell the process of each sender (SO_PASSCRED). Unix sockets only.
    bool tell_credentials = false;
    /// Cut what `send_segments` sends here, not in the kernel (UDP_SEGMENT), which is what happens
    /// anyway where the kernel refuses.
    bool cut_segments = false;
    /// Let the kernel join datagrams of one sender and size into one (UDP_GRO): see
    /// `datagram::segments`.
    bool join_segments = false;
    path_mtu_mode path_mtu = path_mtu_mode::system;
    int receive_buffer = 0;  ///< SO_RCVBUF, bytes; 0: the system's
    int send_buffer = 0;     ///< SO_SNDBUF, bytes; 0: the system's
    int hops = 0;            ///< time to live of what is sent (IP_TTL); 0: the system's, 64
    int traffic_class = -1;  ///< IP_TOS, IPV6_TCLASS: DSCP and ECN (RFC 3168); -1: the system's
    unsigned mark = 0;       ///< SO_MARK, for routing; needs CAP_NET_ADMIN; 0: none
    device_name device;      ///< only through this device (SO_BINDTODEVICE); empty: any
    /// Room for one datagram that is received by itself, bytes; what is longer is cut, and says so.
    std::size_t largest = 65'535;
};

/// Returns true if more is to be reported of a received datagram than its bytes and its sender.
inline bool tells_more(const datagram_options& o) noexcept {
    return o.tell_destination || o.tell_time || o.tell_hops || o.tell_traffic_class ||
           o.tell_credentials || o.join_segments;
}

/// A process as the kernel vouches for it (SCM_CREDENTIALS, SO_PEERCRED).
struct process_credentials {
    std::int32_t process = -1;  ///< 0: one that this process cannot see; -1: not known
    std::uint32_t user = 0;     ///< effective
    std::uint32_t group = 0;    ///< effective

    friend bool operator==(const process_credentials&, const process_credentials&) = default;
};

/// Ancillary objects of a message on a Unix socket. Received descriptors are owned until they are
/// taken.
struct passed_objects {
    /// The most descriptors that go with one message (SCM_MAX_FD).
    static constexpr std::size_t max_descriptors = 253;

    std::span<const int> to_send;
    std::size_t most = 0;  ///< more descriptors than these are closed, and `truncated` is set
    std::vector<owned_fd> received;
    bool truncated = false;  ///< not all that was passed came; `received` is empty
};

/// One message of several: where it is received, or from where it is sent.
struct message_slot {
    endpoint peer;  ///< the sender; the receiver, of size 0 on a connected socket
    char* data = nullptr;
    std::size_t room = 0;         ///< at `data`
    std::size_t size = 0;         ///< received there; to be sent
    std::int64_t time_ns = 0;     ///< when it came, since 1970; 0: not requested
    std::uint32_t interface = 0;  ///< that it came by; to send by; 0: any
    /// The size of each of several datagrams in this slot, of which the last may be shorter; 0:
    /// there is one.
    std::uint32_t segment = 0;
    std::int32_t failure = 0;         ///< the errno with which it was not sent
    std::int16_t hops = -1;           ///< -1: not requested
    std::int16_t traffic_class = -1;  ///< -1: not requested
    std::uint8_t ip_size = 0;         ///< of the two addresses below: 4, 16 or, unknown, 0
    bool truncated = false;           ///< received: it was longer than `room`
    std::array<std::uint8_t, 16> destination{};  ///< the address that it was sent to
    std::array<std::uint8_t, 16> source{};       ///< of ours, to send from; zeros: any
    process_credentials sender;                  ///< process -1: not requested
    passed_objects* passed = nullptr;            ///< null: descriptors that are passed are closed
};

/// Several messages in one system call. Receiving completes with the first that come, as many as
/// are there and fit. Sending goes on until each was sent or refused; `slots[i].failure` says
/// which were. Segments are cut by the kernel where it can (UDP_SEGMENT), and one by one elsewhere.
/// All that it points to must live until it has completed.
struct messages_operation : io_operation {
    /// The most messages that one system call moves.
    static constexpr std::size_t most = 64;

    messages_operation(opcode c, callback done) noexcept : io_operation(c, done) {}
    std::span<message_slot> slots;
    buffer* into = nullptr;  ///< one slot: takes a block of `largest` bytes when one comes
    std::size_t largest = 0;
    std::size_t next = 0;    ///< sending: the first that was not tried yet
    std::size_t offset = 0;  ///< bytes of its segments that are gone
    std::size_t sent = 0;
    bool is_plain = false;     ///< receiving: nothing of control data is wanted
    bool cuts_itself = false;  ///< segments are not left to the kernel
};

}  // namespace coracle
