#include "connect/reach.hpp"
#include "connect/through_proxy.hpp"

#include <coracle/net/network.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <algorithm>
#include <string>

namespace coracle::connect {

options& options::attempt_delay(duration d) noexcept {
    // The bounds of RFC 8305 section 5.
    using std::chrono::milliseconds;
    attempt_delay_ = std::clamp<duration>(d, milliseconds(10), milliseconds(2000));
    return *this;
}

options& options::bind(const net::address& local) noexcept {
    socket_.local = local.to_endpoint();
    return *this;
}

options& options::interface_name(std::string_view name) noexcept {
    if (const auto address = net::parse_ip(name)) return bind(*address);
    device_name device(name);
    // A truncated name could be that of another device.
    bad_interface_ = std::string_view(device.text) != name;
    socket_.device = device;
    return *this;
}

namespace {

using result = race::result;

task<result> connect_to_path(time_point start, const options& o) {
    auto path = net::address::parse("unix:" + o.unix_socket());
    if (!path) {
        error e(std::errc::invalid_argument, "connect", phase::connect);
        co_return std::unexpected(e.on("unix:" + o.unix_socket()));
    }
    auto attempt = net::connect(*path, o.socket());
    auto limited = with_deadline(coracle::detail::later(start, o.timeout()), std::move(attempt));
    auto s = co_await as_result(std::move(limited));
    if (!s && s.error() == std::errc::timed_out) {
        error e(std::errc::timed_out, "connect", phase::connect);
        co_return std::unexpected(e.on(path->to_string()).retry_is_safe(true));
    }
    if (!s) co_return std::unexpected(std::move(s).error());
    if (o.record() != nullptr) o.record()->connect = loop::current()->now() - start;
    co_return *std::move(s);
}

task<result> connect_through(net::resolver& names, const std::string& host, std::uint16_t port,
                             const options& o) {
    through_proxy p(names, o);
    auto s = co_await p.connect_to(host, port);
    co_return s;
}

task<result> reach_proxy(net::resolver& names, const options& o) {
    through_proxy p(names, o);
    auto s = co_await p.connect_to_proxy();
    co_return s;
}

error bad_interface() {
    error e(std::errc::no_such_device, "connect", phase::connect);
    return e.on("interface");
}

task<result> way_to(net::resolver& names, const std::string& host, std::uint16_t port,
                    const options& o) {
    const time_point now = names.owner().now();
    if (!o.unix_socket().empty()) return connect_to_path(now, o);
    if (o.proxy() != nullptr) return connect_through(names, host, port, o);
    return reach(names, host, port, o, now);
}

task<result> connect_by_name(net::resolver* names, std::string host, std::uint16_t port,
                             options o) {
    if (o.record() != nullptr) *o.record() = {};
    if (o.has_bad_interface()) co_return std::unexpected(bad_interface());
    task<result> work = way_to(*names, host, port, o);
    auto s = co_await std::move(work);
    if (s && o.record() != nullptr) o.record()->peer = (*s)->peer();
    co_return s;
}

task<result> connect_to_proxy(net::resolver* names, options o) {
    if (o.record() != nullptr) *o.record() = {};
    if (o.has_bad_interface()) co_return std::unexpected(bad_interface());
    if (o.proxy() == nullptr) {
        error e(std::errc::invalid_argument, "connect", phase::connect);
        co_return std::unexpected(e.on("there is no proxy"));
    }
    auto s = co_await reach_proxy(*names, o);
    if (s && o.record() != nullptr) o.record()->peer = (*s)->peer();
    co_return s;
}

}  // namespace

operation<std::unique_ptr<net::byte_stream>> to(net::resolver& names, std::string_view host,
                                                std::uint16_t port, const options& o) {
    return connect_by_name(&names, std::string(host), port, o);
}

operation<std::unique_ptr<net::byte_stream>> to_proxy(net::resolver& names, const options& o) {
    return connect_to_proxy(&names, o);
}

}  // namespace coracle::connect
