// A mail from its beginning to its receipt: attempts by the route of the server, or by those of MX
// hosts, and the next one where that is safe.

#include "smtp/client/failures.hpp"
#include "smtp/client/mail_attempt.hpp"
#include "smtp/client/mx_delivery.hpp"
#include "smtp/client/retries.hpp"
#include "smtp/client/sending_state.hpp"
#include "smtp/message_state.hpp"

#include <coracle/runtime/with_timeout.hpp>

#include <utility>

namespace coracle::smtp::detail {
namespace {

using outcome = std::expected<receipt, error>;

/// A mail that goes to the server of the client's URL.
class running_mail {
public:
    running_mail(client_shard& here, const message& m, const client_options& o,
                 std::shared_ptr<const route> by, std::size_t most_waiting)
        : attempt_(here, m, o, std::move(by), most_waiting, progress_),
          retries_(o.retry, here.counters.retries) {}

    task<outcome> run() {
        return retries_.run([this] { return attempt_.run(); });
    }
    /// Returns whether the server may have the mail, for all that is known.
    bool maybe_sent() const noexcept { return progress_.maybe_sent; }
    /// Adds the outcomes for those whose transactions have ended, of a mail that takes several.
    void tell_recipients(error& e) const {
        if (progress_.recipients.empty()) return;
        e.with(std::make_shared<failure>(std::string(end_of_data), reply(), progress_.recipients));
    }

private:
    mail_progress progress_;
    mail_attempt attempt_;
    retries retries_;
};

template <class Mail>
task<outcome> run_with_timeout(duration total, Mail* mail) {
    auto limited = with_timeout(total, mail->run());
    auto r = co_await as_result(limited);
    if (r) co_return *std::move(r);
    error why = std::move(r).error();
    if (why == std::errc::timed_out) {
        if (mail->maybe_sent()) why = error(make_error_code(errc::uncertain), "smtp");
        why.on("total_timeout").retry_is_safe(!mail->maybe_sent());
        mail->tell_recipients(why);
    }
    co_return std::unexpected(std::move(why));
}

template <class Mail>
task<outcome> run_within(duration total, Mail* mail) {
    return total > duration::zero() ? run_with_timeout(total, mail) : mail->run();
}

task<outcome> run_mail(sending_state* s, client_shard* here) {
    if (s->problem) co_return std::unexpected(*s->problem);
    if (auto problem = s->mail.problem()) co_return std::unexpected(*std::move(problem));
    const std::shared_ptr<const client_options> defaults = s->core->defaults();
    const client_options& options = s->own != nullptr ? *s->own : *defaults;
    loop& l = here->owner();
    if (!is_complete(s->mail.state())) {
        complete(s->mail.own_state(), l.unix_time(), l.random(), l.random());
    }
    const duration total =
        s->total_timeout > duration::zero() ? s->total_timeout : options.total_timeout;
    if (s->core->delivers_to_mx()) {
        mx_delivery mail(*s->core, *here, s->mail, options);
        auto running = run_within(total, &mail);
        co_return co_await std::move(running);
    }
    auto by = s->core->route_for(options);
    if (!by) co_return std::unexpected(std::move(by).error());
    running_mail mail(*here, s->mail, options, *std::move(by), s->core->pool().waiting);
    auto running = run_within(total, &mail);
    co_return co_await std::move(running);
}

/// A mail as its interceptors see it. Lives as long as the task of the outermost one.
class intercepted_mail {
public:
    intercepted_mail(sending_state* s, client_shard* here) noexcept : state_(s), here_(here) {}

    /// Calls the interceptor with this index, or sends the mail behind the last of them.
    task<receipt> call(std::size_t index, message* m) {
        const auto& all = state_->core->interceptors();
        if (index == all.size()) {
            if (m != &state_->mail) state_->mail = *m;
            operation<receipt> sending(run_mail(state_, here_));
            receipt r = co_await std::move(sending);
            r.message_id = state_->mail.state().id;
            if (m != &state_->mail) *m = state_->mail;
            co_return r;
        }
        const mail_handler next = [this, index](message& passed) {
            return call(index + 1, &passed);
        };
        auto calling = all[index](*m, next);
        co_return co_await std::move(calling);
    }

private:
    sending_state* state_;
    client_shard* here_;
};

task<outcome> run_intercepted(sending_state* s, client_shard* here) {
    if (s->problem) co_return std::unexpected(*s->problem);
    intercepted_mail mail(s, here);
    auto calling = mail.call(0, &s->mail);
    auto r = co_await as_result(std::move(calling));
    co_return std::move(r);
}

/// By way of the interceptors, where there are any.
task<outcome> start_mail(sending_state* s, client_shard* here) {
    if (s->core->interceptors().empty()) return run_mail(s, here);
    return run_intercepted(s, here);
}

}  // namespace

task<std::expected<receipt, error>> send_mail(sending_state* s) {
    client_shard* const here = s->core->here();
    if (here == nullptr) {
        co_return std::unexpected(error(coracle::errc::shutting_down, "smtp"));
    }
    const shard_use use(*here);
    ++here->counters.mails;
    auto running = start_mail(s, here);
    auto r = co_await std::move(running);
    if (!r) {
        ++here->counters.failed;
    } else if (r->message_id.empty()) {
        r->message_id = s->mail.state().id;
    }
    co_return std::move(r);
}

task<std::expected<receipt, error>> send_owned_mail(std::unique_ptr<sending_state> s) {
    auto sending = send_mail(s.get());
    co_return co_await std::move(sending);
}

}  // namespace coracle::smtp::detail
