#pragma once

#include <coracle/http/call.hpp>
#include <coracle/http/handler.hpp>
#include <coracle/runtime/background.hpp>

#include <memory>
#include <string_view>

namespace coracle::http {

namespace detail {
class client_core;
}

/// What a client did on the loops that it is used on, and does now.
struct client_statistics {
    std::uint64_t calls = 0;   ///< begun
    std::uint64_t failed = 0;  ///< of these, ended in an error
    std::size_t active = 0;    ///< under way on its own loop
    std::size_t peak = 0;      ///< most at a time
    std::uint64_t retries = 0;
    std::uint64_t redirects = 0;
    std::uint64_t opened = 0;     ///< connections
    std::uint64_t reused = 0;     ///< times that a connection carried another request
    std::size_t connections = 0;  ///< open now
    std::size_t idle = 0;         ///< of these, without a request
    std::size_t waiting = 0;      ///< calls that wait for a connection
    std::uint64_t failed_callbacks = 0;
};

/// Makes requests. Its connections, its resolver and what it remembers belong to each loop that
/// uses it; a client may be used by any number of loops and threads at once. Without coroutines it
/// has a loop of its own.
///
///     http::client client;
///     auto res = co_await client.get("https://example.com/");
///     std::cout << co_await res.text();
///
/// Destroying it closes what is idle; calls under way on loops end of themselves, those on the
/// client's own loop as `stop` says.
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
    /// CONNECT (RFC 9110 section 9.3.6): asks the server at `url` for a tunnel to `target`,
    /// "host:port". Behind a 2xx the tunnel is `response::detach`. (To reach an origin through a
    /// proxy, set `client_options::proxy` instead.)
    call connect(std::string_view url, std::string_view target);
    /// Any other method, as it is spelled.
    call request(std::string_view method, std::string_view url);

    /// What calls that begin from now on begin with: also those that were started before, and wait
    /// for their turn. From any thread at any time.
    client_options defaults() const;
    void set_defaults(client_options o);
    /// Changes them as text, as `read_options` reads it. Throws `exception`.
    void set_defaults(std::string_view text);

    /// Puts an interceptor around each call, of the same shape as a server's middleware:
    /// `task<response> f(request&, const handler& next)`. The first one is the outermost. The
    /// caller reads the body that it gives in memory, too. Before the first call.
    template <class F>
        requires(wraps_handlers<F> || intercepts_requests<F>)
    client& use(F interceptor) {
        intercept(
            [f = std::move(interceptor)](handler inner) { return wrap(f, std::move(inner)); });
        return *this;
    }

    /// From any thread.
    client_statistics statistics() const;

    /// The cookies that it keeps; safe from any thread.
    cookie_jar& cookies() noexcept;
    /// Shares a jar with other clients. Before the first call.
    client& share_cookies(std::shared_ptr<cookie_jar> jar);

    /// Takes no more calls for its own loop, waits for those under way there for `limit` at most,
    /// and cancels the rest: true when it had to. Not in a callback. The destructor does the same
    /// with `background_options::drain`.
    bool stop(duration limit = std::chrono::seconds(30));

    /// For what is built upon it.
    const std::shared_ptr<detail::client_core>& core() const noexcept { return core_; }

private:
    void intercept(unique_function<handler(handler)> around);

    std::shared_ptr<detail::client_core> core_;
};

}  // namespace coracle::http
