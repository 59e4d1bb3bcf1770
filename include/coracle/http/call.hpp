#pragma once

#include <coracle/http/client_options.hpp>
#include <coracle/http/form_body.hpp>
#include <coracle/http/full_response.hpp>
#include <coracle/http/json.hpp>
#include <coracle/http/response.hpp>
#include <coracle/runtime/background.hpp>
#include <coracle/runtime/detail/child.hpp>

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

/// Progress of a call: bytes of the two bodies so far, and their sizes where they are known.
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

/// The future of a call. coracle/http/launch.hpp has the definition for `std::future`.
template <class Future>
struct launching {
    static_assert(sizeof(Future*) == 0,
                  "launch() is defined in another header, which keeps <future> out of this one: "
                  "#include <coracle/http/launch.hpp>");
};

}  // namespace detail

/// A request of a client with its options. Awaiting it sends the request and returns the `response`
/// when its head has been received, or throws `exception`. Without coroutines, use `wait`, `launch`
/// or `start` from any thread; they read the body too. Lazy, move-only, for one use.
///
///     auto res = co_await client.get(url).query("q", "boats").timeout(5s);
///
/// A setter with an invalid argument does not throw: the call fails later with
/// `std::errc::invalid_argument` and a subject that names the fault.
///
/// Awaiting it resumes from the loop. An error has a phase (resolve, connect, proxy, tls, send,
/// first_byte, receive), the number of the attempt, the URL and the peer, and says whether a retry
/// is safe. Cancelling it closes its connection, or over HTTP/2 resets its stream alone.
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
    /// Sets a field, replacing those of the same name. Content-Length, Transfer-Encoding and
    /// Connection are set by the client, and ignored here, but for "Connection: close" (HTTP/1).
    call& header(std::string_view name, std::string_view value) &;
    call&& header(std::string_view name, std::string_view value) && {
        return std::move(header(name, value));
    }
    /// Sets a field whose value is a `coracle::secret`: "***" in logs, and never in the tables of
    /// HTTP/2 (`http::fields::never_index`).
    template <std::same_as<secret> S>
    call& header(std::string_view name, const S& value) & {
        header(name, value.reveal());
        return never_index(name);
    }
    template <std::same_as<secret> S>
    call&& header(std::string_view name, const S& value) && {
        return std::move(header(name, value));
    }
    /// Adds a field and keeps others of the same name.
    call& add_header(std::string_view name, std::string_view value) &;
    call&& add_header(std::string_view name, std::string_view value) && {
        return std::move(add_header(name, value));
    }
    /// Replaces all fields that were set.
    call& fields(http::fields all) &;
    call&& fields(http::fields all) && { return std::move(fields(std::move(all))); }
    /// Requests a switch to another protocol, such as "websocket": Upgrade over HTTP/1.1 (RFC 9110
    /// section 7.8), an extended CONNECT over HTTP/2 where the server offers that (RFC 8441). After
    /// a 101, or the 200 of HTTP/2, `response::detach` returns the connection or the stream. HTTP/2
    /// is used for GET only. An Upgrade field set with `header` always uses HTTP/1.1.
    call& upgrade(std::string_view protocol) &;
    call&& upgrade(std::string_view protocol) && { return std::move(upgrade(protocol)); }
    /// The body: bytes, a file, or a function that writes pieces (http::body). A body from a
    /// function can be sent only once: no redirect or retry repeats it.
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
    template <class T>
    call& json(T&&) & = delete;  // it has no json_codec: nlohmann-json's are in http/nlohmann.hpp
    template <class T>
    call& json(T&&) && = delete;  // it has no json_codec: nlohmann-json's are in http/nlohmann.hpp

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

    /// Limits the whole call, to the end of the body, in place of `client_options::total_timeout`;
    /// zero leaves that as it is.
    call& timeout(duration limit) &;
    call&& timeout(duration limit) && { return std::move(timeout(limit)); }
    call& follow(http::follow how, unsigned most = 5) &;
    call&& follow(http::follow how, unsigned most = 5) && { return std::move(follow(how, most)); }
    /// Retries the request up to `retries` times, where that is safe, until the head of a response
    /// has been received; a body that breaks off is not requested again. The client's budget
    /// (`retry_options::budget_percent`) does not apply.
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

    /// Calls `report` on the loop as bytes are sent and received; when it returns false the call
    /// ends with `std::errc::operation_canceled`.
    template <class F>
    call& on_progress(F&& report) & {
        CORACLE_REQUIRE_SAFE_IN_AWAIT(F);
        return set_progress(unique_function<bool(const progress&)>(std::forward<F>(report)));
    }
    template <class F>
    call&& on_progress(F&& report) && {
        return std::move(on_progress(std::forward<F>(report)));
    }

    /// Runs `f(interim)`, which gives a task, for each interim response but 101 (RFC 9110 section
    /// 15.2): 103 has the Link fields of Early Hints (RFC 8297), and `info()` the URL and the
    /// version of HTTP. The call goes on when the task has ended, and throws what it throws; its
    /// `timeout` holds meanwhile. What comes while the
    /// request is being sent is told afterwards, and not at all behind a response that `duplex` has
    /// begun.
    template <class F>
    call& on_interim(F&& f) & {
        CORACLE_REQUIRE_SAFE_IN_AWAIT(F);
        return set_interim(unique_function<task<>(const response&)>(std::forward<F>(f)));
    }
    template <class F>
    call&& on_interim(F&& f) && {
        return std::move(on_interim(std::forward<F>(f)));
    }

    /// Runs `f(earlier)`, which gives a task, for each response that the client acts on and does
    /// not return: a redirect that it follows, a challenge (401, 407) that it meets, a response
    /// after which it sends the request again. `info()` has the URL that responded; the body cannot
    /// be read. The call goes on when the task has ended, and throws what it throws; its `timeout`
    /// holds meanwhile.
    template <class F>
    call& on_earlier(F&& f) & {
        CORACLE_REQUIRE_SAFE_IN_AWAIT(F);
        return set_earlier(unique_function<task<>(const response&)>(std::forward<F>(f)));
    }
    template <class F>
    call&& on_earlier(F&& f) && {
        return std::move(on_earlier(std::forward<F>(f)));
    }

    /// Returns a second call with the same request, to be made later or at the same time. A body
    /// that a function writes cannot be sent twice: then the copy fails with
    /// `std::errc::operation_not_supported`. The functions of `on_progress`, `on_interim` and
    /// `on_earlier` are not copied.
    call copy() const;

    /// Makes the call and reads the whole body into memory. A named call must live until the
    /// operation has completed; of a temporary the operation takes ownership, and may be kept:
    /// `auto page = client.get(url).full();`.
    operation<full_response> full() &;
    operation<full_response> full() &&;

    /// Makes the call and runs `f(response)`, which gives a task, as soon as the head of the
    /// response has come, also while the body of the request is still being sent: for servers that
    /// respond while they read. `co_await` of a call reads the response only when the request is
    /// sent. Completes when `f` has ended and the request was sent, or throws what `f` throws.
    /// Sending ends early when `f` ends before the response does, when the server hangs up or
    /// resets the stream behind its response, and when it refuses the request (status 300 and
    /// more). `f` runs once, on the loop of the call, and is owned by the operation, as is the
    /// call; the response lives until both have ended. From the begin of `f` on nothing is sent
    /// again. Cancelling it cancels `f`, and closes the connection or resets the stream.
    ///
    ///     co_await client.post(url).body(http::body::stream(ask)).duplex(
    ///         [](http::response& r) { return print(r); });
    template <class F>
    operation<void> duplex(F&& f) && {
        CORACLE_REQUIRE_SAFE_IN_AWAIT(F);
        return std::move(*this).run_duplex(unique_function<task<>(response&)>(std::forward<F>(f)));
    }
    template <class F>
    operation<void> duplex(F&&) & = delete;  // it is made once: std::move(name).duplex(f)

    // Without coroutines, on the client's own loop. From any thread; starting never blocks. After
    // the client has been stopped or destroyed `wait` and `launch` throw `exception`
    // (errc::shutting_down).

    /// Blocks until the call has completed, and returns the response or throws `exception`. Not on
    /// the thread of a loop.
    full_response wait() &&;
    full_response wait() & = delete;  // it is made once: std::move(name).wait()
    /// Returns a future of the result of `wait`. A foreign exception arrives as an `exception` with
    /// `std::errc::state_not_recoverable`. Defined in coracle/http/launch.hpp, which must be
    /// included and keeps <future> out of this header.
    template <class Future = std::future<full_response>>
    auto launch() && {
        return detail::launching<Future>::begin(std::move(*this));
    }
    template <class Future = std::future<full_response>>
    void launch() & = delete;  // it is made once: std::move(name).launch()
    /// Calls `callback` once, with the response or the error. When more calls are under way than
    /// the client's loop takes (`background_options::active`, and at least `pool_options::waiting`
    /// with `connections`), or the client has been stopped, it is called on this thread, before
    /// `start` returns.
    background_call start(unique_function<void(std::expected<full_response, error>)> callback,
                          callback_on where = callback_on::callback_thread) &&;
    /// Starts the call without a callback; only the handle shows when it ends.
    background_call start() &&;
    template <class... F>
    background_call start(F&&...) & = delete;  // it is made once: std::move(name).start()

    // The interface of an operation.
    void give_errors() noexcept { gives_errors_ = true; }
    bool await_ready() { return begin().await_ready(); }
    template <coracle::detail::task_promise P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) noexcept {
        return running_->await_suspend(h);
    }
    response await_resume() { return running_->await_resume(); }
    result_type outcome() { return running_->outcome(); }

    /// The loop that `wait`, `launch` and `start` use. It ends with the client. Throws `exception`
    /// (errc::shutting_down) as they do.
    std::shared_ptr<background> own_loop() const;

    /// For the client.
    explicit call(detail::owned_call state) noexcept;

private:
    operation<response>& begin();
    client_options& own_options();
    call& never_index(std::string_view name);
    call& set_options(client_options all);
    operation<void> run_duplex(unique_function<task<>(response&)> f) &&;
    call& set_progress(unique_function<bool(const progress&)> report);
    call& set_interim(unique_function<task<>(const response&)> f);
    call& set_earlier(unique_function<task<>(const response&)> f);

    detail::owned_call state_;
    std::optional<operation<response>> running_;
    bool gives_errors_ = false;
};

}  // namespace coracle::http
