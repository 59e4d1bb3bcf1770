#include "connect/through_proxy.hpp"

#include "connect/destination_order.hpp"
#include "connect/names.hpp"
#include "connect/reach.hpp"
#include "connect/tunnel_stream.hpp"

#include <coracle/net/network.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/tls/context.hpp>
#include <coracle/tls/stream.hpp>

#include <algorithm>
#include <utility>

namespace coracle::connect {
namespace {

using coracle::detail::is_cancellation;

/// Replies of proxies are short.
constexpr std::size_t read_bytes = 4096;
/// The most requests to a proxy for one tunnel that are repeated after a challenge.
constexpr unsigned most_repeats = 4;

std::expected<std::shared_ptr<tls::client_context>, error> usual_context() {
    try {
        // Is never destroyed: a client of static lifetime makes connections late.
        static const auto& shared =
            *new std::shared_ptr<tls::client_context>(std::make_shared<tls::client_context>());
        return shared;
    } catch (const exception& e) {
        return std::unexpected(e.error());
    }
}

/// Returns true if another address of the target may succeed.
bool is_about_address(const error& e) noexcept {
    constexpr proxy_errc codes[] = {
        proxy_errc::general_failure,  proxy_errc::network_unreachable,
        proxy_errc::host_unreachable, proxy_errc::connection_refused,
        proxy_errc::ttl_expired,      proxy_errc::address_not_supported,
    };
    return std::any_of(std::begin(codes), std::end(codes),
                       [&](proxy_errc c) { return e == make_error_code(c); });
}

/// Converts a failure to connect to the proxy, so that it does not look like one of the target.
error about_proxy(const error& e) {
    if (is_cancellation(e)) return e;
    const bool is_name = e.phase() == phase::resolve;
    error out(e.code(), is_name ? "resolve proxy" : "connect proxy",
              is_name ? phase::proxy : phase::connect);
    out.on(e.subject()).on_attempt(e.attempt()).retry_is_safe(e.safe_to_retry());
    return out;
}

bool resolves_here(proxy_kind k) noexcept {
    return k == proxy_kind::socks4 || k == proxy_kind::socks5;
}

}  // namespace

through_proxy::through_proxy(net::resolver& names, const options& o)
    : names_(&names), options_(o), proxy_(*options_.proxy()), start_(names.owner().now()),
      give_up_(coracle::detail::later(start_, o.timeout())), subject_(proxy_.to_string()) {}

task<through_proxy::result> through_proxy::connect_to_proxy() {
    auto s = co_await reach();
    if (!s || tls_ == nullptr) co_return s;
    co_return std::make_unique<tunnel_stream>(*std::move(s), buffer(), std::move(tls_));
}

task<through_proxy::result> through_proxy::connect_to(const std::string& host, std::uint16_t port) {
    subject_ += " to " + host_and_port(plain_host(host), port);
    if (!resolves_here(proxy_.kind())) {
        const std::string name(plain_host(host));
        auto s = co_await open(name, port);
        co_return s;
    }
    // With its dot: a name that is absolute has no search domains.
    auto targets = co_await resolve(host, port);
    if (!targets) co_return std::unexpected(std::move(targets).error());
    result s = std::unexpected(error());
    for (const net::address& a : *targets) {
        // Removes the zone of an address, which is valid on this machine only.
        const std::string text = net::network::around(a, 128).to_string();
        s = co_await open(text, port);
        if (s || !is_about_address(s.error())) break;
    }
    co_return s;
}

/// The target's addresses.
task<std::expected<through_proxy::addresses, error>> through_proxy::resolve(const std::string& host,
                                                                            std::uint16_t port) {
    const net::family only =
        proxy_.kind() == proxy_kind::socks4 ? net::family::v4 : options_.only();
    addresses all;
    if (auto known = known_addresses(options_, host, port)) {
        all = *std::move(known);
        std::erase_if(
            all, [only](const auto& a) { return only != net::family::none && a.family() != only; });
    } else {
        auto resolving = only == net::family::none ? names_->resolve(host, port)
                                                   : names_->resolve(host, port, only);
        const time_point now = names_->owner().now();
        const time_point due =
            std::min(coracle::detail::later(now, options_.resolve_timeout()), give_up_);
        auto limited = with_deadline(due, std::move(resolving));
        auto found = co_await as_result(std::move(limited));
        if (!found && found.error().operation() == "with_deadline") {
            error late(std::errc::timed_out, "resolve", phase::resolve);
            co_return std::unexpected(late.on(host));
        }
        if (!found) co_return std::unexpected(std::move(found).error());
        all = *std::move(found);
    }
    if (all.empty()) {
        error none(net::resolve_errc::no_addresses, "resolve", phase::resolve);
        co_return std::unexpected(none.on(host));
    }
    sort_destinations(all);
    if (all.size() > options_.addresses()) all.resize(options_.addresses());
    co_return all;
}

/// A tunnel to one name or address.
task<through_proxy::result> through_proxy::open(const std::string& host, std::uint16_t port) {
    for (unsigned repeats = 0;; ++repeats) {
        auto d = make_dialogue(proxy_, host, port, repeats);
        if (!d) co_return std::unexpected(refused(d.error()));
        auto s = co_await reach();
        if (!s) co_return s;
        task<result> talking = talk(*std::move(s), **d);
        auto done = co_await within_deadline(std::move(talking), {"proxy", phase::proxy});
        const bool again = (*d)->state() == dialogue::status::again && repeats < most_repeats;
        if (!again) co_return done;
    }
}

/// Connects to the proxy, with TLS for an https proxy.
task<through_proxy::result> through_proxy::reach() {
    task<result> reaching = connect::reach(*names_, proxy_.host(), proxy_.port(), options_, start_);
    auto s = co_await std::move(reaching);
    if (!s) co_return std::unexpected(about_proxy(s.error()));
    if (proxy_.kind() != proxy_kind::https) co_return s;
    task<result> handshake = encrypt(*std::move(s));
    auto done = co_await within_deadline(std::move(handshake), {"tls to proxy", phase::tls});
    co_return done;
}

task<through_proxy::result> through_proxy::encrypt(std::unique_ptr<net::byte_stream> beneath) {
    tls_ = proxy_.tls();
    if (tls_ == nullptr) {
        auto usual = usual_context();
        if (!usual) co_return std::unexpected(std::move(usual).error());
        tls_ = *std::move(usual);
    }
    auto handshake = tls::connect(*tls_, std::move(beneath), proxy_.host());
    auto s = co_await as_result(std::move(handshake));
    if (!s) co_return std::unexpected(with_subject(s.error(), {"tls to proxy", phase::tls}));
    note(&timings::tls_to_proxy);
    co_return *std::move(s);
}

task<through_proxy::result> through_proxy::talk(std::unique_ptr<net::byte_stream> s, dialogue& d) {
    constexpr part here{"proxy", phase::proxy};
    buffer received;
    while (d.state() == dialogue::status::talks) {
        if (!d.output().empty()) {
            auto gone = co_await as_result(s->send(d.output()));
            if (!gone) co_return std::unexpected(with_subject(gone.error(), here));
            d.sent();
        }
        if (received.empty()) {
            received.release();
            auto more = co_await as_result(s->receive(read_bytes));
            if (!more) co_return std::unexpected(with_subject(more.error(), here));
            received = *std::move(more);
        }
        received.consume(d.take(received.view()));
    }
    if (d.state() == dialogue::status::again) {
        co_return std::unexpected(refused({proxy_errc::credentials_refused, {}}));
    }
    if (d.state() == dialogue::status::refused) co_return std::unexpected(refused(d.why()));
    note(&timings::proxy);
    if (received.empty() && tls_ == nullptr) co_return std::move(s);
    if (received.empty()) received.release();
    co_return std::make_unique<tunnel_stream>(std::move(s), std::move(received), std::move(tls_));
}

/// Ends `work` when the time for connecting is over; an error names `p`.
task<through_proxy::result> through_proxy::within_deadline(task<result> work, part p) {
    auto limited = with_deadline(give_up_, std::move(work));
    auto done = co_await as_result(std::move(limited));
    result s = done ? *std::move(done) : result(std::unexpected(std::move(done).error()));
    // Cancelled work also ends with a value.
    if (!s && is_cancellation(s.error()) && names_->owner().now() >= give_up_) {
        s = std::unexpected(error(std::errc::timed_out));
    }
    if (!s && s.error().phase() == phase::none) s = std::unexpected(with_subject(s.error(), p));
    co_return s;
}

error through_proxy::refused(const refusal& why) const {
    error e(why.code, "proxy", phase::proxy);
    e.on(why.detail.empty() ? subject_ : subject_ + " (" + why.detail + ')');
    return e.retry_is_safe(true);
}

error through_proxy::with_subject(const error& e, part p) const {
    if (is_cancellation(e)) return e;
    error out(e.code(), p.operation, p.where);
    const std::string detail(e.subject());
    out.on(detail.empty() ? subject_ : subject_ + " (" + detail + ')');
    return out.retry_is_safe(true);
}

void through_proxy::note(duration timings::* when) const noexcept {
    if (timings* const t = options_.record()) t->*when = names_->owner().now() - start_;
}

}  // namespace coracle::connect
