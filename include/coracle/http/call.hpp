#pragma once

#include <coracle/http/client_options.hpp>
#include <coracle/http/form_body.hpp>
#include <coracle/http/full_response.hpp>
#include <coracle/http/json.hpp>
#include <coracle/http/response.hpp>
#include <coracle/runtime/background.hpp>
#include <coracle/runtime/child.hpp>

#include <concepts>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace std {
template <class T>
class future;
}

namespace coracle::http {

/// How far a call has come: bytes of the two bodies, and their sizes where they are known.
struct progress {
    std::uint64_t sent = 0;
    std::optional<std::uint64_t> to_send;
    std::uint64_t received = 0;
    std::optional<std::uint64_t> to_receive;
};

namespace detail {

struct call_state;
struct call_state_deleter {
    void operator()(call_state* s) const noexcept;
};
using owned_call = std::unique_ptr<call_state, call_state_deleter>;

}  // namespace detail

/// A request that a client is to make, and how: awaited, it is sent, and gives the `response` when
/// its head is there; or throws `exception`. Or, without coroutines, `wait`, `launch` or `start` it
/// from any thread; then the body is read too. Lazy and move-only; once.
///
///     auto res = co_await client.get(url).query("q", "boats").timeout(5s);
///
/// A setter that cannot do what it is told does not throw: the call fails with
/// `std::errc::invalid_argument`, which says what was wrong.
///
/// Awaiting it resumes from the loop. Fails with a phase (resolve, connect, proxy, tls, send,
/// first_byte, receive), the number of the attempt, the URL and the peer, and whether it is safe to
/// retry. Cancelling it closes its connection.
class [[nodiscard]] call {
public:
    using result_type = std::expected<response, error>;

    call(call&&) noexcept;
    call& operator=(call&&) noexcept;
    ~call();

    /// Appends a parameter to the query, encoded.
    call& query(std::string_view name, std::string_view value) &;
    call&& query(std::string_view name, std::string_view value) && {
        return std::move(query(name, value));
    }
    /// Sets a field, in place of those of its name. Content-Length, Transfer-Encoding and
    /// Connection are the client's business, and ignored.
    call& header(std::string_view name, std::string_view value) &;
    call&& header(std::string_view name, std::string_view value) && {
        return std::move(header(name, value));
    }
    /// Adds a field besides those of its name.
    call& add_header(std::string_view name, std::string_view value) &;
    call&& add_header(std::string_view name, std::string_view value) && {
        return std::move(add_header(name, value));
    }
    /// All fields at once, in place of those that were set.
    call& fields(http::fields all) &;
    call&& fields(http::fields all) && { return std::move(fields(std::move(all))); }
    /// The body: bytes, a file, or a function that writes pieces (http::body). One that is not in
    /// memory or a file is sent once: no redirect or retry can repeat it.
    call& body(http::body content, std::string_view type = "application/octet-stream") &;
    call&& body(http::body content, std::string_view type = "application/octet-stream") && {
        return std::move(body(std::move(content), type));
    }
    /// The content of a file, opened now.
    call& body_file(const std::string& path, std::string_view type = "application/octet-stream") &;
    call&& body_file(const std::string& path,
                     std::string_view type = "application/octet-stream") && {
        return std::move(body_file(path, type));
    }
    /// Adds a pair to a body of application/x-www-form-urlencoded.
    call& form(std::string_view name, std::string_view value) &;
    call&& form(std::string_view name, std::string_view value) && {
        return std::move(form(name, value));
    }
    /// A body of multipart/form-data and its like: see `form_body`.
    call& multipart(form_body parts) &;
    call&& multipart(form_body parts) && { return std::move(multipart(std::move(parts))); }
    /// A body of JSON, by `json_codec`.
    template <class T>
        requires encodes_json<std::remove_cvref_t<T>>
    call& json(T&& value) & {
        CORACLE_REQUIRE_SAFE_VALUE_IN_AWAIT(T);
        using codec = json_codec<std::remove_cvref_t<T>>;
        return body(http::body(std::string(codec::encode(value))), "application/json");
    }
    template <class T>
        requires encodes_json<std::remove_cvref_t<T>>
    call&& json(T&& value) && {
        return std::move(json(std::forward<T>(value)));
    }

    /// Authentication for this request (RFC 6750, RFC 7617, RFC 7616).
    call& bearer(secret token) &;
    call&& bearer(secret token) && { return std::move(bearer(std::move(token))); }
    call& basic(std::string user, secret password) &;
    call&& basic(std::string user, secret password) && {
        return std::move(basic(std::move(user), std::move(password)));
    }
    call& digest(std::string user, secret password) &;
    call&& digest(std::string user, secret password) && {
        return std::move(digest(std::move(user), std::move(password)));
    }

    /// For the whole, to the end of the body, in place of `client_options::total_timeout`; zero
    /// leaves that as it is.
    call& timeout(duration limit) &;
    call&& timeout(duration limit) && { return std::move(timeout(limit)); }
    call& follow(http::follow how, unsigned most = 5) &;
    call&& follow(http::follow how, unsigned most = 5) && { return std::move(follow(how, most)); }
    /// Until the head of an answer is there; a body that breaks off is not asked for again.
    call& retry(unsigned retries, duration delay = std::chrono::milliseconds(100)) &;
    call&& retry(unsigned retries, duration delay = std::chrono::milliseconds(100)) && {
        return std::move(retry(retries, delay));
    }
    /// All options, in place of those of the client; to change some, begin with
    /// `client::defaults()`.
    template <class O>
        requires std::same_as<std::remove_cvref_t<O>, client_options>
    call& options(O&& all) & {
        return set_options(std::forward<O>(all));
    }
    template <class O>
        requires std::same_as<std::remove_cvref_t<O>, client_options>
    call&& options(O&& all) && {
        CORACLE_REQUIRE_SAFE_VALUE_IN_AWAIT(O);
        return std::move(set_options(std::forward<O>(all)));
    }
    /// Changes options as text, as `read_options` reads it: "follow_location=1, timeout=5000".
    call& options(std::string_view text) &;
    call&& options(std::string_view text) && { return std::move(options(text)); }

    /// Calls `tell` as bytes move, on the loop; when it gives false the call ends with
    /// `std::errc::operation_canceled`.
    template <class F>
    call& on_progress(F&& tell) & {
        CORACLE_REQUIRE_SAFE_IN_AWAIT(F);
        return set_progress(unique_function<bool(const progress&)>(std::forward<F>(tell)));
    }
    template <class F>
    call&& on_progress(F&& tell) && {
        return std::move(on_progress(std::forward<F>(tell)));
    }

    /// The same request once more, to be sent later or besides this one. A body that a function
    /// writes cannot be had twice: then the copy fails, with `std::errc::operation_not_supported`.
    /// What `on_progress` was given stays with this one.
    call copy() const;

    /// Reads the body too, and gives all of it at once. The call must live until it has completed:
    /// `co_await client.get(url).full()`.
    operation<full_response> full() &;
    operation<full_response> full() && { return full(); }

    // Without coroutines, on the loop of the client's own. From any thread; starting never waits.
    // Once the client has been stopped or is gone `wait` and `launch` throw `exception`
    // (errc::shutting_down).

    /// Blocks until it has completed, and gives the answer or throws `exception`. Not on the thread
    /// of a loop.
    full_response wait() &&;
    /// The future has what `wait` gives or throws; what is no `exception` of ours comes as one,
    /// with `std::errc::state_not_recoverable`. Defined in coracle/http/launch.hpp, which has to be
    /// included, and keeps <future> out of here.
    template <class Future = std::future<full_response>>
    Future launch() &&;
    /// Calls `callback` with what came of it, once; on this thread, before it returns, when more
    /// calls wait than `pool_options::waiting`, or the client has been stopped.
    background_call start(unique_function<void(std::expected<full_response, error>)> callback,
                          callback_on where = callback_on::callback_thread) &&;
    /// Detached: nobody hears of its end, unless by the handle.
    background_call start() &&;

    // As an operation.
    void give_errors() noexcept { gives_errors_ = true; }
    bool await_ready() { return begin().await_ready(); }
    template <coracle::detail::task_promise P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) noexcept {
        return running_->await_suspend(h);
    }
    response await_resume() { return running_->await_resume(); }
    result_type outcome() { return running_->outcome(); }

    /// Whose loop `wait`, `launch` and `start` use. It has ended when the client has. Throws
    /// `exception` (errc::shutting_down) as they do.
    std::shared_ptr<background> own_loop() const;

    /// For the client.
    explicit call(detail::owned_call state) noexcept;

private:
    operation<response>& begin();
    client_options& own_options();
    call& set_options(client_options all);
    call& set_progress(unique_function<bool(const progress&)> tell);

    detail::owned_call state_;
    std::optional<operation<response>> running_;
    bool gives_errors_ = false;
};

}  // namespace coracle::http
