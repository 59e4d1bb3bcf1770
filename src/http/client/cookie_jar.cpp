// The storage and retrieval of cookies (RFC 6265bis sections 5.7 and 5.8).

#include "base/ascii.hpp"
#include "fs/file_text.hpp"
#include "fs/save_whole.hpp"
#include "http/client/cookie_file.hpp"
#include "http/client/cookie_match.hpp"
#include "http/client/public_suffix.hpp"
#include "http/client/set_cookie_line.hpp"
#include "http/message/cookie_rules.hpp"
#include "http/message/token.hpp"

#include <coracle/http/cookie_jar.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace coracle::http {
namespace {

using detail::check_pair;
using detail::cookie_demands;
using detail::default_path;
using detail::demands_of;
using detail::domain_matches;
using detail::is_cookie_domain;
using detail::is_ip_host;
using detail::is_public_suffix;
using detail::most_cookie_seconds;
using detail::path_matches;
using detail::set_cookie_line;

struct entry {
    stored_cookie cookie;
    /// Positions in the history of the jar, so that no two are equal.
    std::uint64_t created = 0;
    std::uint64_t sent = 0;

    bool expired(std::int64_t now) const noexcept {
        return cookie.expires && *cookie.expires <= now;
    }
};

struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
        return std::hash<std::string_view>()(text);
    }
};

using entries = std::vector<entry>;
using domain_map = std::unordered_map<std::string, entries, text_hash, std::equal_to<>>;

bool is_secure(const url& u) noexcept {
    return u.scheme() == "https" || u.scheme() == "wss";
}

/// Returns true if a cookie fulfils the requirements of its name's prefix.
bool keeps_to_prefix(const stored_cookie& c) noexcept {
    const cookie_demands demands = demands_of(c.name);
    return (c.secure || !demands.secure) && (c.http_only || !demands.http_only) &&
           (!demands.host || (c.host_only && c.path == "/"));
}

/// Returns true if a server could have sent this cookie.
bool can_stand(const stored_cookie& c) noexcept {
    std::string_view domain = c.domain;
    if (c.host_only && domain.ends_with('.')) domain.remove_suffix(1);
    return is_cookie_domain(domain) && c.path.starts_with('/') &&
           check_pair("path", c.path) != cookie_verdict::malformed && trim_ows(c.name) == c.name &&
           trim_ows(c.value) == c.value && trim_ows(c.path) == c.path &&
           c.name.find_first_of("=;") == std::string::npos &&
           c.value.find(';') == std::string::npos && c.path.find(';') == std::string::npos;
}

bool created_before(const entry& a, const entry& b) noexcept {
    return a.created < b.created;
}

/// Orders cookies as they are sent (section 5.8.3).
bool sent_before(const entry* a, const entry* b) noexcept {
    if (a->cookie.path.size() != b->cookie.path.size()) {
        return a->cookie.path.size() > b->cookie.path.size();
    }
    return a->created < b->created;
}

/// Orders the cookies of a domain as they are evicted (section 5.7, the last steps).
bool goes_before(const entry& a, const entry& b) noexcept {
    if (a.cookie.secure != b.cookie.secure) return !a.cookie.secure;
    return a.sent < b.sent;
}

}  // namespace

struct cookie_jar::state {
    explicit state(const cookie_limits& l) : limits(l) {}

    const cookie_limits limits;
    mutable std::mutex guard;
    domain_map domains;
    std::size_t count = 0;
    std::uint64_t steps = 0;
    std::uint64_t evicted = 0;

    template <class Condition>
    std::size_t remove_if(entries& in, Condition condition);
    template <class Condition>
    std::size_t remove_if(Condition condition);
    cookie_verdict place(const url& from, const set_cookie_line& line, std::int64_t now,
                         stored_cookie& out) const;
    bool overlays_secure(const stored_cookie& c, std::int64_t now) const noexcept;
    cookie_verdict put(stored_cookie&& c, std::int64_t now);
    void make_room(entries& of_domain, std::int64_t now);
    void make_room(std::int64_t now);
    std::vector<entry*> belonging_to(const url& to, std::int64_t now);
    std::vector<const entry*> all(std::int64_t now) const;
};

template <class Condition>
std::size_t cookie_jar::state::remove_if(entries& in, Condition condition) {
    const std::size_t removed = std::erase_if(in, condition);
    count -= removed;
    return removed;
}

template <class Condition>
std::size_t cookie_jar::state::remove_if(Condition condition) {
    std::size_t removed = 0;
    for (auto at = domains.begin(); at != domains.end();) {
        removed += remove_if(at->second, condition);
        at = at->second.empty() ? domains.erase(at) : std::next(at);
    }
    return removed;
}

/// Sets the domain of the cookie, if the host may set it (section 5.7).
cookie_verdict cookie_jar::state::place(const url& from, const set_cookie_line& line,
                                        std::int64_t now, stored_cookie& out) const {
    const std::string_view host = from.host();
    if (host.empty()) return cookie_verdict::malformed;
    out.host_only = line.domain.empty();
    if (!out.host_only) {
        if (!is_cookie_domain(line.domain)) return cookie_verdict::malformed;
        if (!domain_matches(host, line.domain)) return cookie_verdict::other_site;
        // A host that is an IP address or a public suffix may set cookies for itself.
        out.host_only = is_ip_host(host) || is_public_suffix(line.domain);
        if (out.host_only && line.domain != host) return cookie_verdict::public_suffix;
    }
    out.name = line.name;
    out.value = line.value;
    out.domain = out.host_only ? std::string(host) : line.domain;
    out.path = line.path.empty() ? default_path(from.path()) : line.path;
    out.expires = line.expires;
    out.secure = line.secure;
    out.http_only = line.http_only;
    out.same_site = line.same_site;
    if (!is_secure(from) && (out.secure || overlays_secure(out, now)))
        return cookie_verdict::insecure;
    // "__Host-" requires a Path attribute, even if the default path is the same.
    const bool wants_path = demands_of(line.name).host;
    if ((wants_path && (line.path.empty() || !line.domain.empty())) || !keeps_to_prefix(out)) {
        return cookie_verdict::prefix;
    }
    return cookie_verdict::stored;
}

/// An attacker on a plain connection must not replace a cookie that was set over TLS (section 5.7).
bool cookie_jar::state::overlays_secure(const stored_cookie& c, std::int64_t now) const noexcept {
    for (const auto& [domain, list] : domains) {
        if (!domain_matches(domain, c.domain) && !domain_matches(c.domain, domain)) continue;
        for (const entry& e : list) {
            if (e.expired(now)) continue;
            if (e.cookie.secure && e.cookie.name == c.name && path_matches(c.path, e.cookie.path)) {
                return true;
            }
        }
    }
    return false;
}

cookie_verdict cookie_jar::state::put(stored_cookie&& c, std::int64_t now) {
    if (c.expires) c.expires = std::min(*c.expires, now + most_cookie_seconds);
    auto at = domains.find(std::string_view(c.domain));
    const bool expired = c.expires && *c.expires <= now;
    if (expired && at == domains.end()) return cookie_verdict::removed;
    if (at == domains.end()) at = domains.try_emplace(c.domain).first;
    entries& list = at->second;
    const auto old = std::find_if(list.begin(), list.end(), [&](const entry& e) {
        return e.cookie.host_only == c.host_only && e.cookie.path == c.path &&
               e.cookie.name == c.name;
    });
    entry fresh{.cookie = std::move(c), .created = ++steps, .sent = steps};
    if (old != list.end()) {
        // The replaced cookie keeps its place in the order of sending.
        fresh.created = old->created;
        list.erase(old);
        --count;
    }
    if (!expired) {
        list.push_back(std::move(fresh));
        ++count;
        make_room(list, now);
    }
    if (list.empty()) domains.erase(at);
    make_room(now);
    return expired ? cookie_verdict::removed : cookie_verdict::stored;
}

void cookie_jar::state::make_room(entries& of_domain, std::int64_t now) {
    if (of_domain.size() <= limits.per_domain) return;
    remove_if(of_domain, [now](const entry& e) { return e.expired(now); });
    while (of_domain.size() > limits.per_domain) {
        of_domain.erase(std::min_element(of_domain.begin(), of_domain.end(), goes_before));
        --count;
        ++evicted;
    }
}

void cookie_jar::state::make_room(std::int64_t now) {
    if (count <= limits.cookies) return;
    remove_if([now](const entry& e) { return e.expired(now); });
    if (count <= limits.cookies) return;
    std::vector<std::uint64_t> sent;
    for (const auto& [domain, list] : domains) {
        for (const entry& e : list) sent.push_back(e.sent);
    }
    // Evicts some more than necessary, so that a full jar does not do this for each new cookie.
    const std::size_t left = limits.cookies - limits.cookies / 32;
    const auto last = sent.end() - static_cast<std::ptrdiff_t>(left);
    std::nth_element(sent.begin(), last, sent.end());
    const std::uint64_t kept = left == 0 ? steps + 1 : *last;
    evicted += remove_if([kept](const entry& e) { return e.sent < kept; });
}

/// Collects the cookies of the host and of each domain above it (section 5.8.3, steps 1 and 2).
std::vector<entry*> cookie_jar::state::belonging_to(const url& to, std::int64_t now) {
    std::vector<entry*> found;
    const std::string_view host = to.host();
    const bool secure = is_secure(to);
    const bool address = is_ip_host(host);
    for (std::string_view domain = host;;) {
        if (const auto at = domains.find(domain); at != domains.end()) {
            remove_if(at->second, [now](const entry& e) { return e.expired(now); });
            for (entry& e : at->second) {
                if ((e.cookie.host_only && domain.size() != host.size()) ||
                    (e.cookie.secure && !secure) || !path_matches(to.path(), e.cookie.path)) {
                    continue;
                }
                found.push_back(&e);
            }
            if (at->second.empty()) domains.erase(at);
        }
        const std::size_t dot = domain.find('.');
        if (address || dot == std::string_view::npos) break;
        domain.remove_prefix(dot + 1);
    }
    std::sort(found.begin(), found.end(), sent_before);
    return found;
}

std::vector<const entry*> cookie_jar::state::all(std::int64_t now) const {
    std::vector<const entry*> found;
    for (const auto& [domain, list] : domains) {
        for (const entry& e : list) {
            if (!e.expired(now)) found.push_back(&e);
        }
    }
    std::sort(found.begin(), found.end(),
              [](const entry* a, const entry* b) { return created_before(*a, *b); });
    return found;
}

std::string_view to_string(cookie_verdict v) noexcept {
    switch (v) {
        case cookie_verdict::stored: return "stored";
        case cookie_verdict::removed: return "removed";
        case cookie_verdict::malformed: return "malformed";
        case cookie_verdict::too_large: return "too large";
        case cookie_verdict::other_site: return "for another site";
        case cookie_verdict::public_suffix: return "for a public suffix";
        case cookie_verdict::insecure: return "Secure, over a connection that is not";
        case cookie_verdict::prefix: return "not as the prefix of its name demands";
    }
    return "";
}

cookie_jar::cookie_jar(const cookie_limits& limits) : state_(std::make_unique<state>(limits)) {}
cookie_jar::~cookie_jar() = default;

void cookie_jar::receive(const url& from, const fields& received, std::int64_t now) {
    for (const field& f : received) {
        if (equal_ignoring_case(f.name, "set-cookie")) receive(from, f.value, now);
    }
}

cookie_verdict cookie_jar::receive(const url& from, std::string_view set_cookie, std::int64_t now) {
    set_cookie_line line;
    cookie_verdict verdict = detail::read_set_cookie(set_cookie, now, line);
    if (verdict != cookie_verdict::stored) return verdict;
    stored_cookie c;
    const std::lock_guard lock(state_->guard);
    verdict = state_->place(from, line, now, c);
    return verdict == cookie_verdict::stored ? state_->put(std::move(c), now) : verdict;
}

std::string cookie_jar::cookies_for(const url& to, std::int64_t now) {
    std::string text;
    const std::lock_guard lock(state_->guard);
    if (state_->count == 0) return text;
    for (entry* const e : state_->belonging_to(to, now)) {
        const stored_cookie& c = e->cookie;
        const std::size_t size =
            (text.empty() ? 0 : 2) + c.name.size() + (c.name.empty() ? 0 : 1) + c.value.size();
        if (size > state_->limits.field - text.size()) continue;
        e->sent = ++state_->steps;
        if (!text.empty()) text += "; ";
        if (!c.name.empty()) text.append(c.name).append("=");
        text += c.value;
    }
    return text;
}

cookie_verdict cookie_jar::set(stored_cookie c, std::int64_t now) {
    const cookie_verdict verdict = check_pair(c.name, c.value);
    if (verdict != cookie_verdict::stored) return verdict;
    if (c.domain.starts_with('.')) c.domain.erase(0, 1);
    c.domain = coracle::detail::lower(c.domain);
    if (!can_stand(c)) return cookie_verdict::malformed;
    c.host_only = c.host_only || is_ip_host(c.domain);
    if (!c.host_only && is_public_suffix(c.domain)) return cookie_verdict::public_suffix;
    if (!keeps_to_prefix(c)) return cookie_verdict::prefix;
    const std::lock_guard lock(state_->guard);
    return state_->put(std::move(c), now);
}

std::vector<stored_cookie> cookie_jar::list(std::int64_t now) const {
    std::vector<stored_cookie> out;
    const std::lock_guard lock(state_->guard);
    for (const entry* const e : state_->all(now)) out.push_back(e->cookie);
    return out;
}

std::size_t cookie_jar::size() const noexcept {
    const std::lock_guard lock(state_->guard);
    return state_->count;
}

std::uint64_t cookie_jar::evicted() const noexcept {
    const std::lock_guard lock(state_->guard);
    return state_->evicted;
}

bool cookie_jar::remove(std::string_view domain, std::string_view path, std::string_view name) {
    const std::lock_guard lock(state_->guard);
    const auto at = state_->domains.find(domain);
    if (at == state_->domains.end()) return false;
    const std::size_t removed = state_->remove_if(
        at->second, [&](const entry& e) { return e.cookie.path == path && e.cookie.name == name; });
    if (at->second.empty()) state_->domains.erase(at);
    return removed != 0;
}

void cookie_jar::clear() {
    const std::lock_guard lock(state_->guard);
    state_->domains.clear();
    state_->count = 0;
}

void cookie_jar::clear_session() {
    const std::lock_guard lock(state_->guard);
    state_->remove_if([](const entry& e) { return !e.cookie.expires; });
}

std::string cookie_jar::text(std::int64_t now, session_cookies which) const {
    std::string out(detail::cookie_file_title);
    const std::lock_guard lock(state_->guard);
    for (const entry* const e : state_->all(now)) {
        const bool wanted = which == session_cookies::keep || e->cookie.expires;
        if (wanted && detail::fits_cookie_line(e->cookie))
            detail::append_cookie_line(out, e->cookie);
    }
    return out;
}

std::size_t cookie_jar::read(std::string_view text, std::int64_t now) {
    std::size_t added = 0;
    while (!text.empty()) {
        auto c = detail::read_cookie_line(coracle::detail::take_item(text, '\n'));
        if (c && set(*std::move(c), now) == cookie_verdict::stored) ++added;
    }
    return added;
}

std::expected<void, error> cookie_jar::save(const std::string& path, std::int64_t now,
                                            session_cookies which) const {
    // A unique name for the temporary file, so that two jars, or two threads, never share one.
    static std::atomic<std::uint64_t> saves = 0;
    const std::uint64_t unique =
        reinterpret_cast<std::uintptr_t>(this) + (++saves << 48U) + static_cast<std::uint64_t>(now);
    return fs::save_whole(path, text(now, which), unique, 0600);
}

std::expected<std::size_t, error> cookie_jar::load(const std::string& path, std::int64_t now) {
    auto file = fs::read_file_or_pipe(path, state_->limits.file);
    if (!file) return std::unexpected(file.error());
    return read(file->text.reveal(), now);
}

}  // namespace coracle::http
