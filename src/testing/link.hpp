#pragma once

#include "testing/disk/inode.hpp"
#include "testing/subject.hpp"

#include <coracle/testing/simulation_options.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::testing::detail {

class loop_view;

/// The owner of a descriptor, and the loop that it belongs to.
struct holder {
    descriptor* d = nullptr;
    loop_view* home = nullptr;
};

/// The way in which the bytes of one direction are cut.
enum class cutting : std::uint8_t {
    none,
    mixed,  ///< often whole, sometimes anywhere
    fine,   ///< a few bytes each, as long as that is not too many pieces
};

/// One direction of a connection, seen from the end that receives.
struct pipe {
    std::string bytes;         ///< sent and not taken, from `taken` on
    std::size_t taken = 0;     ///< by the receiver
    std::size_t arrived = 0;   ///< up to here; what follows is under way
    time_point last_due;       ///< of what is under way
    std::size_t occupied = 0;  ///< sent, and as far as the sender knows not taken
    std::size_t freed = 0;     ///< taken, which the sender does not know yet
    cutting cut = cutting::none;
    bool shut = false;     ///< the sender has sent its end
    bool ended = false;    ///< which has arrived
    bool severed = false;  ///< what is sent from now on does not arrive

    std::string_view readable() const noexcept {
        return std::string_view(bytes).substr(taken, arrived - taken);
    }
    bool flying() const noexcept { return arrived != bytes.size(); }
    void take(std::size_t n) {
        constexpr std::size_t worth_moving = 32 * 1024;
        taken += n;
        if (taken == bytes.size()) {
            bytes.clear();
            taken = arrived = 0;
        } else if (taken >= worth_moving && taken >= bytes.size() / 2) {
            bytes.erase(0, taken);
            arrived -= std::exchange(taken, 0);
        }
    }
    void drop_arrived() { take(arrived - taken); }
    /// The next `n` bytes under way never arrive.
    void lose_arriving(std::size_t n) { bytes.erase(arrived, n); }
};

/// One side of a connection.
struct end {
    holder owner;
    pipe in;
    int refused = 0;         ///< why the call came to nothing
    bool open = true;        ///< a descriptor's number stands for it
    bool connected = false;  ///< it may send and receive
    bool broken = false;     ///< a reset has arrived
    bool doomed = false;     ///< a reset is under way to it
};

enum class side : std::uint8_t { client, server };

constexpr side other(side s) noexcept {
    return s == side::client ? side::server : side::client;
}

struct link final : subject {
    std::uint64_t id = 0;
    end ends[2];
    endpoint local;   ///< the client's
    endpoint remote;  ///< the server's
    unsigned attempts = 0;

    // The faults that it will meet.
    bool silent = false;        ///< nothing arrives any more
    fault doom = fault::stall;  ///< behind `doom_after` bytes, when that is not zero
    std::uint64_t doom_after = 0;
    std::uint32_t stalls = 0;

    end& at(side s) noexcept { return ends[static_cast<unsigned>(s)]; }
};

/// A listening socket.
struct listening final : subject {
    endpoint at;
    std::string key;
    std::deque<ref<link>> queue;
    std::size_t backlog = 0;
    std::vector<holder> owners;
    unsigned numbers = 0;  ///< descriptors' numbers that stand for it
    bool shared = false;
    bool v6_only = false;
    bool refused_one = false;  ///< an accept has failed: the next may be for the bin
};

struct datagram {
    endpoint from;
    std::string bytes;
    endpoint to;  ///< the address that it was sent to
};

struct datagram_socket final : subject {
    endpoint at;
    endpoint peer;    ///< the only one that it receives from; size 0: it is not connected
    int failure = 0;  ///< an errno that the next operation tells
    bool tells_destination = false;
    bool shares_port = false;     ///< SO_REUSEPORT
    bool shares_address = false;  ///< SO_REUSEADDR
    bool v6_only = false;
    std::string key;
    std::deque<datagram> queue;
    std::deque<datagram> flying;  ///< in the order in which they arrive
    time_point last_due;
    holder owner;
    bool open = true;
};

/// A datagram that arrives out of order, or twice.
struct late_datagram final : subject {
    ref<datagram_socket> to;
    datagram what;
};

/// An operation that waits for no descriptor.
struct pending : subject {
    io_operation* op = nullptr;  ///< null when it was cancelled
    loop_view* home = nullptr;
};

/// A question for the addresses of a host.
struct resolution final : pending {};

/// A call on files. Holds what its numbers stood for when it began.
struct file_task final : pending {
    void release_files() { on = other = {}; }

    ref<open_file> on;
    ref<open_file> other;
    std::uint64_t crashes = 0;  ///< of the disk, before it began
    bool has_happened = false;
    std::int64_t result = 0;
};

/// The object of a descriptor's number. A stream that was not connected yet has no link.
struct node {
    ref<listening> listener;
    ref<link> connection;
    ref<datagram_socket> socket;
    ref<open_file> file;
    endpoint local;  ///< where a stream that is to be connected comes from; size 0: anywhere
    holder owner;
    side which = side::client;
    bool used = false;
};

}  // namespace coracle::testing::detail
