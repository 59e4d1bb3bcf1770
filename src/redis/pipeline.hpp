#pragma once

#include "redis/connection.hpp"

#include <coracle/base/detail/tally.hpp>
#include <coracle/runtime/event.hpp>
#include <coracle/runtime/task_group.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>

namespace coracle::redis::detail {

/// Counts of one loop: its thread writes, any reads.
struct pipeline_counters {
    tally commands;
    tally failed;
    tally refused;
    tally connections;
    tally lost;
};

/// A command from its call to its reply.
struct request {
    std::string bytes;
    std::size_t size = 0;
    event done;
    std::optional<std::expected<reply, error>> result;
    time_point sent_at;
    bool sent = false;
    bool abandoned = false;  ///< its reply is dropped
};

/// The commands of one loop and the connection that carries them: a queue of those that wait to be
/// sent, and one of those that wait for their replies. Kept by the part of its client on the loop,
/// by its own task and by each command.
class pipeline final : public std::enable_shared_from_this<pipeline> {
public:
    pipeline(loop& owner, std::shared_ptr<const endpoint> to, client_options o);
    pipeline(const pipeline&) = delete;
    pipeline& operator=(const pipeline&) = delete;

    pipeline_counters counters;

    /// Sends a command and completes with its reply. The task holds `self`, so that it lives until
    /// then.
    static task<std::expected<reply, error>> perform(std::shared_ptr<pipeline> self,
                                                     std::string bytes);
    static task<std::expected<void, error>> drain(std::shared_ptr<pipeline> self, duration limit);
    /// Fails everything and takes no more.
    void close() noexcept;

private:
    struct caller;

    std::optional<error> enqueue(const std::shared_ptr<request>& r);
    void abandon(const std::shared_ptr<request>& r) noexcept;
    void settle(const std::shared_ptr<request>& r, std::expected<reply, error> result) noexcept;
    void fail_all(std::deque<std::shared_ptr<request>>& which, const error& why,
                  bool was_sent) noexcept;
    void lose(error why) noexcept;
    void lose_behind(error why);

    task<> serve();
    task<> connect_again_and_again();
    task<bool> serve_once();
    task<std::unique_ptr<connection>> next_connection();
    task<> carry(connection& c);
    task<> write_all(connection& c);
    task<> read_all(connection& c);
    task<> watch();

    loop& owner_;
    std::shared_ptr<const endpoint> endpoint_;
    client_options options_;
    net::resolver names_;
    backoff delays_;
    std::deque<std::shared_ptr<request>> unsent_;
    std::deque<std::shared_ptr<request>> sent_;
    std::size_t bytes_ = 0;  ///< of both
    event work_;             ///< something is unsent
    event owed_;             ///< a reply is
    event empty_;            ///< neither is
    task_group* all_ = nullptr;
    task_group* carrying_ = nullptr;
    std::optional<error> lost_;  ///< why the connection has ended
    std::optional<error> away_;  ///< why the last attempt has failed
    bool serving_ = false;
    bool closed_ = false;
};

}  // namespace coracle::redis::detail
