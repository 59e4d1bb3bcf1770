#pragma once

#include <coracle/http/server.hpp>
#include <coracle/tls/options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::testing {

/// `http::server_options` with the defaults of a test: a loopback port that the system chooses, one
/// loop, and a drain that waits for nothing.
struct local_server_options : http::server_options {
    local_server_options();
    /// Takes over the options of a server; no number of loops means one.
    local_server_options(http::server_options o) : http::server_options(std::move(o)) {}

    /// Serves https with a certificate of its own for localhost, 127.0.0.1 and ::1, which only
    /// `local_server::client_tls` trusts. Default: no.
    bool self_signed = false;
};

/// An HTTP server for the body of a test: it serves from the constructor to the destructor, in this
/// process, on a loop and a thread of its own. Handlers run on that thread, one at a time (of
/// several loops, each has one). Its functions may be called from any thread; `stop` from one at a
/// time.
class local_server {
public:
    using options = local_server_options;

    /// Throws `exception` when the address cannot be had, or the certificate is no good.
    explicit local_server(http::handler h, options o = {});
    /// Serves without a thread, as a task of the loop `on`, which must outlive it: for simulations,
    /// and for tests that are coroutines. From the thread of the loop, or before it runs. The
    /// destructor waits for nothing then: handlers under way are cancelled in the loop's next
    /// turns, so what they refer to must live as long as the loop runs, or until `stopped`.
    local_server(loop& on, http::handler h, options o = {});
    /// Calls `stop`.
    ~local_server();
    local_server(const local_server&) = delete;
    local_server& operator=(const local_server&) = delete;

    /// Returns "http://127.0.0.1:40123/path", with the first address by default. `target` begins
    /// with a slash.
    std::string url(std::string_view target = "/", std::size_t which = 0) const;
    std::uint16_t port(std::size_t which = 0) const { return addresses().at(which).port(); }
    const std::vector<net::address>& addresses() const noexcept;

    /// The certificate of the authority to trust, PEM: with `self_signed`, else empty.
    const std::string& authorities() const noexcept;
    /// Options of a client that trusts this server alone.
    tls::client_options client_tls() const;

    http::server_counters counters() const noexcept;

    /// Stops accepting, gives responses under way `timeouts.drain` (default: no time), cuts what is
    /// left, and with a thread of its own returns when that has ended. Calling it again is
    /// harmless.
    void stop();
    /// Completes when the server has ended, after `stop`, on a loop. Resumes from the loop.
    task<> stopped();

private:
    struct core;
    std::shared_ptr<core> core_;
};

}  // namespace coracle::testing
