#pragma once

#include "smtp/client/connection.hpp"

#include <coracle/base/detail/intrusive_list.hpp>
#include <coracle/runtime/semaphore.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace coracle::smtp::detail {

class connection_pool;

/// The place of a mail in a pool. With a place it may have a connection; until then it waits in the
/// pool's line, or behind a mail that has a connection: then the commands of its envelope go with
/// the end of that mail (RFC 2920 section 3.1), and the connection is its own afterwards. Belongs
/// to one loop; the pool must outlive it.
class place : public list_hook {
public:
    /// `may_follow`: it may come behind another mail.
    place(connection_pool& pool, bool may_follow) noexcept : pool_(pool), may_follow_(may_follow) {}
    place(const place&) = delete;
    place& operator=(const place&) = delete;
    /// Gives everything back. A connection that it has is amid a mail, and is closed.
    ~place() { leave(); }

    bool try_take() noexcept;
    /// Joins the line.
    void wait() noexcept;
    /// Completes when it has a place, or has come behind another mail.
    semaphore_acquire called() noexcept { return called_.acquire(); }
    /// Completes when it has a place.
    semaphore_acquire turn() noexcept { return turn_.acquire(); }

    /// The first mail of the line may come behind this one: it does when this one has a connection,
    /// or is the next to have it.
    void invite() noexcept;
    /// The capabilities of the server ahead; null where there is none.
    std::shared_ptr<const capabilities> abilities_ahead() const noexcept;
    /// The commands of its envelope, for a server of these capabilities: for the one ahead, if that
    /// is still the one.
    void offer(std::string envelope, const capabilities& prepared_for) noexcept;
    /// Returns whether its envelope went with the end of the mail ahead; once.
    bool envelope_went_ahead() noexcept { return std::exchange(envelope_sent_, false); }

    /// The envelope of the mail behind, which counts as sent; empty where none is ready.
    std::string take_envelope() noexcept;

    connection* over() const noexcept { return connection_.get(); }
    void use(std::unique_ptr<connection> c) noexcept { connection_ = std::move(c); }
    /// Closes the connection, and keeps the place.
    void lose_connection() noexcept;
    /// Ends the mail: place and connection go to the mail behind, or back to the pool.
    void finish() noexcept;

private:
    friend class connection_pool;
    enum class state : std::uint8_t { outside, waiting, behind, held };

    connection* line_connection() const noexcept;
    void pull_follower() noexcept;
    void call() noexcept;
    void close_connection() noexcept;
    void leave() noexcept;
    void end(std::unique_ptr<connection> c) noexcept;
    void take_over(std::unique_ptr<connection> c) noexcept;
    void send_back_follower() noexcept;

    connection_pool& pool_;
    bool may_follow_;
    bool invites_ = false;
    bool called_already_ = false;
    bool envelope_sent_ = false;
    bool spoilt_ = false;  ///< replies to the envelope of a mail that has left will come
    state state_ = state::outside;
    place* ahead_ = nullptr;
    place* behind_ = nullptr;
    std::unique_ptr<connection> connection_;
    std::string envelope_;
    // Unlike events they hand over: the end of a turn would cost a system call.
    semaphore called_{0};
    semaphore turn_{0};
};

}  // namespace coracle::smtp::detail
