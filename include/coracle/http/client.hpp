#pragma once

#include <coracle/http/call.hpp>
#include <coracle/http/call_observer.hpp>
#include <coracle/http/handler.hpp>
#include <coracle/runtime/background.hpp>

#include <memory>
#include <string_view>

namespace coracle::http {

namespace detail {
class client_core;
}

/// Counters of a client's HTTP/2 connections. A counter named like a limit of `h2_limits` counts
/// how often servers exceeded that limit.
struct client_h2_statistics {
    std::uint64_t connections = 0;  ///< opened, also counted in `client_statistics::opened`
    std::uint64_t coalesced = 0;    ///< requests sent over a connection to another origin
    std::uint64_t goaways = 0;      ///< connections that servers announced to end
    std::uint64_t silent = 0;       ///< lost because a PING had no response
    std::uint64_t head = 0;
    std::uint64_t continuations = 0;
    std::uint64_t resets = 0;
    std::uint64_t pings = 0;
    std::uint64_t settings = 0;
    std::uint64_t idle_frames = 0;
    std::uint64_t empty_data = 0;
    std::uint64_t small_data = 0;
    std::uint64_t queued_control = 0;
    std::uint64_t interim_responses = 0;
};

/// Counters and gauges of a client, summed over all loops that use it.
struct client_statistics {
    std::uint64_t calls = 0;   ///< calls begun
    std::uint64_t failed = 0;  ///< calls that ended with an error
    std::size_t active = 0;    ///< calls under way on its own loop
    std::size_t peak = 0;      ///< the highest value of `active`
    std::uint64_t retries = 0;
    std::uint64_t retries_held_back = 0;  ///< by `retry_options::budget_percent`
    std::uint64_t redirects = 0;
    std::uint64_t opened = 0;     ///< connections opened
    std::uint64_t reused = 0;     ///< times that a connection carried another request
    std::size_t connections = 0;  ///< connections open now
    std::size_t idle = 0;         ///< open connections without a request
    std::size_t waiting = 0;      ///< calls that wait for a connection
    std::uint64_t failed_callbacks = 0;
    client_h2_statistics h2 = {};
};

/// Makes requests. A client may be used by any number of loops and threads at once; each loop that
/// uses it has its own connections and resolver. For calls without coroutines it runs a loop of its
/// own.
///
///     http::client client;
///     auto res = co_await client.get("https://example.com/");
///     std::cout << co_await res.text();
///
/// Destroying it closes idle connections. Calls under way on other loops run to their end, those on
/// the client's own loop end as `stop` says.
class client {
public:
    explicit client(client_options o = {}, pool_options p = {}, background_options b = {});
    ~client();
    client(const client&) = delete;
    client& operator=(const client&) = delete;

    call get(std::string_view url) { return request("GET", url); }
    call head(std::string_view url) { return request("HEAD", url); }
    call post(std::string_view url) { return request("POST", url); }
    call put(std::string_view url) { return request("PUT", url); }
    call patch(std::string_view url) { return request("PATCH", url); }
    call del(std::string_view url) { return request("DELETE", url); }
    call options(std::string_view url) { return request("OPTIONS", url); }
    /// CONNECT (RFC 9110 section 9.3.6): requests a tunnel to `target`, "host:port", from the
    /// server at `url`. After a 2xx `response::detach` returns the tunnel. (To reach an origin
    /// through a proxy, set `client_options::proxy` instead.)
    call connect(std::string_view url, std::string_view target);
    /// Any other method, spelled as it is sent.
    call request(std::string_view method, std::string_view url);

    /// The options of calls that begin from now on, including calls that were started before and
    /// still wait for a connection. From any thread at any time.
    client_options defaults() const;
    void set_defaults(client_options o);
    /// Changes them as text, as `read_options` reads it. Throws `exception`.
    void set_defaults(std::string_view text);

    /// Puts an interceptor around each call, of the same shape as a server's middleware:
    /// `task<response> f(request&, const handler& next)`. The first one is the outermost. It may
    /// also return a response of its own, with a body in memory. Call it before the first request.
    template <class F>
        requires(wraps_handlers<F> || intercepts_requests<F>)
    client& use(F interceptor) {
        intercept([f = std::move(interceptor)](handler inner) {
            return detail::put_around(f, std::move(inner));
        });
        return *this;
    }

    /// Adds an observer of calls, such as `client_metrics`, by its member `observe(const
    /// call_record&)`. It is notified of each call that has begun once, when its body has ended
    /// or it has failed; a copy that `hedge_after` makes counts as a call. It must outlive the
    /// client and the responses. What it throws is dropped. Call it before the first request.
    template <class T>
    client& observe(T& observer) {
        add_observer(
            {[](void* self, const call_record& record) { static_cast<T*>(self)->observe(record); },
             &observer});
        return *this;
    }

    /// From any thread.
    client_statistics statistics() const;

    /// The client's cookie jar; safe from any thread.
    cookie_jar& cookies() noexcept;
    /// Uses a jar that other clients may share. Call it before the first request.
    client& share_cookies(std::shared_ptr<cookie_jar> jar);

    /// Accepts no more calls for its own loop, waits at most `limit` for those under way there, and
    /// cancels the rest; returns true when it cancelled any. Not in a callback. The destructor does
    /// the same with `background_options::drain`.
    bool stop(duration limit = std::chrono::seconds(30));

    /// For libraries that are built upon the client.
    const std::shared_ptr<detail::client_core>& core() const noexcept { return core_; }

private:
    void intercept(unique_function<handler(handler)> around);
    void add_observer(call_observer o);

    std::shared_ptr<detail::client_core> core_;
};

}  // namespace coracle::http
