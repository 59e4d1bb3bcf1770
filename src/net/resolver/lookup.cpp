#include "net/resolver/lookup.hpp"

#include "net/resolver/name.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace coracle::net::detail {
namespace {

/// Asks the backend, which may know names of its own.
class backend_question final : public coracle::detail::leaf<backend_question, void>,
                               public resolve_operation {
public:
    static constexpr const char* name = "resolve";
    backend_question(std::string_view wanted, net::family of) noexcept : resolve_operation(&done) {
        host = wanted;
        family = of == net::family::v4 ? AF_INET : AF_INET6;
    }
    bool start() noexcept {
        if (!owner().backend().submit(*this)) return false;
        if (owner().may_complete_inline()) return true;
        owner().complete_later(*this);
        return false;
    }
    void cancel() noexcept override { owner().backend().cancel(*this); }
    std::expected<void, error> result() const noexcept { return {}; }

private:
    static void done(io_operation& op) noexcept {
        auto& self = static_cast<backend_question&>(op);
        if (op.result == -ECANCELED) self.mark_cancelled();
        self.complete();
    }
};

/// Whether this server may just be out of order, and another is worth a question.
bool says_nothing(std::error_code failure) noexcept {
    return failure && failure != resolve_errc::no_such_host &&
           failure != resolve_errc::no_addresses;
}

}  // namespace

lookup::lookup(std::shared_ptr<resolver_state> state, std::string host, net::family wanted,
               std::string key)
    : state_(std::move(state)), host_(std::move(host)), wanted_(wanted),
      absolute_(host_.ends_with('.')), key_(std::move(key)),
      answer_(std::unexpected(coracle::detail::stopped_error("resolve"))) {
    if (absolute_) host_.pop_back();
}

void lookup::start() {
    loop& l = state_->owner();
    l.detached_started();
    begin(find(), l, &l.root(), "resolve").resume();
}

void lookup::add(ticket& t) noexcept {
    t.in = this;
    waiting_.push_back(t);
}

void lookup::tell(const verdict& answer) noexcept {
    while (ticket* t = waiting_.pop_front()) {
        t->in = nullptr;
        t->answer = answer;
        t->owner->answered();
    }
}

void lookup::over() noexcept {
    // Only running out of memory throws here.
    if (exception() != nullptr)
        failed(describe(std::make_error_code(std::errc::not_enough_memory)));
    destroy();
    tell(answer_);
    state_->ended(*this, key_, answer_, holds_);
    state_->owner().detached_ended();
}

void lookup::found(std::vector<address> addresses, duration holds) {
    answer_ = std::make_shared<const std::vector<address>>(std::move(addresses));
    holds_ = std::min(holds, state_->options().longest_ttl);
}

void lookup::failed(error why, duration holds) {
    answer_ = std::unexpected(std::move(why));
    holds_ = std::min(holds, state_->options().longest_negative_ttl);
}

error lookup::describe(std::error_code code) const {
    error e(code, "resolve", phase::resolve);
    e.on(host_);
    return std::move(e.retry_is_safe(says_nothing(code)));
}

task<> lookup::find() {
    if (state_->backend_may_know_names()) {
        const bool answered = co_await ask_backend();
        if (answered) co_return;
    }
    state_->refresh();
    if (look_into_hosts()) co_return;
    co_await ask_name_servers();
}

task<bool> lookup::ask_backend() {
    backend_question q(host_, wanted_);
    const auto asked = co_await as_result(q);
    if (!asked) co_return true;
    const std::int64_t result = q.io_operation::result;
    if (result == -ENOSYS) {
        state_->backend_knows_no_names();
        co_return false;
    }
    if (result == -ENOENT) {
        failed(describe(resolve_errc::no_such_host), q.ttl);
    } else if (result < 0) {
        failed(describe({static_cast<int>(-result), std::generic_category()}));
    } else if (q.found.empty()) {
        failed(describe(resolve_errc::no_addresses), q.ttl);
    } else {
        std::vector<address> addresses;
        addresses.reserve(q.found.size());
        for (const endpoint& e : q.found) addresses.push_back(address::from(e));
        found(std::move(addresses), q.ttl);
    }
    co_return true;
}

bool lookup::look_into_hosts() {
    const std::vector<address>* all = state_->in_hosts(host_);
    if (all == nullptr) return false;
    std::vector<address> addresses;
    for (const address& a : *all) {
        if (a.family() == wanted_) addresses.push_back(a);
    }
    if (addresses.empty()) {
        failed(describe(resolve_errc::no_addresses));
    } else {
        found(std::move(addresses), {});
    }
    return true;
}

task<> lookup::ask_name_servers() {
    const auto names =
        candidates(host_, absolute_, state_->search(), state_->options().domains, state_->dots());
    turn_wait turn(*state_);
    const auto came = co_await as_result(turn);
    if (!came) co_return;
    std::error_code best = resolve_errc::no_such_host;
    std::optional<error> failure;
    duration holds = duration::max();
    for (const std::string& name : names) {
        auto said = co_await ask(name);
        if (!said) {
            // A domain of the search list that is out of order must not hide the other names.
            if (said.error().code() == resolve_errc::server_failure) {
                if (!failure) failure = std::move(said).error();
                continue;
            }
            failed(std::move(said).error());
            co_return;
        }
        const duration ttl = std::chrono::seconds(said->ttl);
        if (!said->failure) {
            found(std::move(said->found), ttl);
            co_return;
        }
        if (said->failure == resolve_errc::no_addresses) best = said->failure;
        holds = std::min(holds, ttl);
    }
    if (failure) {
        failed(*std::move(failure));
    } else {
        failed(describe(best), holds);
    }
}

task<std::expected<dns_answer, error>> lookup::ask(const std::string& candidate) {
    std::error_code failure = resolve_errc::timed_out;
    std::string whom;
    for (unsigned attempt = 0; attempt != std::max(1u, state_->options().attempts); ++attempt) {
        for (std::size_t i = 0; i < state_->servers(); ++i) {
            auto server = state_->server(i);
            question q(server, candidate, wanted_);
            auto answer = co_await as_result(q);
            if (!answer && coracle::detail::is_cancellation(answer.error())) {
                co_return std::unexpected(std::move(answer).error());
            }
            if (answer) {
                auto said = read_answer(*answer, candidate, wanted_, state_->options().addresses);
                if (!says_nothing(said.failure)) co_return said;
                failure = said.failure;
            } else {
                failure = answer.error().code();
            }
            whom = server->at().to_string();
            state_->count_failure();
        }
    }
    error e(failure, "resolve", phase::resolve);
    e.on(candidate + " (asked " + whom + ')').retry_is_safe(true);
    co_return std::unexpected(std::move(e));
}

}  // namespace coracle::net::detail
