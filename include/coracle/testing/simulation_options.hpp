#pragma once

#include <coracle/runtime/backend.hpp>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace coracle::testing {

class simulated_disk;

/// Faults in a simulated world. Each number is a rate: one in so many, by the seed; 0 is never. The
/// default is a world without faults; `every()` has all of them.
struct fault_options {
    /// Connections that are reset, both ends, after some byte or at some moment. Default 0.
    std::uint32_t resets = 0;
    /// Connections of which one end hears the end of the other, which sends on in vain. Default 0.
    std::uint32_t half_closes = 0;
    /// Connections that fall silent: nothing arrives any more, and neither end learns of it.
    /// Default 0.
    std::uint32_t silences = 0;
    /// Connections that stand still a few times, in one direction each time. Default 0.
    std::uint32_t stalls = 0;
    /// Times that such a connection stands still, at most. Default 3.
    std::uint32_t stalls_each = 3;
    /// The longest time that it then stands still. Default 2 s.
    duration stall_max = std::chrono::seconds(2);
    /// Calls that are refused although there is a listener. Default 0.
    std::uint32_t refusals = 0;
    /// Calls that get no response. Default 0.
    std::uint32_t black_holes = 0;
    /// The time after which such a call fails with ETIMEDOUT. Default 127 s, as with Linux.
    duration call_timeout = std::chrono::seconds(127);
    /// Sockets and files that cannot be opened or accepted for want of a descriptor (EMFILE).
    /// Default 0.
    std::uint32_t no_descriptors = 0;
    /// Operations that fail at once with ENOMEM. Default 0.
    std::uint32_t no_memory = 0;
    /// Tries of an operation, and waits of a loop, that are interrupted and have to be repeated, as
    /// by EINTR or by a readiness that proves false. Of files, calls that fail with EINTR. Default
    /// 0.
    std::uint32_t interruptions = 0;
    /// Datagrams that never arrive. Default 0.
    std::uint32_t lost_datagrams = 0;
    /// Datagrams that arrive twice. Default 0.
    std::uint32_t doubled_datagrams = 0;
    /// Datagrams that are overtaken by later ones. Default 0.
    std::uint32_t late_datagrams = 0;
    /// The longest delay of those. Default 100 ms.
    duration late_max = std::chrono::milliseconds(100);
    /// Reads of a file that fail with EIO. Default 0.
    std::uint32_t read_errors = 0;
    /// Writes to a file that fail with EIO, and have written nothing. Default 0.
    std::uint32_t write_errors = 0;
    /// Syncs of a file or directory that fail with EIO. As with Linux, each page that was to be
    /// written has or has not been, and no later sync tries again: that one succeeds, and the file
    /// reads as before, until a crash. Default 0.
    std::uint32_t sync_errors = 0;
    /// Reads of a file that give fewer bytes than there are. Default 0.
    std::uint32_t short_reads = 0;
    /// Writes to a file that write fewer bytes than there is room for. Default 0.
    std::uint32_t short_writes = 0;
    /// Names that cannot be resolved at the moment (EAGAIN). Default 0.
    std::uint32_t name_failures = 0;

    /// Besides: the `fails_at`-th operation of kind `fails`, counted from 1, fails at once with
    /// `fails_with`. Default: none, and ENOMEM.
    opcode fails = opcode::receive;
    std::uint64_t fails_at = 0;
    int fails_with = ENOMEM;

    /// Returns every fault, at rates of which a run of a few dozen connections sees most.
    static fault_options every() noexcept {
        fault_options f;
        f.resets = f.half_closes = f.silences = 12;
        f.stalls = 6;
        f.refusals = f.black_holes = 24;
        f.no_descriptors = 40;
        f.no_memory = 400;
        f.interruptions = 10;
        f.lost_datagrams = f.doubled_datagrams = f.late_datagrams = 8;
        f.name_failures = 8;
        f.read_errors = f.write_errors = f.sync_errors = 50;
        f.short_reads = f.short_writes = 8;
        return f;
    }
};

/// A fault that a connection has met with.
enum class fault : std::uint16_t {
    reset = 1,
    half_close = 2,
    silence = 4,
    stall = 8,
    refusal = 16,
    black_hole = 32,
    no_descriptors = 64,
    no_memory = 128,
};

/// The faults that one connection has met with.
class fault_set {
public:
    fault_set() noexcept = default;
    bool contains(fault f) const noexcept { return (bits_ & static_cast<std::uint16_t>(f)) != 0; }
    void insert(fault f) noexcept {
        bits_ = static_cast<std::uint16_t>(bits_ | static_cast<std::uint16_t>(f));
    }
    bool empty() const noexcept { return bits_ == 0; }
    /// Returns true if bytes may have been lost: a stall alone loses none.
    bool may_lose() const noexcept {
        return (bits_ & ~static_cast<unsigned>(static_cast<std::uint16_t>(fault::stall))) != 0;
    }
    void insert(fault_set others) noexcept {
        bits_ = static_cast<std::uint16_t>(bits_ | others.bits_);
    }

private:
    std::uint16_t bits_ = 0;
};

/// Options of a simulated world. Everything that is left to chance comes from `seed`.
struct simulation_options {
    /// The seed: a run with the same one is the same, byte for byte. Default 1.
    std::uint64_t seed = 1;
    /// Loops, in one thread; they take their turns in an order that the seed decides. Default 1.
    unsigned loops = 1;
    /// Bytes travel and are received in pieces that split and merge anywhere, sends take less than
    /// they could, and what could complete at once sometimes waits. Default true.
    bool split = true;
    /// Reports events of one moment in any order. Default true.
    bool reorder = true;
    /// The shortest time that bytes are under way. Default 10 us.
    duration latency_min = std::chrono::microseconds(10);
    /// The longest time; the order within a connection is kept. Default 1 ms, or `latency_min` if
    /// that is more.
    duration latency_max = std::chrono::milliseconds(1);
    /// The files that there are; must outlive the simulation. Default: null, for an empty disk that
    /// lives as long as the simulation.
    simulated_disk* disk = nullptr;
    /// The shortest time that an operation on a file takes. With `split`, one in four takes no
    /// time. Default 0.
    duration file_delay_min = duration::zero();
    /// The longest time. Default 200 us, or `file_delay_min` if that is more.
    duration file_delay_max = std::chrono::microseconds(200);
    /// Bytes that a sender may be ahead of its reader. Default 64 KiB.
    std::size_t send_buffer = 64 * 1024;
    /// Datagrams that wait at a socket, beyond which they are lost. Default 256.
    std::size_t datagrams = 256;
    /// Descriptors that may be open at a time, beyond which EMFILE. Default: unlimited.
    std::size_t descriptors = SIZE_MAX;
    /// The length of a turn that is followed by another without a wait. Default 1 us. A wait takes
    /// exactly as long as it takes.
    duration turn = std::chrono::microseconds(1);
    /// Seconds since 1970 at the beginning. Default 2,000,000,000 (18 May 2033). Beyond
    /// 9,000,000,000 (the year 2255) either way `simulation` throws `exception` (invalid_argument).
    std::int64_t unix_time = 2'000'000'000;
    /// Turns of all loops after which a run fails. Default 10 million.
    std::uint64_t max_turns = 10'000'000;
    /// Virtual time after which a run fails. Default 30 days.
    duration max_time = std::chrono::hours(24 * 30);
    /// The faults. Default: none.
    fault_options faults = {};
    /// Called with a line for each event, without the line's end. Default: none, but standard error
    /// when the environment variable CORACLE_SIMULATION_TRACE is set and not 0.
    void (*trace)(void* user, std::string_view line) = nullptr;
    void* trace_user = nullptr;
};

}  // namespace coracle::testing
