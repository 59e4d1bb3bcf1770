#pragma once

#include <coracle/runtime/backend.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace coracle::testing {

/// What a simulated world is like. Everything that is left to chance comes from `seed`.
struct simulation_options {
    /// The same seed gives the same run, byte for byte. Default 1.
    std::uint64_t seed = 1;
    /// Bytes travel and are received in pieces that split and merge anywhere, sends take less than
    /// they could, and what could complete at once sometimes waits. Default true.
    bool split = true;
    /// How long bytes are under way, at least. Default 10 us.
    duration latency_min = std::chrono::microseconds(10);
    /// At most; the order within a connection is kept. Default 1 ms.
    duration latency_max = std::chrono::milliseconds(1);
    /// Bytes that a sender may be ahead of its reader. Default 64 KiB.
    std::size_t send_buffer = 64 * 1024;
    /// Descriptors that may be open at a time, beyond which EMFILE. Default: unlimited.
    std::size_t descriptors = SIZE_MAX;
    /// How long a turn takes in which there is more to do. Default 1 us. What is waited for takes
    /// as long as it takes, exactly.
    duration turn = std::chrono::microseconds(1);
    /// Seconds since 1970 at the beginning. Default 2,000,000,000 (18 May 2033).
    std::int64_t unix_time = 2'000'000'000;
    /// Turns of the loop after which a run fails. Default 10 million.
    std::uint64_t max_turns = 10'000'000;
    /// Virtual time after which a run fails. Default 30 days.
    duration max_time = std::chrono::hours(24 * 30);
};

namespace detail {
class world;
}

/// A backend without a system: a virtual clock that jumps to the next event when nothing is ready,
/// and a network in memory whose pieces and delays come from a seed. Any address can be listened
/// on. A closed connection behaves as one of TCP does: FIN and RST arrive behind the bytes, a reset
/// discards what was not read, and bytes that come to a closed end are answered with a reset.
/// Foreign descriptors are not simulated: `readable` and `writable` fail with ENOTSUP.
class simulated_backend final : public backend {
public:
    /// Called once, when the run cannot go on: nothing is left that could happen (a deadlock), a
    /// bound is exceeded, or an operation breaks the contract of `backend`.
    using failure_handler = void (*)(void* user, const std::string& why) noexcept;

    explicit simulated_backend(const simulation_options& options = {});
    ~simulated_backend() override;

    void on_failure(failure_handler f, void* user) noexcept;

    std::string_view name() const noexcept override { return "simulated"; }
    bool submit(io_operation& op) noexcept override;
    void cancel(io_operation& op) noexcept override;
    void wait(time_point until) noexcept override;
    void wake() noexcept override;
    time_point now() noexcept override;
    std::int64_t wall_clock() noexcept override;
    std::uint64_t random() noexcept override;
    std::expected<int, error> listen(endpoint& at, const socket_options& o) noexcept override;
    std::expected<int, error> open_stream(const endpoint& peer,
                                          const socket_options& o) noexcept override;
    std::expected<endpoint, error> local_endpoint(int fd) noexcept override;
    std::expected<void, error> attach(descriptor& d, int fd) noexcept override;
    void close(descriptor& d, bool reset = false) noexcept override;
    bool watch_hangup(descriptor& d, hangup_watch* w) noexcept override;
    std::int64_t try_send(descriptor& d, slice bytes) noexcept override;
    void shutdown_output(descriptor& d) noexcept override;
    void discard(int fd) noexcept override;

    /// A hash of all that happened so far: times, connections and bytes.
    std::uint64_t trace() const noexcept;
    /// How many descriptors are open.
    std::size_t open_descriptors() const noexcept;
    /// Changes `simulation_options::descriptors`.
    void limit_descriptors(std::size_t most) noexcept;

private:
    std::unique_ptr<detail::world> world_;
};

}  // namespace coracle::testing
