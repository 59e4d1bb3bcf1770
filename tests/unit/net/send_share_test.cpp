// A task that sends without end shares the loop.

#include "support/virtual_time.hpp"

#include <coracle/net/byte_stream.hpp>
#include <coracle/runtime/spawn.hpp>

#include <gtest/gtest.h>

#include <algorithm>

namespace coracle {
namespace {

/// Takes all that it is given at once, as a socket does whose peer reads fast.
class swallowing_stream final : public net::byte_stream {
public:
    std::uint64_t taken = 0;

    void shutdown_output() noexcept override {}
    void close(bool) noexcept override {}
    std::int64_t try_send(std::string_view bytes) noexcept override {
        taken += bytes.size();
        return static_cast<std::int64_t>(bytes.size());
    }
    bool has_input() noexcept override { return false; }
    bool watch_hangup(hangup_watch*) noexcept override { return true; }
    const net::address& peer() const noexcept override { return peer_; }
    loop& owner() const noexcept override { return *loop::current(); }
    bool start(io_operation& op) noexcept override {
        auto& send = static_cast<send_operation&>(op);
        for (const slice& s : send.slices) send.sent += static_cast<std::int64_t>(s.size);
        taken += static_cast<std::uint64_t>(send.sent);
        op.result = send.sent;
        return true;
    }
    void cancel(io_operation&) noexcept override {}

private:
    net::address peer_;
};

constexpr std::uint64_t share = 512 * 1024;

/// The most that a task sends in one turn of the loop, in `pieces` slices of so many bytes.
std::uint64_t most_in_a_turn(std::size_t size, std::size_t pieces) {
    swallowing_stream stream;
    std::uint64_t most = 0;
    testing::run_virtually([&]() -> task<> {
        bool over = false;
        auto send = [&]() -> task<> {
            const std::string bytes(size, 'x');
            for (int i = 0; i != 200; ++i) {
                slice all[] = {slice(bytes), slice(bytes)};
                co_await stream.send({all, pieces});
            }
            over = true;
        };
        spawn(send);
        // It has begun in the turn of this task.
        co_await yield();
        std::uint64_t before = stream.taken;
        while (!over) {
            co_await yield();
            most = std::max(most, stream.taken - before);
            before = stream.taken;
        }
    });
    return most;
}

TEST(send, of_a_task_is_bounded_by_bytes_in_each_turn) {
    constexpr std::size_t piece = 64 * 1024;
    EXPECT_LE(most_in_a_turn(piece, 1), share + piece);
    EXPECT_LE(most_in_a_turn(piece, 2), share + 2 * piece);
    // Small ones by their number, as ever.
    EXPECT_LE(most_in_a_turn(100, 1), 65U * 100U);
}

}  // namespace
}  // namespace coracle
