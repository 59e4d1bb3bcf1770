#pragma once

#include <coracle/http/h1_limits.hpp>
#include <coracle/http/h2_limits.hpp>
#include <coracle/http/router.hpp>
#include <coracle/net/inherited.hpp>
#include <coracle/process/memory_use.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/task.hpp>
#include <coracle/tls/context.hpp>

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coracle::http {

/// Work beside a server, under a name: `server_options::run_beside`.
struct side_task {
    std::function<task<>()> work;
    const char* name;
};

/// Limits on what a peer may make the server hold or do. Those that cut a peer have a counter in
/// `server_counters`.
struct server_limits {
    /// Bytes of a request body, however it is read. Default: unlimited; the helpers that hold a
    /// whole body have a limit of their own (1 MiB).
    std::uint64_t body = UINT64_MAX;
    /// Connections of one loop, beyond which those that have been idle for longest are closed; when
    /// none is idle, a new one waits. Default 0: three quarters of the descriptors that the
    /// process may have (RLIMIT_NOFILE) when the loop begins to serve, shared by the loops.
    std::uint32_t connections = 0;
    /// Connections of one client, over all loops: of one IPv4 address, or of the first 64 bits of
    /// an IPv6 address; after a PROXY header, of the client that it names. Those beyond are closed
    /// at once. Default 0: unlimited.
    std::uint32_t connections_per_client = 0;
    /// The share of its memory that the process may use, in percent, beyond which requests get 503
    /// with Retry-After: the limit of its control groups (cgroups(7)) without pages of files, or
    /// what `server_options::memory` says; looked at four times a second at most. Default 95; 0:
    /// all of it.
    std::uint32_t memory_percent = 95;
    /// Requests of one connection, after which it is closed. Default 10,000.
    std::uint32_t requests = 10'000;
    /// Bytes of an unread request body that are discarded to keep the connection. Default 64 KiB.
    std::uint32_t discard = 64 * 1024;
    /// Bytes of one connection that the system holds and has not sent yet (TCP_NOTSENT_LOWAT,
    /// tcp(7)): what a peer that does not read can pin, besides one window of it. The system may
    /// hold some KiB more. Default 60 KiB; 0: as many as it likes.
    std::uint32_t unsent = 60 * 1024;
    /// Limits of connections that speak HTTP/1, and of those that speak HTTP/2.
    h1_limits h1 = {};
    h2_limits h2 = {};
};

/// Timeouts of the server. All but `idle_at_limit` are kept to within 1/16 s.
struct server_timeouts {
    /// The limit from the first byte of a request to the end of its head. Default 10 s; then 408.
    duration head = std::chrono::seconds(10);
    /// The limit between two reads of a request body. Default 30 s.
    duration body = std::chrono::seconds(30);
    /// The limit without progress in writing a response. Default 30 s.
    duration write = std::chrono::seconds(30);
    /// A client that takes fewer than `write_rate` bytes/s while it is waited for, over this time,
    /// is cut. Default 60 s.
    duration write_window = std::chrono::seconds(60);
    /// Bytes a second. Default 240; 0 switches it off.
    std::uint32_t write_rate = 240;
    /// The longest time that a handler, or the function of a streamed response, may go on without
    /// writing once the client has sent its end: it may have only that, or be gone. Default 5 s;
    /// zero takes the end for a hang-up.
    duration half_closed = std::chrono::seconds(5);
    /// The limit between two requests, and before the first. Default 60 s.
    duration idle = std::chrono::seconds(60);
    /// The limit between two requests when the loop has all the connections that
    /// `limits.connections` allows, or memory is used up to `limits.memory_percent`. From three
    /// quarters of them on the limit goes down from `idle` to this, and those that have been idle
    /// for longest are closed. Kept to within 1 s. Default 5 s.
    duration idle_at_limit = std::chrono::seconds(5);
    /// Age after which a connection is closed between two requests, plus up to a tenth at random so
    /// that not all come back at once. Default 1 h.
    duration lifetime = std::chrono::hours(1);
    /// Dropping what the peer still sends, up to its end, before a connection is closed, in all; so
    /// that it reads a response that came before its request had been sent. Default 30 s.
    duration linger = std::chrono::seconds(30);
    /// Dropping input before a close, without a byte from the peer. Default 5 s.
    duration linger_silence = std::chrono::seconds(5);
    /// The time after `stop` in which requests under way may end before they are cut. Default 30 s.
    duration drain = std::chrono::seconds(30);
    /// The time after `stop` in which an idle connection of HTTP/1 may begin one more request, and
    /// one that has begun a head may complete it; the response says that it was the last. So none
    /// is lost that is on its way. TLS handshakes and PROXY headers under way have as long, from
    /// `last_accept` on. Default 500 ms; zero closes them at once.
    duration drain_idle = std::chrono::milliseconds(500);
    /// The time after `stop` in which TCP handshakes that have begun may end and are accepted,
    /// before the listeners are closed: a round trip. Default 50 ms.
    duration last_accept = std::chrono::milliseconds(50);
    /// A request body slower than `body_rate` bytes/s is cut after this grace. Default 10 s.
    duration body_grace = std::chrono::seconds(10);
    /// Bytes a second, over the whole time of the body. Default 240; 0 switches it off.
    std::uint32_t body_rate = 240;
};

/// The record of one response, for access logs and metrics. The views live for the call.
struct access_record {
    const net::address& peer;
    const request& req;
    http::status status;
    std::uint64_t body_bytes;
    duration took;
    std::int64_t unix_time;  ///< seconds
    /// False: the response was broken off, by the client or by a failure, behind about so many
    /// bytes of its body.
    bool is_whole = true;
};

/// An object that is notified of every response that was sent, or broken off, on the thread of its
/// loop: of several at a time. A small response counts as sent once it is on its way out. Requests
/// that were given up before their response began have none. An exception that leaves `observe` is
/// logged, and has no effect on the response.
struct response_observer {
    void (*observe)(void* self, const access_record& record);
    void* self;
};

/// Counts since the start. Each is one number for the whole server, read without stopping it.
struct server_counters {
    std::uint64_t connections = 0;  ///< accepted
    std::uint64_t open = 0;         ///< connections now, after their handshake
    // Connections now, by state: those open that are neither active nor draining are idle.
    std::uint64_t handshaking = 0;  ///< in a TLS handshake, or before a PROXY header; not `open`
    std::uint64_t active = 0;       ///< with a request that counts as `in_flight`
    std::uint64_t draining = 0;     ///< open while the server drains, active ones among them
    std::uint64_t open_h2 = 0;      ///< of `open`, those that speak HTTP/2
    std::uint64_t websockets = 0;   ///< connections and streams of HTTP/2 that are WebSockets now
    std::uint64_t requests = 0;
    std::uint64_t in_flight = 0;  ///< requests now in a handler that waits, or being written
    std::uint64_t responses_2xx = 0;
    std::uint64_t responses_3xx = 0;
    std::uint64_t responses_4xx = 0;
    std::uint64_t responses_5xx = 0;
    std::uint64_t handler_errors = 0;        ///< an exception left a handler: 500
    std::uint64_t clients_gone = 0;          ///< hung up before the response to their request
    std::uint64_t malformed = 0;             ///< 400 and the like
    std::uint64_t head_too_large = 0;        ///< 431
    std::uint64_t target_too_long = 0;       ///< 414
    std::uint64_t chunk_abuse = 0;           ///< limits of the chunked coding
    std::uint64_t body_too_large = 0;        ///< 413
    std::uint64_t decoded_too_large = 0;     ///< 413: decompressed beyond its limit
    std::uint64_t decoded_ratio = 0;         ///< 413: compressed too far
    std::uint64_t decoded_window = 0;        ///< 413: the decoder needs too much memory
    std::uint64_t decoders_refused = 0;      ///< 503: the decoders of a loop hold too much
    std::uint64_t undecodable = 0;           ///< 400: corrupt or cut short in its coding
    std::uint64_t head_timeouts = 0;         ///< 408
    std::uint64_t body_timeouts = 0;         ///< stalled
    std::uint64_t body_too_slow = 0;         ///< below `body_rate`
    std::uint64_t write_timeouts = 0;        ///< the peer did not read
    std::uint64_t write_too_slow = 0;        ///< the peer read below `write_rate`
    std::uint64_t half_closed_timeouts = 0;  ///< handlers whose client had sent its end
    std::uint64_t idle_timeouts = 0;
    std::uint64_t retired = 0;  ///< connections closed at `limits.requests` or `timeouts.lifetime`
    std::uint64_t bodies_not_discarded = 0;  ///< connections closed because a body was left unread
    std::uint64_t pipeline_yields = 0;
    std::uint64_t accept_errors = 0;      ///< no descriptors or no memory
    std::uint64_t out_of_memory = 0;      ///< connections and requests refused for want of memory
    std::uint64_t accept_paused = 0;      ///< at `connections`, and none was idle
    std::uint64_t made_room = 0;          ///< idle connections closed for the sake of new ones
    std::uint64_t idle_shortened = 0;     ///< idle connections closed before `timeouts.idle`
    std::uint64_t memory_refused = 0;     ///< 503: requests beyond `limits.memory_percent`
    std::uint64_t client_limit = 0;       ///< closed at `connections_per_client`
    std::uint64_t cut_by_drain = 0;       ///< connections closed before their response was sent
    std::uint64_t accepted_in_drain = 0;  ///< connections that waited when the drain began
    std::uint64_t told_of_drain = 0;      ///< WebSockets, event streams and handlers that watch it
    std::uint64_t tls_handshakes = 0;     ///< that succeeded
    std::uint64_t tls_resumptions = 0;    ///< of these, by a ticket
    std::uint64_t tls_failures = 0;
    std::uint64_t tls_timeouts = 0;    ///< handshakes beyond `handshake_timeout`
    std::uint64_t proxy_failures = 0;  ///< no PROXY header, or a malformed one, from a proxy
    std::uint64_t h2_connections = 0;  ///< that spoke HTTP/2
    // Clients of HTTP/2 that were cut for a limit of `h2_limits`.
    std::uint64_t h2_streams_refused = 0;
    std::uint64_t h2_continuations = 0;
    std::uint64_t h2_resets = 0;
    std::uint64_t h2_pings = 0;
    std::uint64_t h2_settings = 0;
    std::uint64_t h2_idle_frames = 0;
    std::uint64_t h2_empty_data = 0;
    std::uint64_t h2_small_data = 0;
    std::uint64_t h2_queued_control = 0;
};

/// Returns the default options of a server's sockets: probes after 30 s of silence, three at
/// intervals of 10 s, find out that a client has vanished.
inline socket_options server_sockets() noexcept {
    socket_options o;
    o.keep_alive = {.on = true, .idle = 30, .interval = 10, .count = 3};
    return o;
}

/// The versions of HTTP that a server speaks.
enum class http_versions : std::uint8_t {
    http1,  ///< HTTP/1.1 and HTTP/1.0
    both,   ///< these and HTTP/2
    http2,  ///< HTTP/2 only, as behind a proxy
};

struct server_options {
    /// "127.0.0.1:8080", "[::]:80", ":80" or "80" for every IPv4 address, "unix:/path", and
    /// "inherited" for the sockets that `server::inherit` was given; several are separated by
    /// commas. Port 0 lets the system choose.
    /// "https://:443" and "http://:80" say which is which; without, it is https where `tls` is set.
    std::string listen = "127.0.0.1:8080";
    /// Certificates and settings of https; may be shared. Default: none.
    std::shared_ptr<tls::server_context> tls = {};
    /// Networks, separated by commas ("10.0.0.0/8,::1"), whose connections begin with a PROXY
    /// header that tells the client's address (HAProxy's protocol, versions 1 and 2); one without
    /// is closed. Default: none.
    std::string proxy_protocol_from = {};
    /// For `serve`: the Unix path at which the process that takes the place of this one gets the
    /// listeners (`service`), so that none of its requests is lost. Default: none.
    std::string handover = {};
    /// Default 0: a loop for each core.
    unsigned loops = 0;
    /// Pins each loop to a core. Default: not.
    bool pin = false;
    /// The versions to speak. Clients choose HTTP/2 over TLS by ALPN, in clear by beginning with
    /// its preface (RFC 9113 section 3.3). Default: both.
    http_versions versions = http_versions::both;
    /// Lets a client in clear go on in HTTP/2 by `Upgrade: h2c` in its first request, which has no
    /// body (RFC 7540 section 3.2; RFC 9113 has dropped it). Not behind a proxy that passes Upgrade
    /// on: requests of HTTP/2 then get past the proxy's rules. Default: not.
    bool h2c_upgrade = false;
    server_limits limits = {};
    server_timeouts timeouts = {};
    /// Options of the listeners, and so of the connections that they accept. With `reuse_port` the
    /// port is shared with other servers that set it; else `open` fails when it is taken.
    /// `user_timeout_ms` is `timeouts.write` by default. Options that only connecting sockets have
    /// are ignored.
    socket_options sockets = server_sockets();
    /// Sent as the Server field of responses that have none; default: none.
    std::string server_name = {};
    /// The logger of `serve`; must outlive it. Default: warnings and errors, or what CORACLE_LOG
    /// says, to standard error. A `server` logs to the log of its runtime.
    logger* log = nullptr;
    /// The memory that is used, in place of that of the control groups: a simulation has none.
    /// Called on every loop, also at the same time. Default: none.
    std::function<process::memory_use()> memory = {};
    /// Set by `observe`.
    std::vector<response_observer> observers = {};
    /// Set by `run_beside`.
    std::vector<side_task> side_tasks = {};
    backend_kind backend = backend_kind::automatic;

    /// Adds an observer of responses, such as an access log or metrics, by its member
    /// `observe(const access_record&)`. It must outlive the server.
    template <class T>
    server_options& observe(T& observer) {
        const auto call = [](void* self, const access_record& record) {
            static_cast<T*>(self)->observe(record);
        };
        observers.push_back({call, &observer});
        return *this;
    }

    /// Adds a task that `serve` runs on its first loop, such as the health checks of `upstreams`:
    /// from when it listens to the end of the drain, when it is cancelled. An exception that leaves
    /// it is logged. `name`, which dumps of tasks show, must outlive the server. A `server` alone
    /// ignores it: its program can `spawn`.
    server_options& run_beside(std::function<task<>()> work, const char* name = "beside") {
        side_tasks.push_back({std::move(work), name});
        return *this;
    }
};

/// The course of a drain, so far or in all.
struct drain_report {
    std::uint64_t open = 0;       ///< connections when it began
    std::uint64_t in_flight = 0;  ///< requests then in a handler that waited, or being written
    std::uint64_t told = 0;       ///< WebSockets, event streams and handlers that were told of it
    std::uint64_t accepted = 0;   ///< connections that waited in the backlog
    std::uint64_t served = 0;     ///< requests that came since it began
    std::uint64_t cut = 0;        ///< connections closed before their response was sent
    duration took{};              ///< to the end of the last connection; zero before
};

/// A server of HTTP/1.1 and HTTP/2 on the loops of a runtime (RFC 9110, RFC 9112, RFC 9113).
/// `stop`, `stop_handed_over`, `share_listeners`, `counters` and `drained` may be called from any
/// thread, `run` and `open` of one loop on the thread of that loop, the rest from the one that made
/// it.
class server {
public:
    /// Throws `exception` (invalid_argument) when `server_name` cannot be the value of a field.
    explicit server(handler h, server_options options = {});
    ~server();
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    /// Takes over listening sockets of another process, before `open`: the service manager's
    /// (`net::take_inherited_sockets`), or those of the process before this one (`net::take_over`).
    /// An item of `listen` that is the address of one of them, or its name, uses it and is not
    /// opened; "inherited" stands for all that no item before it took, "inherited:NAME" for those
    /// of that name, with "https://" or "http://" before it as always; without, one named "http" is
    /// in clear. Sockets that no item takes are closed by `open`. What was opened there stays open
    /// elsewhere: the drain leaves it as it is.
    void inherit(std::vector<net::inherited_socket> sockets);

    /// Opens the listeners of one loop, or of every loop; the loops must not run yet, or this is
    /// the loop's own thread. Throws `exception` when it cannot listen on an address.
    void open(loop& on);
    void open(runtime& on);

    /// The addresses that it listens on, with the real ports.
    const std::vector<net::address>& addresses() const noexcept;
    /// The addresses as URLs: "https://127.0.0.1:8443", "http://[::1]:8080" or "unix:/path".
    std::vector<std::string> urls() const;

    /// Serves on this loop, which must have been opened, until `stop` and the end of the drain.
    /// Cancelling it cuts all connections.
    operation<void> run(loop& on);

    /// Begins the drain: connections that have come are still accepted, then the listeners are
    /// closed; idle connections are closed, after `timeouts.drain_idle`; responses carry
    /// `Connection: close`; connections left after `timeouts.drain` are cut.
    void stop();
    /// Begins the drain of a server whose listeners another process has now (`share_listeners`):
    /// what waits there is left to that one.
    void stop_handed_over();

    /// Returns other numbers for its listening sockets, named by their item of `listen`, to be
    /// handed over to another process, whose `inherit` takes them. Fails with `errc::shutting_down`
    /// once it drains, with `operation_not_supported` in a simulation.
    std::expected<std::vector<net::inherited_socket>, error> share_listeners() const;

    /// The report of its drain; nothing before `stop`.
    std::optional<drain_report> drained() const;

    server_counters counters() const noexcept;

private:
    struct core;
    std::unique_ptr<core> core_;
};

/// Serves until SIGINT or SIGTERM, or until it has handed its listeners over to another process,
/// then drains; a second signal cuts. Serves sockets that systemd opened, in place of `listen`
/// where that has none of them, and notifies it (coracle/http/service.hpp): make it before other
/// threads. With `tls`, certificates are read again on SIGHUP and when their files change.
/// `ready(server)` is called once the listeners are open. Throws `exception` when it cannot listen
/// on an address.
void serve(handler h, server_options options, unique_function<void(server&)> ready);

/// Serves as a whole program: prints the addresses on standard output. On failure it prints the
/// reason in one line on standard error, and ends the program with the exit code 1.
void serve(handler h, server_options options = {});

}  // namespace coracle::http
