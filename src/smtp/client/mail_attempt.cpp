#include "smtp/client/mail_attempt.hpp"

#include "smtp/client/transaction.hpp"

#include <utility>

namespace coracle::smtp::detail {
namespace {

using outcome = std::expected<receipt, error>;

/// A mail that waits for its place.
class waiting_mail {
public:
    explicit waiting_mail(pool_counters& c) noexcept : counters_(c) { ++counters_.waiting; }
    waiting_mail(const waiting_mail&) = delete;
    waiting_mail& operator=(const waiting_mail&) = delete;
    ~waiting_mail() { --counters_.waiting; }

private:
    pool_counters& counters_;
};

/// A connection that goes back to its pool, whole or not.
class borrowed {
public:
    borrowed(connection_pool& from, std::unique_ptr<connection> c) noexcept
        : pool_(from), connection_(std::move(c)) {}
    borrowed(const borrowed&) = delete;
    borrowed& operator=(const borrowed&) = delete;
    ~borrowed() { give_up(); }
    connection& operator*() const noexcept { return *connection_; }
    connection* operator->() const noexcept { return connection_.get(); }
    void give_back() noexcept { pool_.give_back(std::move(connection_)); }
    void give_up() noexcept {
        if (connection_ == nullptr) return;
        // Amid a mail nothing that is said would be understood.
        connection_->break_off();
        pool_.close(std::move(connection_));
    }

private:
    connection_pool& pool_;
    std::unique_ptr<connection> connection_;
};

}  // namespace

task<outcome> mail_attempt::run() {
    auto opening = outgoing_mail::open(mail_);
    auto mail = co_await std::move(opening);
    if (!mail) co_return std::unexpected(std::move(mail).error());
    semaphore_permit place = pool_.places().try_hold();
    if (!place) {
        if (here_.counters.waiting >= most_waiting_) {
            error e(coracle::errc::limit_exceeded, "smtp");
            e.on("pool_options.waiting").retry_is_safe(true);
            co_return std::unexpected(std::move(e));
        }
        const waiting_mail counted(here_.counters);
        auto waiting = pool_.places().hold();
        auto got = co_await as_result(waiting);
        if (!got) co_return std::unexpected(std::move(got).error());
        place = *std::move(got);
    }
    while (auto idle = pool_.take_idle()) {
        bool stale = false;
        auto sending = send_over(std::move(idle), mail->get(), true, &stale);
        auto sent = co_await std::move(sending);
        if (!stale) co_return std::move(sent);
    }
    auto connecting = open_session(route_.get(), &here_.names());
    auto fresh = co_await std::move(connecting);
    if (!fresh) co_return std::unexpected(std::move(fresh).error());
    pool_.opened();
    bool stale = false;
    auto sending = send_over(*std::move(fresh), mail->get(), false, &stale);
    co_return co_await std::move(sending);
}

task<outcome> mail_attempt::send_over(std::unique_ptr<connection> c, outgoing_mail* mail,
                                      bool reused, bool* stale) {
    borrowed over(pool_, std::move(c));
    transaction t(*over, options_, mail_, route_->to().kind == protocol::lmtp, maybe_sent_);
    auto running = t.run(mail);
    auto sent = co_await std::move(running);
    if (sent) {
        sent->server = over->peer();
        sent->secure = over->secured() != nullptr;
        sent->reused = reused;
    } else {
        // The server may have closed it while it waited, before it has seen this mail.
        *stale = reused && over->broken() && !t.any_reply() && sent.error().safe_to_retry();
    }
    if (!over->broken()) over.give_back();
    co_return std::move(sent);
}

}  // namespace coracle::smtp::detail
