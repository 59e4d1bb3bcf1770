#pragma once

#include <coracle/http/cookie.hpp>
#include <coracle/http/handler.hpp>
#include <coracle/http/json.hpp>
#include <coracle/http/middleware/session_store.hpp>

#include <charconv>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::http {

/// The fate of a request while the store of the sessions fails.
enum class store_failure : std::uint8_t {
    refuse,  ///< it gets 503 with Retry-After
    ignore,  ///< it is served with an empty session, of which nothing is kept
};

struct session_options {
    /// Default: a `memory_session_store` of its own.
    std::shared_ptr<session_store> store = {};
    /// A session ends when it was not used for this long, in whole seconds. Default 30 min.
    std::chrono::seconds idle = std::chrono::minutes(30);
    /// A session ends this long after it was made, or after its user logged in, however it is used,
    /// in whole seconds. Default 12 h.
    std::chrono::seconds lifetime = std::chrono::hours(12);
    /// The name of the cookie. Default "__Host-session", which browsers let no other host set;
    /// "session" where `secure` is off, or `path` is not "/".
    std::string cookie = {};
    std::string path = "/";
    /// Lets browsers send the cookie over TLS, and to localhost, only. Default: yes.
    bool secure = true;
    http::same_site same_site = http::same_site::lax;
    /// Lets browsers keep the cookie when they are closed, for `lifetime`. Default: no.
    bool persistent = false;
    /// Bytes that one session may hold, keys included. Default 16 KiB.
    std::size_t longest = 16 * 1024;
    store_failure on_failure = store_failure::refuse;
};

/// The session of a request: values under names, which `sessions` loads before the handler and
/// saves after it, where they were changed. Without a value and a user nothing is stored, and the
/// client gets no cookie. Where two requests of one session change it at the same time, the last
/// one to end wins; where both give it a new id (`renew`), the first one does. Belongs to its
/// request.
class session {
public:
    /// The session of a request; throws `exception` (invalid_argument) where no `sessions` stands
    /// around the handler.
    static session& of(request& req);
    /// The session of a request, or null.
    static session* find(request& req) noexcept { return req.data<session>(); }

    /// Returns true until the session has been stored, by an earlier request.
    bool is_new() const noexcept { return loaded_key_.empty(); }
    /// Returns false where the store failed and the request is served all the same
    /// (`store_failure::ignore`): nothing of this session is kept.
    bool is_kept() const noexcept { return kept_; }

    /// The bytes under a name, or nothing. Valid until the session is changed.
    std::optional<std::string_view> bytes(std::string_view name) const noexcept;
    /// Puts bytes under a name. Throws `exception` (`errc::limit_exceeded`) where the session would
    /// exceed `session_options::longest`; it is unchanged then.
    void set_bytes(std::string_view name, std::string_view value);

    /// The value under a name: an integer, a bool, a string, or a type with a `json_codec`. Nothing
    /// where there is none, or what is there is of another kind.
    template <class T>
    std::optional<T> get(std::string_view name) const;
    /// Puts a value under a name; throws as `set_bytes`.
    template <class T>
    void set(std::string_view name, const T& value);

    void erase(std::string_view name) noexcept;

    /// The user that logged in; empty where none did.
    std::string_view user() const noexcept { return user_; }
    /// Notes the user, who from the next request on is in `req.data<identity>()` too. The session
    /// gets a new id and begins its lifetime anew: an id that someone planted before is worth
    /// nothing (session fixation), nor are the tokens of `csrf` that were made before. The values
    /// of another user who was logged in are forgotten; those of a session without one stay. Throws
    /// as `set_bytes`.
    void log_in(std::string_view user);
    /// Gives the session a new id; do so wherever the rights of its user change.
    void renew() noexcept { renewed_ = changed_ = true; }
    /// Ends the session: its values are forgotten, by the store and by the browser.
    void end() noexcept;

private:
    friend class sessions;
    struct pair {
        std::size_t size() const noexcept;
        std::string name;
        std::string value;
    };

    explicit session(std::size_t longest) noexcept : longest_(longest) {}

    const pair* find_pair(std::string_view name) const noexcept;
    bool is_empty() const noexcept { return pairs_.empty() && user_.empty(); }
    std::size_t size_without(std::string_view name) const noexcept;
    void check_size(std::size_t size) const;
    /// Takes over what `pack` made; false where it is malformed.
    bool unpack(std::string_view data);
    std::string pack() const;

    std::vector<pair> pairs_;
    std::string user_;
    std::string loaded_key_;  ///< under which the store has it; empty: it has not
    std::int64_t made_ = 0;   ///< seconds since 1970
    std::size_t longest_;
    bool kept_ = true;
    bool changed_ = false;
    bool renewed_ = false;
    bool ended_ = false;
};

/// Middleware that gives each request its `session`, by a cookie with a random id of 128 bits. An
/// id that a client invents is never used: where the store knows it not, the next session has
/// another; of one cookie it is no id of another. Responses that set the cookie get "Cache-Control:
/// no-store", unless theirs is "no-store" or "private". One within another has a session of its
/// own; until its user has logged in, `req.data<identity>()` is that of the one around it, so ask
/// `session::user` there. Changes that a handler makes while it writes a streamed response, or
/// after an upgrade, are lost.
///
///     routes.use(http::sessions());
///     routes.post("/login", [](http::request& req) { ... http::session::of(req).log_in("ann"); });
class sessions {
public:
    /// Throws `exception` (invalid_argument) naming an option that is wrong.
    explicit sessions(session_options options = {});
    task<response> operator()(request& req, const handler& next) const;

    class rules;

private:
    static task<bool> load(const rules* r, request* req, session* s);
    static task<bool> remove(const rules* r, const session* s, bool* was_there = nullptr);
    static task<bool> store(const rules* r, session* s, response* out);

    std::shared_ptr<const rules> rules_;
};

template <class T>
std::optional<T> session::get(std::string_view name) const {
    const auto text = bytes(name);
    if (!text) return std::nullopt;
    if constexpr (std::same_as<T, std::string>) {
        return std::string(*text);
    } else if constexpr (std::same_as<T, bool>) {
        if (*text != "0" && *text != "1") return std::nullopt;
        return *text == "1";
    } else if constexpr (std::integral<T>) {
        T value{};
        const char* const last = text->data() + text->size();
        const auto [end, failure] = std::from_chars(text->data(), last, value);
        if (failure != std::errc() || end != last) return std::nullopt;
        return value;
    } else {
        static_assert(decodes_json<T>, "this type has no json_codec that decodes it");
        auto decoded = json_codec<T>::decode(*text, json_limits());
        if (!decoded) return std::nullopt;
        return *std::move(decoded);
    }
}

template <class T>
void session::set(std::string_view name, const T& value) {
    if constexpr (std::convertible_to<const T&, std::string_view>) {
        set_bytes(name, value);
    } else if constexpr (std::same_as<T, bool>) {
        set_bytes(name, value ? "1" : "0");
    } else if constexpr (std::integral<T>) {
        set_bytes(name, std::to_string(value));
    } else {
        static_assert(encodes_json<T>, "this type has no json_codec that encodes it");
        set_bytes(name, json_codec<T>::encode(value));
    }
}

}  // namespace coracle::http
