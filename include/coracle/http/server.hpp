#pragma once

#include <coracle/http/router.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/tls/context.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace coracle::http {

/// What a peer may make the server hold or do. Each limit has a counter in `server_counters`.
struct server_limits {
    /// Bytes of a request head. Default 64 KiB; beyond it 431.
    std::uint32_t head = 64 * 1024;
    /// Field lines of a head. Default 100; beyond it 431.
    std::uint32_t fields = 100;
    /// Bytes of the request line. Default 8 KiB; beyond it 414.
    std::uint32_t request_line = 8 * 1024;
    /// Bytes of one field line. Default 16 KiB; beyond it 431.
    std::uint32_t field = 16 * 1024;
    /// Bytes of a chunk-size line with its extensions. Default 256.
    std::uint32_t chunk_line = 256;
    /// Bytes of chunk framing beyond 16 a chunk and twice the data. Default 16 KiB.
    std::uint32_t chunk_overhead = 16 * 1024;
    /// Bytes of a trailer section. Default 16 KiB.
    std::uint32_t trailers = 16 * 1024;
    /// Trailer fields. Default 32.
    std::uint32_t trailer_fields = 32;
    /// Bytes of a request body, however it is read. Default: unlimited; the helpers that hold a
    /// whole body have a limit of their own (1 MiB).
    std::uint64_t body = UINT64_MAX;
    /// Connections of one loop, beyond which it stops accepting. Default 10,000.
    std::uint32_t connections = 10'000;
    /// Requests of one connection, after which it is closed. Default 10,000.
    std::uint32_t requests = 10'000;
    /// Requests of one read that are answered before other connections get their turn. Default 16.
    std::uint32_t pipelined = 16;
    /// Bytes of an unread request body that are discarded to keep the connection. Default 64 KiB.
    std::uint32_t discard = 64 * 1024;
};

/// How long the server waits. All are kept to within 1/16 s.
struct server_timeouts {
    /// From the first byte of a request to the end of its head. Default 10 s; then 408.
    duration head = std::chrono::seconds(10);
    /// Between two reads of a request body. Default 30 s.
    duration body = std::chrono::seconds(30);
    /// Without progress in writing an answer. Default 30 s.
    duration write = std::chrono::seconds(30);
    /// Between two requests, and before the first. Default 60 s.
    duration idle = std::chrono::seconds(60);
    /// Age after which a connection is closed between two requests, plus up to a tenth at random so
    /// that not all come back at once. Default 1 h.
    duration lifetime = std::chrono::hours(1);
    /// Discarding the rest of a body, and lingering for the peer's end after the last answer.
    /// Default 1 s.
    duration linger = std::chrono::seconds(1);
    /// After `stop`, how long requests under way may take before they are cut. Default 30 s.
    duration drain = std::chrono::seconds(30);
    /// A request body slower than `body_rate` bytes/s is cut after this grace. Default 10 s.
    duration body_grace = std::chrono::seconds(10);
    /// Bytes a second, over the whole time of the body. Default 240; 0 switches it off.
    std::uint32_t body_rate = 240;
};

/// What an access log is told of one answer. The views live for the call.
struct access_record {
    const net::address& peer;
    const request& req;
    http::status status;
    std::uint64_t body_bytes;
    duration took;
    std::int64_t unix_time;  ///< seconds
};

/// Hears of every answer, on the thread of its loop: several at a time.
using access_log = void (*)(void* user, const access_record& record);

/// Counts since the start. Each is one number for the whole server, read without stopping it.
struct server_counters {
    std::uint64_t connections = 0;  ///< accepted
    std::uint64_t open = 0;         ///< connections now
    std::uint64_t requests = 0;
    std::uint64_t in_flight = 0;  ///< requests now in a handler that waits, or being written
    std::uint64_t responses_2xx = 0;
    std::uint64_t responses_3xx = 0;
    std::uint64_t responses_4xx = 0;
    std::uint64_t responses_5xx = 0;
    std::uint64_t handler_errors = 0;     ///< an exception left a handler: 500
    std::uint64_t clients_gone = 0;       ///< hung up while their request was being answered
    std::uint64_t malformed = 0;          ///< 400 and the like
    std::uint64_t head_too_large = 0;     ///< 431
    std::uint64_t target_too_long = 0;    ///< 414
    std::uint64_t chunk_abuse = 0;        ///< limits of the chunked coding
    std::uint64_t body_too_large = 0;     ///< 413
    std::uint64_t decoded_too_large = 0;  ///< 413: decompressed beyond its limit
    std::uint64_t decoded_ratio = 0;      ///< 413: compressed too far
    std::uint64_t undecodable = 0;        ///< 400: corrupt or cut short in its coding
    std::uint64_t head_timeouts = 0;      ///< 408
    std::uint64_t body_timeouts = 0;      ///< stalled
    std::uint64_t body_too_slow = 0;      ///< below `body_rate`
    std::uint64_t write_timeouts = 0;     ///< the peer did not read
    std::uint64_t idle_timeouts = 0;
    std::uint64_t retired = 0;  ///< connections closed at `limits.requests` or `timeouts.lifetime`
    std::uint64_t bodies_not_discarded = 0;  ///< connections closed because a body was left unread
    std::uint64_t pipeline_yields = 0;
    std::uint64_t accept_errors = 0;    ///< no descriptors or no memory
    std::uint64_t accept_paused = 0;    ///< at `connections`
    std::uint64_t cut_by_drain = 0;     ///< connections closed before their answer was out
    std::uint64_t tls_handshakes = 0;   ///< that succeeded
    std::uint64_t tls_resumptions = 0;  ///< of these, by a ticket
    std::uint64_t tls_failures = 0;
    std::uint64_t tls_timeouts = 0;    ///< handshakes beyond `handshake_limit`
    std::uint64_t proxy_failures = 0;  ///< no PROXY header, or a malformed one, from a proxy
};

struct server_options {
    /// "127.0.0.1:8080", "[::]:80", ":80", "unix:/path"; several are separated by commas. Port 0
    /// lets the system choose. "https://:443" and "http://:80" say which is which; without, it is
    /// https where `tls` is set.
    std::string listen = "127.0.0.1:8080";
    /// Certificates and settings of https; may be shared. Default: none.
    std::shared_ptr<tls::server_context> tls = {};
    /// Networks, separated by commas ("10.0.0.0/8,::1"), whose connections begin with a PROXY
    /// header that tells the client's address (HAProxy's protocol, versions 1 and 2); one without
    /// is closed. Default: none.
    std::string proxy_protocol_from = {};
    /// Default 0: a loop for each core.
    unsigned loops = 0;
    /// Pins each loop to a core. Default: not.
    bool pin = false;
    server_limits limits = {};
    server_timeouts timeouts = {};
    /// Sent as the Server field; default: none.
    std::string server_name = {};
    /// Default: nobody.
    logger* log = nullptr;
    access_log log_access = nullptr;
    void* log_access_user = nullptr;
    backend_kind backend = backend_kind::automatic;
};

/// An HTTP/1.1 server on the loops of a runtime (RFC 9110, RFC 9112). `stop` and `counters` may be
/// called from any thread, the rest from the one that made it.
class server {
public:
    /// Throws `exception` (invalid_argument) when `server_name` cannot be the value of a field.
    explicit server(handler h, server_options options = {});
    ~server();
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    /// Opens the listeners of one loop, or of every loop; the loops must not run yet, or this is
    /// the loop's own thread. Throws `exception` when an address cannot be had.
    void open(loop& on);
    void open(runtime& on);

    /// Where it listens, with the real ports.
    const std::vector<net::address>& addresses() const noexcept;
    /// The same, as "https://127.0.0.1:8443", "http://[::1]:8080" or "unix:/path".
    std::vector<std::string> urls() const;

    /// Serves on this loop, which must have been opened, until `stop` and the end of the drain.
    /// Cancelling it cuts all connections.
    operation<void> run(loop& on);

    /// Begins the drain: nothing is accepted any more, idle connections are closed, answers carry
    /// `Connection: close`; what is left after `timeouts.drain` is cut.
    void stop();

    server_counters counters() const noexcept;

private:
    struct core;
    std::unique_ptr<core> core_;
};

/// Serves until SIGINT or SIGTERM, then drains; a second signal cuts. With `tls`, certificates are
/// read again on SIGHUP and when their files change. `ready(server)` is called
/// once the listeners are open. Throws `exception` when an address cannot be had.
void serve(handler h, server_options options, unique_function<void(server&)> ready);

/// The same, and says on standard output where it listens.
void serve(handler h, server_options options = {});

}  // namespace coracle::http
