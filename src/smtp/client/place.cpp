#include "smtp/client/place.hpp"

#include "smtp/client/pool.hpp"

#include <cassert>
#include <utility>

namespace coracle::smtp::detail {

bool place::try_take() noexcept {
    if (!pool_.take_place()) return false;
    state_ = state::held;
    return true;
}

void place::wait() noexcept {
    state_ = state::waiting;
    pool_.line().push_back(*this);
}

/// The connection that it has, or that is its own when the mail ahead is over. Null for all that
/// stand further behind: no connection takes more of the line than that.
connection* place::line_connection() const noexcept {
    if (state_ == state::behind) return ahead_->connection_.get();
    return connection_.get();
}

void place::invite() noexcept {
    invites_ = true;
    pull_follower();
}

void place::pull_follower() noexcept {
    if (!invites_ || behind_ != nullptr) return;
    const connection* const c = line_connection();
    const unsigned ahead = state_ == state::behind ? 2 : 1;
    if (c == nullptr || !pool_.may_carry(c->mails + ahead)) return;
    place* const next = pool_.line().front();
    if (next == nullptr || !next->may_follow_) return;
    pool_.followers().push_back(*next);
    next->state_ = state::behind;
    next->ahead_ = this;
    behind_ = next;
    next->call();
}

void place::call() noexcept {
    if (!std::exchange(called_already_, true)) called_.release();
}

std::shared_ptr<const capabilities> place::abilities_ahead() const noexcept {
    if (state_ != state::behind) return nullptr;
    const place* first = ahead_;
    while (first->ahead_ != nullptr) first = first->ahead_;
    if (first->connection_ == nullptr) return nullptr;
    return first->connection_->can;
}

void place::offer(std::string envelope, const capabilities& prepared_for) noexcept {
    const auto ahead = abilities_ahead();
    if (ahead != nullptr && *ahead == prepared_for) envelope_ = std::move(envelope);
}

std::string place::take_envelope() noexcept {
    if (behind_ == nullptr || behind_->envelope_.empty()) return {};
    behind_->unlink();
    behind_->envelope_sent_ = true;
    return std::exchange(behind_->envelope_, {});
}

/// Sends those that wait behind a connection that is gone to the front of the line.
void place::send_back_follower() noexcept {
    place* const next = std::exchange(behind_, nullptr);
    if (next == nullptr) return;
    next->send_back_follower();
    next->ahead_ = nullptr;
    next->envelope_.clear();
    next->envelope_sent_ = false;
    next->state_ = state::waiting;
    pool_.line().push_front(*next);
}

/// Closes it without a word: amid a mail nothing that is said would be understood.
void place::close_connection() noexcept {
    if (connection_ == nullptr) return;
    connection_->break_off();
    pool_.close(std::move(connection_));
}

void place::lose_connection() noexcept {
    close_connection();
    send_back_follower();
}

void place::finish() noexcept {
    const bool expects_replies = behind_ != nullptr && behind_->envelope_sent_;
    if (spoilt_ || connection_->broken() || (!expects_replies && !connection_->fit())) {
        close_connection();
    }
    end(std::move(connection_));
}

void place::leave() noexcept {
    switch (state_) {
        case state::outside: return;
        case state::waiting: unlink(); break;
        case state::behind:
            unlink();
            ahead_->behind_ = nullptr;
            if (envelope_sent_) ahead_->spoilt_ = true;
            send_back_follower();
            break;
        case state::held:
            close_connection();
            end(nullptr);
            break;
    }
    state_ = state::outside;
}

void place::end(std::unique_ptr<connection> c) noexcept {
    state_ = state::outside;
    if (place* const next = std::exchange(behind_, nullptr)) {
        if (c != nullptr) pool_.pass_on(*c);
        next->take_over(std::move(c));
        return;
    }
    if (c != nullptr) pool_.give_back(std::move(c));
    pool_.give_place();
}

void place::take_over(std::unique_ptr<connection> c) noexcept {
    assert(state_ == state::waiting || state_ == state::behind);
    unlink();
    state_ = state::held;
    if (ahead_ != nullptr) std::exchange(ahead_, nullptr)->behind_ = nullptr;
    connection_ = std::move(c);
    if (connection_ == nullptr) {
        envelope_sent_ = false;
        send_back_follower();
    }
    if (behind_ != nullptr) behind_->pull_follower();
    call();
    turn_.release();
}

}  // namespace coracle::smtp::detail
