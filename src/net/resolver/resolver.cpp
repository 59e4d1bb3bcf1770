#include "net/resolver/name.hpp"
#include "net/resolver/state.hpp"

#include <coracle/net/resolver.hpp>

#include <algorithm>
#include <cassert>
#include <map>
#include <new>
#include <utility>

namespace coracle::net {
namespace {

using addresses = std::expected<std::vector<address>, error>;
using mail_list = std::expected<std::vector<mail_host>, error>;

error failure(resolve_errc why, std::string_view host) {
    // An invalid name may hold anything: only a printable part of it goes into the error.
    constexpr std::size_t shown = 80;
    std::string text(host.substr(0, shown));
    for (char& c : text) {
        if (c < ' ' || c > '~') c = '?';
    }
    if (host.size() > shown) text += "...";
    error e(why, "resolve", phase::resolve);
    return std::move(e.on(text));
}

address with_port(const address& a, std::uint16_t port) {
    address copy = a;
    copy.set_port(port);
    return copy;
}

bool fits(const address& a, net::family only) noexcept {
    return only == family::none || a.family() == only;
}

/// Returns an address that is known without a query, or nothing when name servers must be queried.
std::optional<addresses> known(std::string_view host, std::string_view name, std::uint16_t port,
                               net::family only) {
    if (detail::is_never_asked(name)) {
        return std::unexpected(failure(resolve_errc::no_such_host, host));
    }
    if (!detail::is_localhost(name)) return std::nullopt;
    std::vector<address> all;
    std::array<std::uint8_t, 16> v6{};
    v6[15] = 1;
    if (only != family::v4) all.push_back(address::v6(v6, port));
    if (only != family::v6) all.push_back(address::v4({127, 0, 0, 1}, port));
    return all;
}

task<addresses> find(std::shared_ptr<detail::resolver_state> state, std::string name,
                     std::uint16_t port, net::family only) {
    detail::response_wait wait(*state, name, only);
    auto done = co_await as_result(wait);
    if (!done) co_return std::unexpected(std::move(done).error());
    co_return wait.addresses(port);
}

task<mail_list> find_mail(std::shared_ptr<detail::resolver_state> state, std::string name) {
    detail::response_wait wait(*state, name, detail::record_kind::mail);
    auto done = co_await as_result(wait);
    if (!done) co_return std::unexpected(std::move(done).error());
    co_return wait.mail();
}

}  // namespace

namespace detail {

response_wait::response_wait(resolver_state& state, const std::string& host,
                             net::family only) noexcept
    : state_(&state), host_(&host), kinds_{record_kind::v6, record_kind::v4} {
    if (only != family::none) kinds_[0] = kind_of(only);
    count_ = only == family::none ? 2 : 1;
    for (ticket& t : tickets_) t.owner = this;
}

response_wait::response_wait(resolver_state& state, const std::string& host,
                             record_kind only) noexcept
    : state_(&state), host_(&host), kinds_{only, only}, count_(1) {
    tickets_[0].owner = this;
}

bool response_wait::join(ticket& t, record_kind wanted) noexcept {
    try {
        return state_->join(t, *host_, wanted);
    } catch (const std::bad_alloc&) {
        const error none(std::errc::not_enough_memory, "resolve", phase::resolve);
        t.response = std::unexpected(none);
        return true;
    }
}

bool response_wait::start() noexcept {
    // One more than the pending tickets, so that a cached response does not complete the wait
    // within this function.
    left_ = 1;
    for (unsigned i = 0; i != count_; ++i) {
        if (!join(tickets_[i], kinds_[i])) ++left_;
    }
    if (--left_ != 0) return false;
    if (owner().may_complete_inline()) return true;
    owner().enqueue(*this);
    return false;
}

void response_wait::responded() noexcept {
    if (--left_ == 0) owner().enqueue(*this);
}

void response_wait::cancel() noexcept {
    if (linked()) return;
    mark_cancelled();
    for (ticket& t : tickets_) state_->leave(t);
    owner().enqueue(*this);
}

std::expected<std::vector<address>, error> response_wait::addresses(std::uint16_t port) const {
    std::vector<address> all;
    const error* why = nullptr;
    for (const ticket& t : tickets_) {
        if (!t.response) continue;
        if (*t.response) {
            for (const address& a : (**t.response)->addresses) all.push_back(with_port(a, port));
        } else if (why == nullptr || why->code() == resolve_errc::no_such_host ||
                   why->code() == resolve_errc::no_addresses) {
            const error& e = t.response->error();
            if (why == nullptr || e.code() != resolve_errc::no_such_host) why = &e;
        }
    }
    if (all.empty() && why != nullptr) return std::unexpected(*why);
    return all;
}

std::expected<std::vector<mail_host>, error> response_wait::mail() const {
    std::vector<mail_host> all;
    if (!tickets_[0].response) return all;
    const verdict& response = *tickets_[0].response;
    if (!response) {
        // Without such records the host itself takes the mail, which is no failure.
        if (response.error().code() == resolve_errc::no_addresses) return all;
        return std::unexpected(response.error());
    }
    all = (*response)->mail;
    // RFC 7505 section 3: "." stands alone. Beside others it is a mistake, and says nothing.
    if (std::ranges::any_of(all, [](const mail_host& h) { return !h.name.empty(); })) {
        std::erase_if(all, [](const mail_host& h) { return h.name.empty(); });
    } else {
        all.resize(1);
    }
    // Keeps the order of equals, as std::stable_sort does, of which clang warns in libstdc++ 12.
    std::multimap<std::uint16_t, mail_host> sorted;
    for (mail_host& h : all) sorted.emplace(h.preference, std::move(h));
    all.clear();
    for (auto& [preference, host] : sorted) all.push_back(std::move(host));
    return all;
}

}  // namespace detail

resolver::resolver(loop& owner, resolver_options options)
    : state_(std::make_shared<detail::resolver_state>(owner, std::move(options))) {}

resolver::~resolver() {
    state_->close();
}

operation<std::vector<address>> resolver::resolve(std::string_view host, std::uint16_t port) {
    return resolve(host, port, family::none);
}

operation<std::vector<address>> resolver::resolve(std::string_view host, std::uint16_t port,
                                                  net::family only) {
    assert(loop::current() == &state_->owner());
    if (const auto a = detail::numeric_address(host)) {
        if (!fits(*a, only))
            return addresses(std::unexpected(failure(resolve_errc::no_addresses, host)));
        return addresses(std::vector<address>{with_port(*a, port)});
    }
    bool absolute = false;
    auto name = detail::canonical_name(host, absolute);
    if (!name) return addresses(std::unexpected(failure(resolve_errc::malformed_name, host)));
    if (auto response = known(host, *name, port, only)) return *std::move(response);
    if (absolute) *name += '.';
    return find(state_, *std::move(name), port, only);
}

operation<std::vector<mail_host>> resolver::mail_hosts(std::string_view domain) {
    assert(loop::current() == &state_->owner());
    bool absolute = false;
    auto name = detail::canonical_name(domain, absolute);
    if (!name || detail::numeric_address(domain)) {
        return mail_list(std::unexpected(failure(resolve_errc::malformed_name, domain)));
    }
    if (detail::is_never_asked(*name)) {
        return mail_list(std::unexpected(failure(resolve_errc::no_such_host, domain)));
    }
    if (detail::is_localhost(*name)) return mail_list(std::vector<mail_host>());
    // A domain of mail is absolute: no search domains.
    *name += '.';
    return find_mail(state_, *std::move(name));
}

void resolver::clear_cache() noexcept {
    state_->clear_cache();
}

resolver_counters resolver::counters() const noexcept {
    return state_->counters();
}

loop& resolver::owner() const noexcept {
    return state_->owner();
}

}  // namespace coracle::net
