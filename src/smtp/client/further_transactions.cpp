// A mail over a connection: one transaction, and as many more as those recipients need that were
// too many for it.

#include "smtp/client/failures.hpp"
#include "smtp/client/recipients_left.hpp"
#include "smtp/client/transaction.hpp"

#include <algorithm>
#include <utility>

namespace coracle::smtp::detail {
namespace {

bool same(const std::shared_ptr<const capabilities>& a,
          const std::shared_ptr<const capabilities>& b) noexcept {
    return a == b || *a == *b;
}

}  // namespace

/// Sets the outcomes of a further transaction that has failed. That RCPT was accepted counts no
/// more.
void transaction::settle(const error& why) {
    const failure* const f = failure_of(why);
    // Without a sender no recipient has a place.
    const bool of_all = f != nullptr && f->command() == mail_command_;
    for (std::size_t i = settled_; i < recipients_.size(); ++i) {
        recipient_result& one = recipients_[i];
        if (std::exchange(one.accepted, false) || of_all)
            one.reply = f != nullptr ? f->reply() : reply();
        if (one.reply.code != 0) continue;
        one.problem = end_sent_ ? error(make_error_code(errc::uncertain), "smtp") : why;
    }
}

/// Sends the same mail to those that were too many. Some recipients have it: this fails when it is
/// cancelled, and else says what became of the others.
task<std::expected<void, error>> transaction::send_to_left(outgoing_mail* mail) {
    recipients_ = std::exchange(left_, {});
    settled_ = 0;
    mail->rewind();
    auto sending = run_once(mail);
    auto sent = co_await std::move(sending);
    if (!sent) {
        left_.clear();
        settle(sent.error());
    }
    put_outcomes(progress_.recipients, sent ? std::move(sent->recipients) : std::move(recipients_));
    if (!sent && coracle::detail::is_cancellation(sent.error())) {
        co_return std::unexpected(uncertain_cancellation(sent.error(), progress_.recipients));
    }
    co_return done();
}

task<std::expected<receipt, error>> transaction::run(outgoing_mail* mail) {
    any_reply_ = false;
    if (!prepared_ || !same(can_, over().can)) {
        auto preparing = prepare(mail, over().can);
        auto prepared = co_await std::move(preparing);
        if (!prepared) co_return std::unexpected(std::move(prepared).error());
    }
    auto running = run_once(mail);
    auto sent = co_await std::move(running);
    if (!sent || left_.empty()) co_return std::move(sent);
    progress_.recipients = std::move(sent->recipients);
    progress_.maybe_sent = true;
    while (!left_.empty()) {
        auto more = send_to_left(mail);
        auto tried = co_await std::move(more);
        if (!tried) co_return std::unexpected(std::move(tried).error());
    }
    progress_.maybe_sent = false;
    sent->recipients = std::exchange(progress_.recipients, {});
    co_return std::move(sent);
}

}  // namespace coracle::smtp::detail
