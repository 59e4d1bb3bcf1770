#pragma once

#include <coracle/base/unique_function.hpp>
#include <coracle/net/address.hpp>
#include <coracle/runtime/condition.hpp>
#include <coracle/runtime/task.hpp>
#include <coracle/testing/peer.hpp>
#include <coracle/testing/script.hpp>
#include <coracle/tls/options.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tls {
class server_context;
}

namespace coracle::testing {

struct scripted_peer_options {
    /// "127.0.0.1:0", "unix:/path". Default: a loopback port that the system chooses.
    std::string listen = "127.0.0.1:0";
    /// Speaks TLS from the first byte, or from the script's `start_tls`. Default: none.
    std::shared_ptr<tls::server_context> tls = {};
    /// Speaks TLS with a certificate of its own for localhost, 127.0.0.1 and ::1. Default: no.
    bool self_signed = false;
    /// Bytes of a connection that are kept in its record, and that a `read_until` may look through.
    /// Default 1 MiB.
    std::size_t kept = 1024 * 1024;
    /// Connections that are taken in all; then it stops accepting. Default 100,000.
    std::size_t connections = 100'000;
    /// The limit from the acceptance of a connection to the end of its script, beyond which it is
    /// cut and the record says so. Default 10 min.
    duration limit = std::chrono::minutes(10);
};

/// The record of one connection of a `scripted_peer`.
struct connection_record {
    std::string received = {};  ///< the first `scripted_peer_options::kept` bytes
    std::uint64_t bytes_received = 0;
    std::uint64_t bytes_sent = 0;  ///< handed to the system
    std::uint64_t steps = 0;       ///< done, over all rounds
    bool stalled = false;          ///< it stands at a `stall` now
    /// The other side was seen to have gone while the script stalled or paused.
    bool hung_up = false;
    /// The way in which the other side ended, once the script has seen it.
    std::optional<ending> peer_ended = {};
    bool closed = false;       ///< the script is over, and so is the connection
    std::string failure = {};  ///< what went otherwise than the script says; else empty
};

/// A server that does what a script says, however wrong, and remembers what it met with: for tests
/// of clients. The first connection gets the first script, the next the next, and all further ones
/// the last. Records may be read from any thread.
class scripted_peer {
public:
    using options = scripted_peer_options;
    using records = std::vector<connection_record>;

    /// Listens and plays from now on, on a loop and a thread of its own. Throws `exception` when
    /// the address cannot be had; `scripts` must not be empty.
    explicit scripted_peer(script s, options o = {});
    explicit scripted_peer(std::vector<script> scripts, options o = {});
    /// Plays as a task of the loop `on`, which must outlive it: for simulations. From the thread of
    /// that loop, or before it runs.
    scripted_peer(loop& on, script s, options o = {});
    scripted_peer(loop& on, std::vector<script> scripts, options o = {});
    /// Calls `stop`.
    ~scripted_peer();
    scripted_peer(const scripted_peer&) = delete;
    scripted_peer& operator=(const scripted_peer&) = delete;

    const net::address& address() const noexcept;
    std::uint16_t port() const noexcept { return address().port(); }
    /// "http://127.0.0.1:40123/path", https with TLS. `target` begins with a slash.
    std::string url(std::string_view target = "/") const;
    /// The certificate to trust, PEM: with `self_signed`, else empty.
    const std::string& authorities() const noexcept;
    /// Options of a client that trusts this peer alone.
    tls::client_options client_tls() const;

    /// Returns the number of connections accepted.
    std::size_t connections() const;
    /// Returns the record of a connection, by the order of acceptance. Throws `std::out_of_range`.
    connection_record record(std::size_t index = 0) const;

    /// Blocks until it is so, which is looked at whenever a record changes, and at most for
    /// `limit`; then false. `reached` must not throw, must ask nothing of the peer but by its
    /// parameter, and is called on the peer's thread too. Not from the thread of the peer's loop.
    bool wait_until(unique_function<bool(const records&)> reached,
                    duration limit = std::chrono::seconds(10)) const;
    bool wait_for_connections(std::size_t n, duration limit = std::chrono::seconds(10)) const;
    /// Waits until that connection has been closed.
    bool wait_for_end(std::size_t index = 0, duration limit = std::chrono::seconds(10)) const;
    /// Waits until that connection stands at a `stall`.
    bool wait_for_stall(std::size_t index = 0, duration limit = std::chrono::seconds(10)) const;

    /// Awaits the next change of a record, for tasks of the peer's loop. No task may wait when the
    /// peer is destroyed.
    condition_wait changed() const noexcept;

    /// Listens no more and cuts what is left; with a thread of its own, returns when that has
    /// ended. Once more is harmless. Records stay.
    void stop();

private:
    struct core;
    std::shared_ptr<core> core_;
};

}  // namespace coracle::testing
