#pragma once

#include "figures/counts.hpp"
#include "target.hpp"

#include <coracle/runtime/cancel_source.hpp>
#include <coracle/runtime/task.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::tool::bench {

class worker;

/// One request at a time: a connection of HTTP/1.1 or WebSocket, or a stream of a connection of
/// HTTP/2. Belongs to a worker and its loop.
class lane {
public:
    lane(worker& w, std::size_t index) noexcept : worker_(w), index_(index) {}
    virtual ~lane() = default;
    lane(const lane&) = delete;
    lane& operator=(const lane&) = delete;

    /// Makes requests until there are no more, one session after the other.
    task<> run();

    /// The place among all lanes of the run.
    std::size_t index() const noexcept { return index_; }

    /// Gives up the request that has had no response for longer than `limit`, and its connection.
    void give_up_if_late(time_point now, duration limit) noexcept;

protected:
    /// Connects, and makes requests until there are no more, or the connection is of no more use.
    /// Its waits are cancelled when a request has taken too long.
    virtual task<> session() = 0;
    /// Closes what a session has left open.
    virtual void leave() noexcept {}

    // For sessions.

    /// Notes that the connection is there, and waits for the others unless there is a warm-up in
    /// which requests do not count.
    task<> enter();
    /// Notes that there is no connection, for this reason if it is not that of the error.
    void note_no_connection(const error& e, std::string reason = {});
    /// Takes the next request: the time at which it is due. Nothing: there are no more.
    std::optional<time_point> take() noexcept;
    /// Returns true where it is not due yet, and has to be waited for.
    bool is_early(time_point due) noexcept;
    /// The request that was taken last is for the next session: its connection has gone.
    void take_again(time_point due) noexcept { carried_ = due; }
    /// Chooses what is sent.
    const prepared_request& choose() noexcept;
    /// Notes that the request that was due then is being sent.
    void begin(time_point due) noexcept;
    /// Notes the response to it.
    void finish(unsigned status) noexcept;
    /// Notes that there will be none. The first reason of a lane is one for the report.
    void fail(failure_kind kind, std::string_view why) noexcept;
    void fail(const error& e) noexcept;

    worker& owner() noexcept { return worker_; }
    bool is_busy() const noexcept { return busy_; }

private:
    task<> back_off();
    void give_up_carried() noexcept;
    bool fail(failure_kind kind) noexcept;
    void give_reason(const std::string& why);

    worker& worker_;
    std::size_t index_;
    std::size_t next_ = 0;  ///< of a scenario in order
    time_point due_{};
    time_point sent_{};
    time_point last_{};  ///< when the response before came: then the next request is begun
    std::optional<time_point> carried_;
    cancel_source* running_ = nullptr;
    duration pause_{};       ///< before the next attempt to connect
    unsigned refusals_ = 0;  ///< since the last response
    bool busy_ = false;
    bool entered_ = false;
    bool refused_ = false;  ///< the session had no connection
    bool slept_ = false;    ///< until the request was due
    bool gave_reason_ = false;
};

}  // namespace coracle::tool::bench
