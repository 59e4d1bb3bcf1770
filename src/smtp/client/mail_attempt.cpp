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

}  // namespace

task<std::expected<void, error>> mail_attempt::wait_for_place(place* here, transaction* t,
                                                              outgoing_mail* mail) {
    if (here_.counters.waiting >= most_waiting_) {
        error e(coracle::errc::limit_exceeded, "smtp");
        e.on("pool_options::waiting").retry_is_safe(true);
        co_return std::unexpected(std::move(e));
    }
    const waiting_mail counted(here_.counters);
    here->wait();
    auto called = here->called();
    if (auto r = co_await as_result(called); !r) co_return std::unexpected(std::move(r).error());
    if (const auto can = here->abilities_ahead()) {
        auto preparing = t->prepare(mail, can);
        if (auto r = co_await std::move(preparing); !r) co_return std::move(r);
        here->offer(t->envelope(), *can);
        if (t->is_short(*mail)) here->invite();
    }
    auto turn = here->turn();
    auto r = co_await as_result(turn);
    if (!r) co_return std::unexpected(std::move(r).error());
    co_return std::expected<void, error>();
}

task<outcome> mail_attempt::run() {
    auto opening = outgoing_mail::open(mail_);
    auto mail = co_await std::move(opening);
    if (!mail) co_return std::unexpected(std::move(mail).error());
    place here(pool_, options_.pipelining);
    transaction t(here, options_, mail_, route_->to().kind == protocol::lmtp, progress_);
    if (!here.try_take()) {
        auto waiting = wait_for_place(&here, &t, mail->get());
        auto got = co_await std::move(waiting);
        if (!got) co_return std::unexpected(std::move(got).error());
    }
    // A mail that stood behind another has a connection already.
    if (here.over() == nullptr) here.use(pool_.take_idle());
    while (here.over() != nullptr) {
        auto sending = send_over(&here, &t, mail->get(), true);
        auto sent = co_await std::move(sending);
        if (sent || here.over() == nullptr || !t.may_be_stale(sent.error()))
            co_return std::move(sent);
        here.lose_connection();
        here.use(pool_.take_idle());
    }
    auto connecting = open_session(route_.get(), &options_, &here_.names());
    auto fresh = co_await std::move(connecting);
    if (!fresh) co_return std::unexpected(std::move(fresh).error());
    pool_.opened();
    here.use(*std::move(fresh));
    auto sending = send_over(&here, &t, mail->get(), false);
    co_return co_await std::move(sending);
}

task<outcome> mail_attempt::send_over(place* here, transaction* t, outgoing_mail* mail,
                                      bool reused) {
    auto running = t->run(mail);
    auto sent = co_await std::move(running);
    if (sent) {
        sent->server = here->over()->peer();
        sent->secure = here->over()->secured() != nullptr;
        sent->reused = reused;
    }
    if (!here->over()->broken()) here->finish();
    co_return std::move(sent);
}

}  // namespace coracle::smtp::detail
