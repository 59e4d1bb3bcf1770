#pragma once

#include <coracle/runtime/backend.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::testing::detail {

/// How the bytes of one direction are cut.
enum class cutting : std::uint8_t {
    none,
    mixed,  ///< often whole, sometimes anywhere
    fine,   ///< a few bytes each, as long as that is not too many pieces
};

/// One direction of a connection, seen from the end that receives.
struct pipe {
    std::deque<std::string> flying;  ///< sent; arrive in this order
    time_point last_due;             ///< of what is under way
    std::string arrived;
    std::size_t taken = 0;     ///< of `arrived`, by the receiver
    std::size_t occupied = 0;  ///< sent, and as far as the sender knows not taken
    std::size_t freed = 0;     ///< taken, which the sender has not been told
    cutting cut = cutting::none;
    bool shut = false;   ///< the sender has sent its end
    bool ended = false;  ///< which has arrived

    std::string_view readable() const noexcept { return std::string_view(arrived).substr(taken); }
    void take(std::size_t n) {
        taken += n;
        if (taken != arrived.size()) return;
        arrived.clear();
        taken = 0;
    }
    void drop_arrived() {
        arrived.clear();
        taken = 0;
    }
};

/// One side of a connection.
struct end {
    descriptor* owner = nullptr;
    pipe in;
    bool open = true;        ///< a descriptor's number stands for it
    bool connected = false;  ///< it may send and receive
    bool broken = false;     ///< a reset has arrived
    bool doomed = false;     ///< a reset is under way to it
};

enum class side : std::uint8_t { client, server };

struct link {
    std::uint64_t id = 0;
    end ends[2];
    endpoint local;   ///< the client's
    endpoint remote;  ///< the server's
    unsigned attempts = 0;

    end& at(side s) noexcept { return ends[static_cast<unsigned>(s)]; }
};

constexpr side other(side s) noexcept {
    return s == side::client ? side::server : side::client;
}

/// A listening socket.
struct listening {
    endpoint at;
    std::string key;
    std::deque<std::shared_ptr<link>> queue;
    std::size_t backlog = 0;
    descriptor* owner = nullptr;
    bool shared = false;
    bool open = true;
};

/// What a descriptor's number stands for. A stream that was not connected yet has no link.
struct node {
    std::shared_ptr<listening> listener;
    std::shared_ptr<link> connection;
    descriptor* owner = nullptr;  ///< of a stream without a link
    side which = side::client;
    bool used = false;
};

}  // namespace coracle::testing::detail
