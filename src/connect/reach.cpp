#include "connect/reach.hpp"

#include <coracle/net/network.hpp>

#include <string_view>

namespace coracle::connect {
namespace {

using result = race::result;

/// Returns the address of a numeric host, if no race and no timeout is needed.
std::optional<net::address> only_address(std::string_view host, std::uint16_t port,
                                         const options& o) {
    if (o.timeout() != duration::max() || o.only() != net::family::none) return {};
    if (o.socket().local.size != 0 || o.socket().fast_open) return {};
    auto address = net::parse_ip(host, port);
    if (address && known_addresses(o, host, port)) return {};
    return address;
}

task<result> connect_to_address(net::address to, const options* o, time_point start) {
    if (o->record() != nullptr) o->record()->reached = phase::connect;
    auto attempt = net::connect(to, o->socket());
    auto s = co_await as_result(attempt);
    if (!s && coracle::detail::is_cancellation(s.error())) {
        co_return std::unexpected(std::move(s).error());
    }
    if (!s) {
        error e(s.error().code(), "connect", phase::connect);
        co_return std::unexpected(e.on(to.to_string()).on_attempt(1).retry_is_safe(true));
    }
    if (o->record() != nullptr) o->record()->connect = loop::current()->now() - start;
    co_return *std::move(s);
}

task<result> run_race(net::resolver* names, const std::string* host, std::uint16_t port,
                      const options* o, time_point start) {
    race r(*names, *host, port, *o, start);
    auto s = co_await r.run();
    co_return s;
}

}  // namespace

task<result> reach(net::resolver& names, const std::string& host, std::uint16_t port,
                   const options& o, time_point start) {
    if (const auto to = only_address(host, port, o)) {
        return connect_to_address(*to, &o, start);
    }
    return run_race(&names, &host, port, &o, start);
}

}  // namespace coracle::connect
