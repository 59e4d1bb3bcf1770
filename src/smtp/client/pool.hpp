#pragma once

#include "smtp/client/place.hpp"
#include "smtp/client/session.hpp"

#include <coracle/base/detail/tally.hpp>

#include <memory>
#include <vector>

namespace coracle::smtp::detail {

/// One thread writes, any reads.
struct pool_counters {
    tally mails;
    tally failed;
    tally retries;
    tally opened;
    tally reused;
    tally open;
    tally idle;
    tally waiting;
};

/// The connections by one route on one loop, and the line of the mails that wait for one. There are
/// never more connections than places.
class connection_pool final : deadline {
public:
    connection_pool(loop& owner, std::shared_ptr<const route> by, const pool_options& o,
                    pool_counters& counters)
        : deadline(owner), owner_(owner), route_(std::move(by)), options_(o), counters_(counters),
          free_places_(o.connections == 0 ? 1 : o.connections) {}
    ~connection_pool() { close_idle(); }

    const std::shared_ptr<const route>& by() const noexcept { return route_; }
    /// Those that wait for any connection.
    intrusive_list<place>& line() noexcept { return line_; }
    /// Those that stand behind a mail, and have sent nothing.
    intrusive_list<place>& followers() noexcept { return followers_; }
    bool take_place() noexcept;
    /// The first of the line has it now, or else the first of those behind a mail: nobody waits for
    /// one connection while another has nothing to do.
    void give_place() noexcept;
    /// One that has waited and may carry another mail; null: there is none. With a place only.
    std::unique_ptr<connection> take_idle() noexcept;
    void opened() noexcept {
        ++counters_.opened;
        ++counters_.open;
    }
    /// Returns whether a connection may carry another mail after so many.
    bool may_carry(std::size_t mails_before) const noexcept {
        return !retired_ && (options_.messages == 0 || mails_before < options_.messages);
    }
    /// It carries the next mail at once.
    void pass_on(connection& c) noexcept {
        ++c.mails;
        ++counters_.reused;
    }
    /// Keeps it for the next mail, or closes it.
    void give_back(std::unique_ptr<connection> c) noexcept;
    void close(std::unique_ptr<connection> c) noexcept;
    void close_idle() noexcept;
    /// Counts the mails that hold on to it.
    void enter() noexcept { ++users_; }
    void leave() noexcept { --users_; }
    bool in_use() const noexcept { return users_ != 0; }
    /// Keeps none from now on.
    void retire() noexcept {
        retired_ = true;
        close_idle();
    }
    /// The loop has ended: what there is goes without a word.
    void abandon() noexcept;

private:
    void expired() noexcept override;
    void arm_for_first() noexcept;

    loop& owner_;
    std::shared_ptr<const route> route_;
    const pool_options& options_;
    pool_counters& counters_;
    std::size_t free_places_;
    intrusive_list<place> line_;
    intrusive_list<place> followers_;
    std::vector<std::unique_ptr<connection>> idle_;  ///< the one used last is the last
    std::size_t users_ = 0;
    bool retired_ = false;
};

}  // namespace coracle::smtp::detail
