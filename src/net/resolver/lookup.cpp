#include "net/resolver/lookup.hpp"

#include "net/resolver/name.hpp"

#include <coracle/runtime/mail_resolve_operation.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace coracle::net::detail {
namespace {

bool is_lack(const std::error_code& code) noexcept {
    return code == std::errc::too_many_files_open ||
           code == std::errc::too_many_files_open_in_system;
}

/// Queries the backend, which may resolve names itself.
class backend_question final : public coracle::detail::leaf<backend_question, void>,
                               public mail_resolve_operation {
public:
    static constexpr const char* name = "resolve";
    backend_question(std::string_view wanted, record_kind of) noexcept
        : mail_resolve_operation(&done) {
        host = wanted;
        if (of != record_kind::mail) family = of == record_kind::v4 ? AF_INET : AF_INET6;
    }
    bool start() noexcept { return may_begin() && owner().backend().submit(*this); }
    void cancel() noexcept override {
        if (!withdrawn_before_start()) owner().backend().cancel(*this);
    }
    std::expected<void, error> result() const noexcept { return {}; }

private:
    static void done(io_operation& op) noexcept {
        auto& self = static_cast<backend_question&>(op);
        if (op.result == -ECANCELED) self.mark_cancelled();
        self.complete();
    }
};

/// Returns true for a failure that may be this server's alone, so that another server is worth a
/// query.
bool says_nothing(std::error_code failure) noexcept {
    return failure && failure != resolve_errc::no_such_host &&
           failure != resolve_errc::no_addresses;
}

}  // namespace

lookup::lookup(std::shared_ptr<resolver_state> state, std::string host, record_kind wanted,
               std::string key)
    : state_(std::move(state)), host_(std::move(host)), wanted_(wanted),
      absolute_(host_.ends_with('.')), key_(std::move(key)),
      result_(std::unexpected(coracle::detail::stopped_error("resolve"))) {
    if (absolute_) host_.pop_back();
}

void lookup::start(task<> work) noexcept {
    loop& l = state_->owner();
    // A service, which ends with the last that waits for it: clean-up after the end of the loop's
    // main task may need a name.
    l.service_started();
    const auto first = begin(std::move(work), l, nullptr, "resolve");
    own_context().attach_isolated(l.root());
    if (l.stops_services()) own_context().cancel();
    first.resume();
}

void lookup::add(ticket& t) noexcept {
    t.in = this;
    waiting_.push_back(t);
}

void lookup::tell(const verdict& response) noexcept {
    while (ticket* t = waiting_.pop_front()) {
        t->in = nullptr;
        t->response = response;
        t->owner->responded();
    }
}

void lookup::over() noexcept {
    // Only running out of memory throws here.
    if (exception() != nullptr) {
        failed(error(std::errc::not_enough_memory, "resolve", phase::resolve));
    }
    destroy();
    tell(result_);
    state_->ended(*this, key_, result_, holds_);
    state_->owner().service_ended();
}

void lookup::found(records all, duration holds) {
    result_ = std::make_shared<const records>(std::move(all));
    holds_ = std::min(holds, state_->options().longest_ttl);
}

void lookup::failed(error why, duration holds) noexcept {
    result_ = std::unexpected(std::move(why));
    holds_ = std::min(holds, state_->options().longest_negative_ttl);
}

error lookup::describe(std::error_code code) const {
    error e(code, "resolve", phase::resolve);
    e.on(host_);
    return std::move(e.retry_is_safe(says_nothing(code)));
}

task<> lookup::find() {
    if (state_->backend_may_know_names()) {
        const bool responded = co_await ask_backend();
        if (responded) co_return;
    }
    state_->refresh();
    // The hosts file says nothing of mail.
    if (wanted_ != record_kind::mail && look_into_hosts()) co_return;
    co_await ask_name_servers();
}

task<bool> lookup::ask_backend() {
    backend_question q(host_, wanted_);
    const auto queried = co_await as_result(q);
    if (!queried) co_return true;
    const std::int64_t result = q.io_operation::result;
    if (result == -ENOSYS) {
        state_->backend_knows_no_names();
        co_return false;
    }
    if (result == -ENOENT) {
        failed(describe(resolve_errc::no_such_host), q.ttl);
    } else if (result < 0) {
        failed(describe({static_cast<int>(-result), std::generic_category()}));
    } else if (q.found.empty() && q.exchanges.empty()) {
        failed(describe(resolve_errc::no_addresses), q.ttl);
    } else {
        records all;
        all.addresses.reserve(q.found.size());
        for (const endpoint& e : q.found) all.addresses.push_back(address::from(e));
        for (mail_exchange& m : q.exchanges) {
            all.mail.push_back({m.preference, std::move(m.name)});
        }
        found(std::move(all), q.ttl);
    }
    co_return true;
}

bool lookup::look_into_hosts() {
    const std::vector<address>* all = state_->in_hosts(host_);
    if (all == nullptr) return false;
    records known;
    for (const address& a : *all) {
        if (kind_of(a.family()) == wanted_) known.addresses.push_back(a);
    }
    if (known.addresses.empty()) {
        failed(describe(resolve_errc::no_addresses));
    } else {
        found(std::move(known), {});
    }
    return true;
}

task<> lookup::ask_name_servers() {
    const auto names =
        candidates(host_, absolute_, state_->search(), state_->options().domains, state_->dots());
    query_permit permit(*state_);
    const auto came = co_await as_result(permit);
    if (!came) co_return;
    std::error_code best = resolve_errc::no_such_host;
    std::optional<error> failure;
    duration holds = duration::max();
    for (const std::string& name : names) {
        auto said = co_await ask(name, wanted_);
        // Addresses of another name of the search list are those of another host.
        const bool goes_on = &name != &names.back();
        const bool has_none = said ? said->failure == resolve_errc::no_addresses
                                   : said.error().code() == resolve_errc::server_failure;
        if (goes_on && has_none && wanted_ != record_kind::mail) {
            const bool is_this_host = co_await has_other_family(name);
            if (is_this_host) {
                const duration ttl = said ? std::chrono::seconds(said->ttl) : duration::zero();
                failed(describe(resolve_errc::no_addresses), std::min(holds, ttl));
                co_return;
            }
        }
        if (!said) {
            // A broken domain of the search list must not hide the other names.
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

task<bool> lookup::has_other_family(const std::string& candidate) {
    const record_kind other = wanted_ == record_kind::v4 ? record_kind::v6 : record_kind::v4;
    auto asking = ask(candidate, other);
    const auto said = co_await std::move(asking);
    co_return said && !said->failure;
}

task<std::expected<dns_response, error>> lookup::ask(const std::string& candidate,
                                                     record_kind kind) {
    std::error_code failure = resolve_errc::timed_out;
    std::string whom;
    const unsigned attempts = std::max(1u, state_->options().attempts);
    for (unsigned attempt = 0; attempt != attempts && !is_lack(failure); ++attempt) {
        for (std::size_t i = 0; i < state_->servers(); ++i) {
            auto server = state_->server(i);
            question q(server, candidate, kind);
            auto response = co_await as_result(q);
            if (!response && coracle::detail::is_cancellation(response.error())) {
                co_return std::unexpected(std::move(response).error());
            }
            if (response) {
                auto said = read_response(*response, candidate, kind, state_->options().addresses);
                if (!says_nothing(said.failure)) co_return said;
                failure = said.failure;
            } else {
                failure = response.error().code();
            }
            whom = server->at().to_string();
            state_->count_failure();
            // Another attempt would find no more of them.
            if (is_lack(failure)) break;
        }
    }
    error e(failure, "resolve", phase::resolve);
    e.on(candidate + " (queried " + whom + ')').retry_is_safe(true);
    co_return std::unexpected(std::move(e));
}

}  // namespace coracle::net::detail
