#pragma once

#include <coracle/http/server.hpp>
#include <coracle/net/handover.hpp>
#include <coracle/net/inherited.hpp>
#include <coracle/net/service_manager.hpp>
#include <coracle/runtime/runtime.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace coracle::http {

/// Options of `service`.
struct service_options {
    /// The Unix path at which the process that takes the place of this one asks for the listeners:
    /// "unix:/run/shop.sock", or the path alone. Default: none.
    std::string handover = {};
    /// The time that such a process has for its start. Default 60 s.
    duration handover_patience = std::chrono::seconds(60);
};

/// The place of a server's process among others: sockets that the service manager opened (systemd
/// socket activation), notifications of it (sd_notify(3)), and the hand-over of the listeners from
/// one process to the next, so that a restart loses no request. `http::serve` has one.
///
///     http::service place(how);              // before there are threads
///     runtime rt(on);
///     http::server s(routes, place.listening(options));
///     place.equip(s);
///     s.open(rt);
///     rt.run([&](loop& l) -> task<> {
///         if (l.index() == 0) spawn([&] { return place.run(s, rt); }, "service");
///         co_await s.run(l);
///     });
///
/// Belongs to the thread of the first loop, but for `stopping`.
class service {
public:
    /// Takes the variables of the service manager out of the environment, and the sockets of the
    /// process that waits at `handover`. Blocks for as long as that one takes to respond, 5 s at
    /// most. Throws `exception` when a variable cannot be read, or that process is another user's.
    explicit service(const service_options& o = {});

    /// Returns true if there are sockets of another process.
    bool has_sockets() const noexcept { return !sockets_.empty(); }
    /// Returns options whose `listen` is "inherited" where sockets came from the service manager
    /// and no item of `listen` is one of them: who gives a unit sockets wants them served.
    server_options listening(server_options o) const;
    /// Returns the first port that `o.listen` serves over TLS, which redirects to https lead to:
    /// that of a socket of another process, or the one that stands there. Nothing where there is
    /// none, or the system is to choose it. To be called before `equip`.
    std::optional<std::uint16_t> secure_port(const server_options& o) const;
    /// Gives the sockets to the server, before `open`.
    void equip(server& s);

    /// Lets the service manager and the process before this one know that it serves, then feeds the
    /// watchdog and waits for the process after this one, to which it gives the listeners, and
    /// stops the server. Ends then, or when it is cancelled; failures are logged. Spawn it on the
    /// first loop, once the server is open.
    task<> run(server& s, runtime& all);

    /// Lets the service manager know that the end has begun; any thread.
    void stopping() const { static_cast<void>(manager_.stopping()); }
    const net::service_manager& manager() const noexcept { return manager_; }

private:
    task<> watch(runtime& all);
    task<> take_place(const logger& log);
    task<> wait_for_the_next(server& s, const logger& log);

    service_options options_;
    net::address at_;
    net::service_manager manager_;
    net::takeover before_;
    std::vector<net::inherited_socket> sockets_;
    bool is_activated_ = false;  ///< the sockets are the service manager's
};

}  // namespace coracle::http
