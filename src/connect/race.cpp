#include "connect/race.hpp"

#include "connect/destination_order.hpp"

#include <coracle/runtime/with_timeout.hpp>

#include <algorithm>
#include <utility>

namespace coracle::connect {
namespace {

constexpr std::size_t most_reported = 8;

/// A local address of one family leaves no choice.
net::family effective_family(const options& o) noexcept {
    if (o.only() != net::family::none || o.socket().local.size == 0) return o.only();
    return net::address::from(o.socket().local).family();
}

}  // namespace

std::optional<std::vector<net::address>> known_addresses(const options& o, std::string_view host,
                                                         std::uint16_t port) {
    if (o.resolve() == nullptr) return {};
    return o.resolve()->find(host, port);
}

race::race(net::resolver& names, const std::string& host, std::uint16_t port, const options& o,
           time_point start)
    : names_(&names), host_(&host), port_(port), options_(o), start_(start),
      give_up_(coracle::detail::later(start, o.timeout())),
      give_up_names_at_(coracle::detail::later(names.owner().now(), o.resolve_timeout())) {
    socket_options each = o.socket();
    each.fast_open = false;
    options_.socket(each).only(effective_family(o));
}

task<race::result> race::run() {
    const auto block = [this](task_group& group) -> task<> { co_await drive(group); };
    static_cast<void>(co_await as_result(with_task_group(block)));
    if (winner_ != nullptr) co_return std::move(winner_);
    if (cancelled_) co_return std::unexpected(coracle::detail::stopped_error("connect"));
    co_return std::unexpected(failure());
}

task<> race::drive(task_group& group) {
    begin_to_resolve(group);
    loop& l = names_->owner();
    for (;;) {
        changed_.reset();
        if (!resolved() && l.now() >= give_up_names_at_) give_up_names();
        while (winner_ == nullptr && next_start() <= l.now()) start_next(group);
        out_of_time_ = l.now() >= give_up_;
        if (winner_ != nullptr || lost() || out_of_time_) break;
        time_point until = std::min(next_start(), give_up_);
        if (!resolved()) until = std::min(until, give_up_names_at_);
        const auto waited = co_await as_result(with_timeout(until - l.now(), changed_.wait()));
        cancelled_ = !waited && coracle::detail::is_cancellation(waited.error());
        if (cancelled_) break;
    }
    group.cancel();
}

void race::begin_to_resolve(task_group& group) {
    const net::family only = options_.only();
    if (auto known = known_addresses(options_, *host_, port_)) {
        for (const net::family f : {net::family::v6, net::family::v4}) {
            if (only != net::family::none && only != f) continue;
            std::vector<net::address> some = *known;
            std::erase_if(some, [f](const net::address& a) { return a.family() != f; });
            if (!some.empty()) take(std::move(some), f);
        }
        no_addresses_ = error(net::resolve_errc::no_addresses, "resolve", phase::resolve);
        no_addresses_->on(*host_);
        return;
    }
    // The query for IPv6 is sent first (RFC 8305 section 3).
    if (only != net::family::v4) {
        ++resolving_;
        v6_pending_ = true;
        group.spawn([this] { return resolve(net::family::v6); }, "resolve");
    }
    if (only != net::family::v6) {
        ++resolving_;
        group.spawn([this] { return resolve(net::family::v4); }, "resolve");
    }
}

task<> race::resolve(net::family which) {
    auto found = co_await as_result(names_->resolve(*host_, port_, which));
    --resolving_;
    if (names_given_up_) co_return;
    if (which == net::family::v6) v6_pending_ = false;
    if (found) {
        take(*std::move(found), which);
    } else if (!no_addresses_ || no_addresses_->code() == net::resolve_errc::no_addresses ||
               no_addresses_->code() == net::resolve_errc::no_such_host) {
        no_addresses_ = std::move(found).error();
    }
    changed_.set();
}

/// Continues with the addresses known by now.
void race::give_up_names() {
    names_given_up_ = true;
    v6_pending_ = false;
    if (started_ != 0 || has_next()) return;
    no_addresses_ = error(std::errc::timed_out, "resolve", phase::resolve);
    no_addresses_->on(*host_);
}

void race::take(std::vector<net::address> found, net::family of) {
    sort_destinations(found);
    auto& all = of == net::family::v6 ? v6_ : v4_;
    if (v6_.empty() && v4_.empty() && started_ == 0) note(&timings::resolve);
    if (options_.record() != nullptr) options_.record()->reached = phase::connect;
    all.assign(found.begin(), found.end());
    if (of == net::family::v4) v4_since_ = names_->owner().now();
}

time_point race::next_start() const noexcept {
    if (!has_next()) return time_point::max();
    time_point start = at_once_ ? time_point::min()
                                : coracle::detail::later(last_start_, options_.attempt_delay());
    // Only IPv4 addresses are known, and IPv6 ones may follow (RFC 8305 section 3).
    if (started_ == 0 && v6_pending_) {
        start = std::max(start, coracle::detail::later(v4_since_, options_.resolution_delay()));
    }
    return start;
}

void race::start_next(task_group& group) {
    // RFC 8305 section 4: families take turns, the better one first.
    bool take_v6 = !v6_.empty();
    if (!v6_.empty() && !v4_.empty()) {
        if (last_family_ == net::family::none) {
            std::vector<net::address> heads{v6_.front(), v4_.front()};
            sort_destinations(heads);
            take_v6 = heads.front() == v6_.front();
        } else {
            take_v6 = last_family_ == net::family::v4;
        }
    }
    auto& from = take_v6 ? v6_ : v4_;
    const net::address to = from.front();
    from.pop_front();
    last_family_ = to.family();
    last_start_ = names_->owner().now();
    at_once_ = false;
    running_.push_back(to);
    ++started_;
    group.spawn([this, to] { return attempt(to); }, "connect");
}

task<> race::attempt(net::address to) {
    auto connected = co_await as_result(net::connect(to, options_.socket()));
    // A cancelled attempt counts as running: the report says "no response".
    if (!connected && coracle::detail::is_cancellation(connected.error())) co_return;
    // An address may come twice.
    running_.erase(std::ranges::find(running_, to));
    if (!connected) {
        failed_.push_back({to, std::move(connected).error()});
        at_once_ = true;
    } else if (winner_ == nullptr) {
        winner_ = std::move(*connected);
        note(&timings::connect);
    }
    changed_.set();
}

void race::note(duration timings::* when) const noexcept {
    if (timings* const t = options_.record()) t->*when = names_->owner().now() - start_;
}

error race::failure() const {
    if (failed_.empty() && !out_of_time_ && no_addresses_) return *no_addresses_;
    std::string text = *host_ + ':' + std::to_string(port_);
    std::string tried;
    std::size_t left = most_reported;
    const auto add = [&](const net::address& a, const std::string& why) {
        if (left == 0) return;
        --left;
        if (!tried.empty()) tried += "; ";
        tried += a.to_string() + (why.empty() ? "" : ' ' + why);
    };
    const std::error_code code = out_of_time_ || failed_.empty()
                                     ? std::make_error_code(std::errc::timed_out)
                                     : failed_.front().why.code();
    // The common reason stands at the end of the message.
    const bool alike = running_.empty() && std::ranges::all_of(failed_, [&](const auto& f) {
                           return f.why.code() == code;
                       });
    for (const failed_attempt& f : failed_) add(f.to, alike ? "" : f.why.code().message());
    for (const net::address& a : running_) add(a, "no response");
    const std::size_t all = failed_.size() + running_.size();
    if (all > most_reported) tried += "; " + std::to_string(all - most_reported) + " more";
    // Does not repeat an address that the caller gave.
    if (!tried.empty() && tried != text) text += " (" + tried + ')';
    error e(code, "connect", started_ == 0 ? phase::resolve : phase::connect);
    e.on(text).on_attempt(started_).retry_is_safe(true);
    return e;
}

}  // namespace coracle::connect
