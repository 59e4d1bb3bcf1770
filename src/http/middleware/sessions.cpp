#include "http/middleware/keep_from_caches.hpp"
#include "http/middleware/random_bytes.hpp"
#include "runtime/end_if_cancelled.hpp"

#include <coracle/http/middleware/authenticate.hpp>
#include <coracle/http/middleware/sessions.hpp>
#include <coracle/mime/base64.hpp>
#include <coracle/runtime/loop.hpp>
#include <coracle/tls/hash.hpp>

#include <algorithm>
#include <optional>

namespace coracle::http {
namespace {

constexpr std::size_t id_bytes = 16;
constexpr auto most_seconds = std::chrono::hours(24 * 400);

[[noreturn]] void refuse(std::string_view what) {
    error e(std::errc::invalid_argument, "session_options");
    throw_exception(std::move(e.on(what)));
}

std::string base64url(std::string_view bytes) {
    return mime::base64_encode(bytes, mime::base64_alphabet::url);
}

bool may_be_id(std::string_view text) {
    constexpr std::size_t digits = (id_bytes * 8 + 5) / 6;
    if (text.size() != digits) return false;
    const auto bytes = mime::base64_decode(text, mime::base64_alphabet::url);
    return bytes && bytes->size() == id_bytes;
}

void check(const session_options& o) {
    const auto is_time = [](std::chrono::seconds s) { return s.count() > 0 && s <= most_seconds; };
    if (!is_time(o.idle)) refuse("idle");
    if (!is_time(o.lifetime)) refuse("lifetime");
    if (o.longest == 0) refuse("longest");
    if (o.path.empty() || o.path.front() != '/') refuse("path");
}

}  // namespace

class sessions::rules {
public:
    explicit rules(session_options o) : options(std::move(o)) {
        check(options);
        if (options.cookie.empty()) {
            const bool is_host_only = options.secure && options.path == "/";
            options.cookie = is_host_only ? "__Host-session" : "session";
        }
        // Throws where the parts of the cookie contradict each other.
        static_cast<void>(cookie(std::string(22, 'A'), std::chrono::seconds(0)).text());
        if (options.store == nullptr) options.store = std::make_shared<memory_session_store>();
    }

    set_cookie cookie(std::string_view id, std::chrono::seconds left) const {
        set_cookie c(options.cookie, id);
        c.path(options.path).http_only().secure(options.secure).same_site(options.same_site);
        if (options.persistent) c.max_age(left);
        return c;
    }
    /// The key of an id in the store, which other cookies have another for.
    std::string key_of(std::string_view id) const {
        std::string text = std::to_string(options.cookie.size()) + ':' + options.cookie;
        return base64url(tls::digest(tls::hash::sha256, text.append(id)));
    }
    void remove_cookie(response& out) const {
        auto c = set_cookie::removal(options.cookie);
        c.path(options.path).http_only().secure(options.secure).same_site(options.same_site);
        add(c, out);
    }
    static void add(const set_cookie& c, response& out) {
        out.add_cookie(c);
        // A cache that keeps the response would hand the session to others.
        detail::keep_from_caches(out);
    }

    static response refusal() {
        response r(status::service_unavailable);
        r.set("Retry-After", "1");
        return r;
    }
    /// Logs it, unless it is the request that is over.
    static task<> report(error why) {
        co_await coracle::detail::end_if_cancelled(why);
        loop::current()->log().write(log_layer::http, log_level::warning,
                                     "the store of sessions failed: " + why.message());
    }

    session_options options;
};

sessions::sessions(session_options options)
    : rules_(std::make_shared<const rules>(std::move(options))) {}

/// False where the store failed.
task<bool> sessions::load(const rules* r, request* req, session* s) {
    const auto id = req->cookie(r->options.cookie);
    if (!id || !may_be_id(*id)) co_return true;
    std::string key = r->key_of(*id);
    auto loading = r->options.store->load(key, r->options.idle);
    auto found = co_await std::move(loading);
    if (!found) {
        auto reporting = r->report(std::move(found).error());
        co_await std::move(reporting);
        s->kept_ = false;
        co_return false;
    }
    if (!*found) co_return true;
    const std::int64_t now = loop::current()->unix_time();
    const bool is_good =
        s->unpack(**found) && now - s->made_ < std::int64_t{r->options.lifetime.count()};
    if (is_good) {
        s->loaded_key_ = std::move(key);
        if (!s->user_.empty()) req->set_data(identity{s->user_});
        co_return true;
    }
    s->pairs_.clear();
    s->user_.clear();
    s->made_ = 0;
    auto removing = r->options.store->remove(key);
    static_cast<void>(co_await std::move(removing));
    co_return true;
}

/// Removes what the store had of the session, and tells whether it had any; false where the store
/// failed.
task<bool> sessions::remove(const rules* r, const session* s, bool* was_there) {
    if (s->loaded_key_.empty()) co_return true;
    auto removing = r->options.store->remove(s->loaded_key_);
    const auto removed = co_await std::move(removing);
    if (removed) {
        if (was_there != nullptr) *was_there = *removed;
        co_return true;
    }
    auto reporting = r->report(removed.error());
    co_await std::move(reporting);
    co_return false;
}

/// Brings what the handler changed to the store and the browser; false where the store failed.
task<bool> sessions::store(const rules* r, session* s, response* out) {
    if (s->is_empty()) {
        if (s->ended_ || !s->loaded_key_.empty()) r->remove_cookie(*out);
        co_return co_await remove(r, s);
    }
    const bool has_new_id = s->loaded_key_.empty() || s->renewed_ || s->ended_;
    // A new key would bring back what another request has ended; who logs in begins anew.
    const bool goes_on = s->renewed_ && !s->ended_ && !s->loaded_key_.empty() && s->made_ != 0;
    if (goes_on) {
        auto loading = r->options.store->load(s->loaded_key_, r->options.idle);
        const auto there = co_await std::move(loading);
        if (!there) {
            auto reporting = r->report(there.error());
            co_await std::move(reporting);
            co_return false;
        }
        if (!*there) co_return true;
    }
    const std::int64_t now = loop::current()->unix_time();
    if (s->made_ == 0 || s->ended_) s->made_ = now;
    const auto age = std::chrono::seconds(now - s->made_);
    const auto left = std::max(std::chrono::seconds(1), r->options.lifetime - age);
    const std::string id = has_new_id ? base64url(detail::random_bytes(id_bytes)) : std::string();
    const std::string key = has_new_id ? r->key_of(id) : s->loaded_key_;
    const std::string data = s->pack();
    const auto how = has_new_id ? session_save::create : session_save::replace;
    auto saving = r->options.store->save(key, data, std::min(left, r->options.idle), how);
    const auto saved = co_await std::move(saving);
    if (!saved) {
        auto reporting = r->report(saved.error());
        co_await std::move(reporting);
        co_return false;
    }
    if (!has_new_id) co_return true;
    bool was_there = true;
    const bool removed = co_await remove(r, s, &was_there);
    if (goes_on && !was_there) {
        // Another request has ended it meanwhile, and nothing may bring it back.
        auto undoing = r->options.store->remove(key);
        static_cast<void>(co_await std::move(undoing));
        co_return removed;
    }
    r->add(r->cookie(id, left), *out);
    co_return removed;
}

namespace {

/// Keeps the session of a `sessions` around this one, whose place in the request it takes, and puts
/// it back at the end.
class outer_session {
public:
    explicit outer_session(request& req) : request_(&req) {
        if (session* const there = req.data<session>()) session_.emplace(std::move(*there));
    }
    outer_session(const outer_session&) = delete;
    outer_session& operator=(const outer_session&) = delete;
    ~outer_session() {
        if (session_) *request_->data<session>() = *std::move(session_);
    }

private:
    request* request_;
    std::optional<session> session_;
};

}  // namespace

task<response> sessions::operator()(request& req, const handler& next) const {
    const rules* const r = rules_.get();
    const outer_session outer(req);
    session& s = req.set_data(session(r->options.longest));
    auto loading = load(r, &req, &s);
    const bool is_loaded = co_await std::move(loading);
    if (!is_loaded && r->options.on_failure == store_failure::refuse) co_return r->refusal();
    auto handling = next(req);
    response out = co_await std::move(handling);
    if (!s.kept_ || !s.changed_) co_return out;
    auto storing = store(r, &s, &out);
    const bool is_stored = co_await std::move(storing);
    if (!is_stored && r->options.on_failure == store_failure::refuse) co_return r->refusal();
    co_return out;
}

}  // namespace coracle::http
