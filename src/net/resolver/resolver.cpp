#include "net/resolver/name.hpp"
#include "net/resolver/state.hpp"

#include <coracle/net/resolver.hpp>

#include <cassert>
#include <utility>

namespace coracle::net {
namespace {

using addresses = std::expected<std::vector<address>, error>;

error failure(resolve_errc why, std::string_view host) {
    // What is no name may be anything: only so much of it that can be shown.
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

/// What is known without asking; nothing when somebody has to be asked.
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
    detail::answer_wait wait(*state, name, only);
    auto done = co_await as_result(wait);
    if (!done) co_return std::unexpected(std::move(done).error());
    co_return wait.addresses(port);
}

}  // namespace

namespace detail {

answer_wait::answer_wait(resolver_state& state, const std::string& host, net::family only) noexcept
    : state_(&state), host_(&host), only_(only) {
    for (ticket& t : tickets_) t.owner = this;
}

bool answer_wait::start() {
    // Held back by one, so that an answer that is there does not complete it beneath this.
    left_ = 1;
    if (only_ != family::v4 && !state_->join(tickets_[0], *host_, family::v6)) ++left_;
    if (only_ != family::v6 && !state_->join(tickets_[1], *host_, family::v4)) ++left_;
    if (--left_ != 0) return false;
    if (owner().may_complete_inline()) return true;
    owner().enqueue(*this);
    return false;
}

void answer_wait::answered() noexcept {
    if (--left_ == 0) owner().enqueue(*this);
}

void answer_wait::cancel() noexcept {
    if (linked()) return;
    mark_cancelled();
    for (ticket& t : tickets_) state_->leave(t);
    owner().enqueue(*this);
}

std::expected<std::vector<address>, error> answer_wait::addresses(std::uint16_t port) const {
    std::vector<address> all;
    const error* why = nullptr;
    for (const ticket& t : tickets_) {
        if (!t.answer) continue;
        if (*t.answer) {
            for (const address& a : ***t.answer) all.push_back(with_port(a, port));
        } else if (why == nullptr || why->code() == resolve_errc::no_such_host ||
                   why->code() == resolve_errc::no_addresses) {
            const error& e = t.answer->error();
            if (why == nullptr || e.code() != resolve_errc::no_such_host) why = &e;
        }
    }
    if (all.empty() && why != nullptr) return std::unexpected(*why);
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
    if (auto answer = known(host, *name, port, only)) return *std::move(answer);
    if (absolute) *name += '.';
    return find(state_, *std::move(name), port, only);
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
