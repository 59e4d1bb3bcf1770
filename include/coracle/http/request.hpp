#pragma once

#include <coracle/base/detail/typed_slots.hpp>
#include <coracle/base/url.hpp>
#include <coracle/http/body.hpp>
#include <coracle/http/connection_info.hpp>
#include <coracle/http/fields.hpp>
#include <coracle/http/method.hpp>
#include <coracle/http/status.hpp>
#include <coracle/http/version.hpp>
#include <coracle/net/address.hpp>

#include <charconv>
#include <concepts>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::http {

/// Thrown by a handler, it becomes the response: a status and a sentence.
class status_error : public std::exception {
public:
    explicit status_error(http::status code, std::string text = {})
        : code_(code), text_(std::move(text)) {}
    http::status code() const noexcept { return code_; }
    const char* what() const noexcept override { return text_.c_str(); }

private:
    http::status code_;
    std::string text_;
};

/// Errors whose value is a status code: 413 for a body beyond its limit.
const std::error_category& status_category() noexcept;
inline std::error_code make_error_code(status code) noexcept {
    return {static_cast<int>(code), status_category()};
}

class request;
class response;

namespace detail {

class error_style;

/// The part of a request that only its sender has.
class outgoing_request {
public:
    virtual void set_method(request& of, std::string_view method) = 0;
    virtual void set_url(request& of, std::string_view url) = 0;
    virtual const body& content() const noexcept = 0;
    virtual void set_content(request& of, body content, std::string_view type) = 0;

protected:
    ~outgoing_request() = default;
};

struct exchange_scope;

/// The services of the server for a request that it received; each protocol has its own.
class exchange_control {
public:
    virtual task<std::expected<void, error>> send_interim(const response& interim) = 0;
    /// A handler failed for this reason, which is a sentence for the log.
    virtual void report_failure(std::string_view reason, bool out_of_memory) = 0;
    /// The tasks that may go on beside the handler; null where it may have none.
    virtual exchange_scope* scope() noexcept { return nullptr; }
    /// Null for one that a server received.
    virtual outgoing_request* outgoing() noexcept { return nullptr; }

protected:
    ~exchange_control() = default;
};

/// The routes that a request was matched against, kept alive as long as the request needs them. It
/// belongs to the thread of its requests, which alone counts them.
struct pin {
    std::size_t holders = 0;
    bool retired = false;  ///< the last holder disposes of it
    void (*dispose)(pin*) noexcept = nullptr;

    void release() noexcept {
        if (--holders == 0 && retired) dispose(this);
    }
};

}  // namespace detail

/// A request. One that a server received lives until the body of its response has been written, and
/// the views that it gives live as long.
class request {
public:
    request() = default;
    request(const request&) = delete;
    request& operator=(const request&) = delete;
    ~request() {
        // It may refer to what belongs to the routes.
        if (!data_.empty()) data_.clear();
        if (first_pin_ != nullptr) release_pins();
    }

    http::method method() const noexcept { return method_; }
    std::string_view method_text() const noexcept { return method_text_; }
    /// The target as received, for logs.
    std::string_view target() const noexcept { return target_; }
    /// The path in its one canonical form, on which routing and every check must rely: decoded
    /// once, without dot segments. An encoded slash stays "%2F". "*" for `OPTIONS *`.
    std::string_view path() const noexcept { return path_; }
    /// The query: the text after "?", still encoded.
    std::string_view query_text() const noexcept { return query_; }
    /// host[:port], from the target or the Host field; empty when a client of HTTP/1.0 gave none.
    std::string_view host() const noexcept { return host_; }
    http::version version() const noexcept { return version_; }
    /// The pattern of the route that a router found for it, such as "/users/{id}"; of nested
    /// routers that of the innermost. Empty where no route was found, or none was looked for.
    std::string_view route() const noexcept { return route_; }

    const http::fields& fields() const noexcept { return fields_; }
    http::fields& fields() noexcept { return fields_; }
    std::string_view header(std::string_view name) const noexcept { return fields_.get(name); }
    std::string_view header(field_id id) const noexcept { return fields_.get(id); }

    /// The part of the path that `{name}` or `{*name}` of the route matched, decoded; empty when
    /// the route has none of that name. "%2F" in it is a slash that the client sent encoded (or
    /// "%252F": the two are one path here). It belongs to the value and separates nothing.
    std::string_view param(std::string_view name) const noexcept;
    /// Returns the parameter as a number: throws `status_error` (400) when it is none, or too
    /// large.
    template <std::integral T>
    T param(std::string_view name) const {
        return number<T>(param(name), name);
    }

    /// The first query parameter of this name, decoded ("+" is a space).
    std::optional<std::string> query(std::string_view name) const;
    /// Returns the query parameter as a number, or `otherwise` when it is missing: throws
    /// `status_error` (400) when it is no number, or too large.
    template <std::integral T>
    T query(std::string_view name, T otherwise = {}) const {
        const auto text = query(name);
        return text ? number<T>(*text, name) : otherwise;
    }

    /// The value of the first cookie of this name (RFC 6265 section 5.4): without the quotes that
    /// may stand around it, else as the client sent it. Nameless cookies are passed over.
    std::optional<std::string_view> cookie(std::string_view name) const noexcept;

    received_body& body() noexcept { return body_; }
    /// The trailer fields: `received_body::trailers`.
    const http::fields& trailers() const noexcept { return body_.trailers(); }

    /// Sends an interim response (RFC 9110 section 15.2) before the response of a coroutine
    /// handler: 103 (Early Hints, RFC 8297) with its Link fields, 102, 100. A body is not sent.
    /// `interim` must live until this has completed: give it a name. Completes when it has been
    /// handed to the system; at once, with nothing sent, for a client of HTTP/1.0. Fails with
    /// `invalid_argument` for other statuses and 101, with `operation_not_supported` where it is
    /// too late (the body of the response is being written) or the handler is no coroutine, and
    /// when the client is gone. Not while the body of the request is being read.
    operation<void> inform(const response& interim) { return send_interim(this, &interim); }

    // These are for the interceptors of a client, of a request that it is about to make. A change
    // holds for the `next` that follows, redirects and retries included. On a request that a server
    // received they throw `exception` (operation_not_supported).

    /// Replaces the method. Throws `exception` (invalid_argument) when it is no token, or CONNECT.
    request& set_method(std::string_view method);
    /// Replaces the URL by an absolute one, of which `target`, `path`, `query_text` and `host` tell
    /// from then on. Throws what `url::parse` fails with.
    request& set_url(std::string_view url);
    /// Returns the body that is to be sent, empty when there is none. One in memory can be read by
    /// `body`, too. Valid until it is replaced.
    const http::body& content() const;
    /// Replaces the body, and its media type.
    request& set_content(http::body content, std::string_view type = "application/octet-stream");

    /// The address of the sender: the other end of the connection.
    const net::address& peer() const noexcept { return *peer_; }
    /// The state that the requests of its connection share. Only for requests that a server
    /// received.
    connection_info& connection() noexcept { return *connection_; }
    bool has_connection() const noexcept { return connection_ != nullptr; }
    /// The parameters of TLS and the client's certificate; null without TLS.
    const tls::session_info* tls() const noexcept {
        return connection_ == nullptr ? nullptr : connection_->tls();
    }
    /// "https" or "http": the scheme of the connection to this server. After a proxy,
    /// `client_scheme` knows more.
    std::string_view scheme() const noexcept { return tls() == nullptr ? "http" : "https"; }
    /// The client as given by trusted proxies (`http::trust_proxies`); else the peer.
    const net::address& client() const noexcept;

    /// The value of this type that was stored for the request, by a middleware say; null when there
    /// is none. It lives as long as the request.
    template <class T>
    T* data() noexcept {
        return data_.find<T>();
    }
    template <class T>
    const T* data() const noexcept {
        return data_.find<T>();
    }
    /// Leaves a value under its type, in place of the one that was there, which is destroyed.
    template <class T>
    std::decay_t<T>& set_data(T&& value) {
        return data_.emplace<std::decay_t<T>>(memory(), std::forward<T>(value));
    }
    template <class T, class... Args>
    T& emplace_data(Args&&... args) {
        return data_.emplace<T>(memory(), std::forward<Args>(args)...);
    }

    /// The parts that a request is made of, for the codecs, the router and tests.
    struct parts;
    void assign(const parts& p) noexcept;
    /// Notes a change of a request on its way out.
    void assign_method(http::method method, std::string_view text) noexcept {
        method_ = method;
        method_text_ = text;
    }
    void assign_target(std::string_view target, const url& parsed) noexcept;
    /// Returns the parameter as `param` does, and null when the route has none of that name.
    const std::string_view* find_param(std::string_view name) const noexcept;
    void add_param(std::string_view name, std::string_view value) {
        if (param_count_ < few_params)
            few_params_[param_count_++] = {name, value};
        else
            add_further_param(name, value);
    }
    /// Adds a parameter beside those of an outer route, and replaces one of that name. Returns
    /// false if there is no room.
    bool put_param(std::string_view name, std::string_view value);
    void set_route(std::string_view pattern) noexcept { route_ = pattern; }
    void clear_params(std::size_t keep = 0) noexcept {
        param_count_ = static_cast<std::uint32_t>(keep);
    }
    std::size_t param_count() const noexcept { return param_count_; }
    /// Keeps `p` until the request is cleared or destroyed, on the same thread.
    void hold(detail::pin& p) {
        if (first_pin_ == nullptr) {
            first_pin_ = &p;
            ++p.holders;
        } else if (first_pin_ != &p) {
            hold_another(p);
        }
    }
    void set_body(received_body b) noexcept { body_ = b; }
    /// The services of its server; null where none received it.
    detail::exchange_control* exchange() const noexcept { return exchange_; }
    /// Sets the style in which its router shows errors; null: the default.
    void set_error_style(const detail::error_style* s) noexcept { error_style_ = s; }
    const detail::error_style* error_style() const noexcept { return error_style_; }
    /// Forgets everything and keeps its memory for the next.
    void clear() noexcept;
    arena& memory() noexcept { return fields_.memory(); }

    /// Route parameters of one request; a pattern has no more.
    static constexpr std::size_t most_params = 16;

private:
    struct further_pin {
        detail::pin* what;
        further_pin* next;
    };
    void hold_another(detail::pin& p);
    void release_pins() noexcept {
        if (further_pins_ != nullptr) release_further_pins();
        std::exchange(first_pin_, nullptr)->release();
    }
    void release_further_pins() noexcept;
    [[noreturn]] static void bad_number(std::string_view name);
    static task<std::expected<void, error>> send_interim(request* req, const response* interim);
    detail::outgoing_request& outgoing(const char* operation) const;

    template <class T>
    static T number(std::string_view text, std::string_view name) {
        T value{};
        const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (failure != std::errc() || end != text.data() + text.size()) bad_number(name);
        return value;
    }

    struct parameter {
        std::string_view name;
        std::string_view value;
    };
    /// Routes have few parameters, and a request that waits should be small: the others are in
    /// `memory()`.
    static constexpr std::size_t few_params = 4;
    void add_further_param(std::string_view name, std::string_view value);
    parameter& param_at(std::size_t i) noexcept {
        return i < few_params ? few_params_[i] : further_params_[i - few_params];
    }
    const parameter& param_at(std::size_t i) const noexcept {
        return i < few_params ? few_params_[i] : further_params_[i - few_params];
    }

    http::method method_ = http::method::get;
    http::version version_ = http::version::http_1_1;
    std::string_view method_text_;
    std::string_view target_;
    std::string_view path_;
    std::string_view query_;
    std::string_view host_;
    std::string_view route_;
    http::fields fields_;
    /// After the fields, whose memory its values live in: they are destroyed first.
    typed_slots data_;
    received_body body_;
    const net::address* peer_ = nullptr;
    connection_info* connection_ = nullptr;
    detail::exchange_control* exchange_ = nullptr;
    const detail::error_style* error_style_ = nullptr;
    detail::pin* first_pin_ = nullptr;
    further_pin* further_pins_ = nullptr;  ///< in `memory()`, the last one first
    std::uint32_t param_count_ = 0;
    parameter few_params_[few_params];
    parameter* further_params_ = nullptr;  ///< room for all others; null: none was needed yet
};

/// The texts are copied into the request's memory with `memory`, or live as long.
struct request::parts {
    http::method method = http::method::get;
    http::version version = http::version::http_1_1;
    std::string_view method_text;
    std::string_view target;
    std::string_view path;
    std::string_view query;
    std::string_view host;
    const net::address* peer = nullptr;
    connection_info* connection = nullptr;
    detail::exchange_control* exchange = nullptr;
};

inline void request::clear() noexcept {
    // The members that `assign` sets for the next request may stand until then.
    param_count_ = 0;
    further_params_ = nullptr;
    if (!data_.empty()) data_.clear();
    if (first_pin_ != nullptr) release_pins();
    fields_.clear();
    body_ = received_body();
}

inline void request::assign(const parts& p) noexcept {
    method_ = p.method;
    version_ = p.version;
    method_text_ = p.method_text;
    target_ = p.target;
    path_ = p.path;
    query_ = p.query;
    host_ = p.host;
    peer_ = p.peer;
    connection_ = p.connection;
    exchange_ = p.exchange;
    error_style_ = nullptr;
    route_ = {};
    param_count_ = 0;
}

}  // namespace coracle::http
