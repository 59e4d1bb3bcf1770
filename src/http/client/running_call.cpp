#include "http/client/running_call.hpp"

#include "base/equals.hpp"
#include "base/unprintable.hpp"
#include "http/client/auth/credentials_for.hpp"
#include "http/client/call_failure.hpp"
#include "http/client/call_observers.hpp"
#include "http/message/retry_after.hpp"
#include "http/message/token.hpp"
#include "runtime/backoff.hpp"

#include <coracle/runtime/sleep.hpp>
#include <coracle/tls/error.hpp>

#include <algorithm>

namespace coracle::http::detail {
namespace {

/// The most bytes of an unwanted response that are read to keep its connection.
constexpr std::uint64_t drained = 64 * 1024;
/// The most time spent on that.
constexpr duration drain_time = std::chrono::seconds(1);
/// The most times that a request which a server turned away moves to another connection.
constexpr unsigned most_moves = 3;

bool is_idempotent(std::string_view method) noexcept {
    return method == "GET" || method == "HEAD" || method == "PUT" || method == "DELETE" ||
           method == "OPTIONS" || method == "TRACE";
}

/// The target of a redirect from `to`, with its fragment where it names none (RFC 9110, section
/// 10.2.2).
std::expected<url, error> redirected(const url& to, std::string_view location) {
    if (to.fragment().empty() || location.find('#') != std::string_view::npos) {
        return to.resolve(location);
    }
    return to.resolve(std::string(location).append(1, '#').append(to.fragment()));
}

}  // namespace

running_call::running_call(client_shard& s, call_state& c, const call_start& start)
    : shard_(s), call_(c), client_options_(s.options()), options_(&client_options_->values),
      transport_(client_options_->made), method_(c.method_text()), limit_(s.owner()),
      started_(start.started), began_(start.began), pair_(start.pair), is_second_(start.is_second) {
    if (c.own() != nullptr) options_ = c.own();
    const duration total =
        c.total_timeout > duration::zero() ? c.total_timeout : options_->total_timeout;
    if (total > duration::zero()) call_deadline_ = coracle::detail::later(started_, total);
    // A second copy is none that pays for retries: there are many of them when servers are in
    // trouble.
    if (!is_second_) s.budget().call_begins(options_->retry.budget_percent);
}

running_call::~running_call() {
    // A call that is cancelled between two attempts just ends.
    if (!completed_) notify_of_failure(error(std::errc::operation_canceled, "request"));
    if (origin_ != nullptr) shard_->pool().drop(*origin_);
}

http::method running_call::call_method() const noexcept {
    return body_dropped_ ? method::get : call_.method;
}

error running_call::fail(error e, phase where) const {
    if (coracle::detail::is_cancellation(e)) return e;
    if (e.phase() == phase::none) e.in(where);
    std::string about(method_);
    about.append(" ").append(to_.redacted());
    if (exchange_) {
        about.append(" (").append(exchange_->connection().stream().peer().to_string()).append(")");
    }
    if (!e.subject().empty()) about.append(": ").append(e.subject());
    error reported(e.code(), e.operation().data(), e.phase());
    reported.on(about).on_attempt(attempts_).after_bytes(received());
    reported.with(std::make_shared<const call_failure>(info_so_far()));
    return std::move(reported.retry_is_safe(may_be_sent_again()));
}

/// Notifies the observers that the call has ended without a response.
void running_call::notify_of_failure(const error& why) noexcept {
    if (shard_->observers().empty()) return;
    try {
        const response_info* const known = info_of(why);
        const response_info info = known != nullptr ? *known : info_so_far();
        notify(shard_->observers(), {info, call_method(), status(), &why, false});
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the record is lost
    }
}

response_info running_call::info_so_far() const {
    response_info info = info_of_attempt();
    info.url = to_;
    info.bytes_received = received();
    info.times.ended = since_start();
    return info;
}

response_info running_call::info_of_attempt() const {
    response_info info;
    info.attempts = attempts_;
    info.redirects = redirects_;
    info.retries = retries_;
    info.bytes_sent = sent();
    info.times = times_;
    if (!exchange_) return info;
    client_connection& connection = exchange_->connection();
    info.peer = connection.stream().peer();
    info.reused = exchange_->reused();
    info.stream = exchange_->stream_id();
    if (const tls::session_info* secured = connection.secured()) {
        info.tls_version = tls_version();
        info.cipher = secured->cipher();
        info.certificate = connection.certificate();
    }
    return info;
}

/// Returns true if the request may be sent again: it was not processed, or processing it twice has
/// no further effect.
bool running_call::may_be_sent_again() const noexcept {
    if (unprocessed()) return true;
    return received() == 0 && idempotent() && can_repeat_body();
}

error running_call::out_of_time(phase where, const char* limit) const {
    if (now() >= call_deadline_) {
        limit = "total_timeout";
    } else if (now() >= attempt_deadline_) {
        limit = "retry_attempt_timeout";
    }
    return fail(error(std::errc::timed_out, limit, where), where);
}

bool running_call::is_safe_protocol(std::string_view scheme) const noexcept {
    const bool secure = coracle::detail::equals(scheme, "https");
    if (!secure && !coracle::detail::equals(scheme, "http")) return false;
    if (call_.own() != nullptr) return lists_protocol(options_->safe_protocols, scheme);
    return secure ? client_options_->https_is_safe : client_options_->http_is_safe;
}

std::expected<void, error> running_call::go_to(url where) {
    if (!is_safe_protocol(where.scheme())) {
        error e(std::errc::protocol_not_supported, "request");
        return std::unexpected(std::move(e.on(where.redacted())));
    }
    auto found = shard_->pool().find(where, transport_, call_.more().may_be_tunnel);
    if (!found) return std::unexpected(std::move(found).error());
    shard_->pool().hold(**found);
    if (call_.method == method::connect && (*found)->forwards()) {
        shard_->pool().drop(**found);
        error e(std::errc::operation_not_supported, "connect");
        return std::unexpected(std::move(e.on("CONNECT to a server behind a proxy")));
    }
    if (origin_ != nullptr) shard_->pool().drop(*origin_);
    origin_ = *found;
    to_ = std::move(where);
    if (origin_->takes_http_2(call_.more().may_be_tunnel) || !transport_->may_be_http_2())
        return {};
    auto kept = keep_to_http_1();
    return kept ? go_to(to_) : kept;
}

std::expected<void, error> running_call::prepare() {
    if (call_.own() != nullptr) {
        if (auto bad = problem_of(*call_.own())) return std::unexpected(*std::move(bad));
        auto found = call_.core->transport_for(*call_.own());
        if (!found) return std::unexpected(std::move(found).error());
        transport_ = *std::move(found);
    } else if (client_options_->problem) {
        return std::unexpected(*client_options_->problem);
    }
    if (transport_->may_be_http_2() && must_be_http_1()) {
        auto kept = keep_to_http_1();
        if (!kept) return kept;
    }
    auto where = target_url(call_, *shard_);
    if (!where) return std::unexpected(std::move(where).error());
    if (!where->has_user()) {
        auto went = go_to(*std::move(where));
        return went ? choose_credentials(to_) : went;
    }
    url there = *where;
    auto went = go_to(std::move(there.remove_user()));
    return went ? choose_credentials(*where) : went;
}

/// Returns true for a switch of protocols that only HTTP/1 supports: CONNECT, and Upgrade fields
/// that were not set by `call::upgrade`.
bool running_call::must_be_http_1() const noexcept {
    if (call_.method == method::connect) return true;
    if (!call_.fields.contains(field_id::upgrade)) return false;
    return !call_.more().may_be_tunnel || call_.method != method::get || call_.has_body;
}

std::expected<void, error> running_call::keep_to_http_1() {
    client_options o = transport_->options();
    o.http_version = version_choice::http_1_1;
    auto found = call_.core->transport_for(o);
    if (!found) return std::unexpected(std::move(found).error());
    transport_ = *std::move(found);
    return {};
}

std::expected<void, error> running_call::choose_credentials(const url& where) {
    const bool named = options_->authentication.scheme != auth_scheme::none;
    if (!named && !where.has_user() && !options_->netrc) return {};
    url_had_user_ = url_had_user_ || where.has_user();
    auto chosen = credentials_for(*options_, where, shard_->owner().log());
    if (!chosen) return std::unexpected(std::move(chosen).error());
    if (chosen->scheme != auth_scheme::none)
        auth_ = origin_->authentication(to_.authority(), *chosen);
    return {};
}

/// Returns true if the netrc file is read for the target of a redirect: never if the call has
/// credentials, which are for another origin, nor where a redirect has led away from TLS, which
/// whoever sits there could have made.
bool running_call::reads_netrc() const noexcept {
    const credentials& own = options_->authentication;
    return options_->netrc && own.user.empty() && own.password.empty() && !url_had_user_ &&
           !left_tls_;
}

/// Returns true if the caller's own field has priority: unless a redirect has left its origin.
bool running_call::has_own_authorization() const noexcept {
    return !left_origin_ && call_.fields.contains(field_id::authorization);
}

std::expected<secret, error> running_call::authorization() {
    if (has_own_authorization()) return secret();
    digest_request r{method_, to_.target()};
    if (!has_body()) {
        r.body = std::string_view();
    } else if (call_.body.in_memory()) {
        r.body = call_.body.bytes();
    }
    loop& l = shard_->owner();
    const std::array<std::uint64_t, 2> random{l.random(), l.random()};
    return auth_->authorize(r, random);
}

/// Returns the credentials for a forwarding proxy.
std::expected<secret, error> running_call::proxy_authorization() {
    const connect::proxy& p = *origin_->proxy();
    if (p.authenticator() == nullptr) return p.basic_authorization();
    return p.authenticator()->authorize(method_, absolute_form(to_));
}

/// Returns true if the request should be repeated after a 407.
bool running_call::challenged_by_proxy(const fields& received) {
    if (!origin_->forwards() || origin_->proxy()->authenticator() == nullptr) return false;
    std::vector<std::string> challenges;
    for (const field& f : received) {
        if (equal_ignoring_case(f.name, challenge_field(auth_side::proxy))) {
            challenges.emplace_back(f.value);
        }
    }
    return origin_->proxy()->authenticator()->challenged(challenges, proxy_challenges_);
}

bool running_call::may_be_repeated(std::string_view method) const noexcept {
    return is_idempotent(method) || options_->retry.not_idempotent ||
           call_.fields.contains("Idempotency-Key");
}

bool running_call::can_repeat_body() const noexcept {
    return !has_body() || call_.body.type() != body::kind::stream || !body_sent_ ||
           call_.repeatable;
}

/// Returns true if the server may have sent a response before it stopped reading the body.
bool running_call::may_have_responded(const error& e) const noexcept {
    return has_body() && sent() != 0 &&
           (e == std::errc::broken_pipe || e == std::errc::connection_reset);
}

bool running_call::may_retry() {
    if (retries_ >= options_->retry.retries || !can_repeat_body()) return false;
    if (options_->retry.budget_percent == 0 || shard_->budget().take()) return true;
    held_back_ = true;
    ++shard_->counts.retries_held_back;
    return false;
}

running_call::verdict running_call::judge_failure(const error& e) {
    if (coracle::detail::is_cancellation(e) || now() >= call_deadline_) return verdict::done;
    if (exchange_ && exchange_->turned_away() && can_repeat_body() && moves_ < most_moves) {
        return verdict::elsewhere;
    }
    const bool wants_http_1 = exchange_ && exchange_->needs_http_1() && !transport_->knows_http_2();
    // Also where this request cannot be repeated: the next one has what it needs.
    if (wants_http_1) origin_->wants_http_1();
    if ((wants_http_1 && can_repeat_body()) || std::exchange(needs_http_1_, false)) {
        return verdict::over_http_1;
    }
    const bool reused = exchange_ && exchange_->reused();
    const bool gone = e == errc::end_of_stream || e == std::errc::connection_reset ||
                      e == std::errc::broken_pipe || e == make_error_code(tls::errc::truncated);
    // The server closed an idle connection while the request was on its way: a new connection shows
    // if there is another cause.
    if (reused && !needs_new_connection_ && gone && received() == 0 && can_repeat_body() &&
        (idempotent() || unprocessed())) {
        return verdict::new_connection;
    }
    const bool safe = e.safe_to_retry() && e != errc::limit_exceeded &&
                      e.code() != std::make_error_code(std::errc::invalid_argument);
    return safe && may_retry() ? verdict::again : verdict::done;
}

running_call::verdict running_call::judge_status(const response& r) {
    const auto code = static_cast<unsigned>(r.status());
    if (code != 401 && auth_ != nullptr) auth_->received(r.fields());
    if (code < 300) return verdict::done;
    // RFC 9110 section 15.5.20: repeats the request on a new connection to this origin alone.
    if (code == 421 && r.info()->reused && !needs_new_connection_) {
        origin_->keeps_apart();
        if (can_repeat_body()) return verdict::misdirected;
    }
    if (code == 417 && sent_expect_ && can_repeat_body()) return verdict::without_expect;
    // Also where this request cannot be repeated: the next one has what it needs.
    if (code == 401 && auth_ != nullptr && auth_->challenged(r.fields(), challenges_) &&
        can_repeat_body()) {
        ++challenges_;
        return verdict::authenticate;
    }
    if (code == 407 && challenged_by_proxy(r.fields()) && can_repeat_body()) {
        ++proxy_challenges_;
        return verdict::authenticate;
    }
    if (wants_redirect(r)) return verdict::redirect;
    // 503 alone does not say that nothing was done (RFC 9110 section 15.6.4).
    const bool is_asked_to = r.fields().contains(field_id::retry_after);
    const bool is_passing = code == 408 || code == 502 || code == 503 || code == 504;
    const bool safe = code == 429 || (is_passing && idempotent()) || (code == 503 && is_asked_to);
    if (safe && may_retry()) return verdict::again;
    return verdict::done;
}

running_call::verdict running_call::judge(const call_result& a) {
    return a ? judge_status(*a) : judge_failure(a.error());
}

bool running_call::wants_redirect(const response& r) const {
    if (options_->follow == follow::none || call_.method == method::connect) return false;
    switch (static_cast<unsigned>(r.status())) {
        case 301:
        case 302:
        case 303:
        case 307:
        case 308: break;
        default: return false;
    }
    // An empty Location would redirect to this URL forever; like curl we ignore it.
    return !r.fields().get(field_id::location).empty();
}

namespace {

/// Names the Location that is no URL, without what may be a user and a password in it.
error about_location(error e, std::string_view location) {
    constexpr std::size_t most_shown = 200;
    const std::size_t at = location.substr(0, location.find_first_of("?#")).rfind('@');
    std::string_view shown = location.substr(at == std::string_view::npos ? 0 : at + 1);
    const bool cut = shown.size() > most_shown;
    shown = shown.substr(0, most_shown);
    const std::string why(e.subject());
    return std::move(e.on(why + ": Location '" + coracle::detail::escape_unprintable(shown) +
                          (cut ? "...'" : "'")));
}

}  // namespace

/// Follows a redirect (RFC 9110 section 15.4).
std::expected<void, error> running_call::follow_redirect(const response& r) {
    if (redirects_ == options_->redirects) {
        error e(errc::limit_exceeded, "redirect");
        return std::unexpected(fail(e.on("client_options::redirects"), phase::receive));
    }
    const std::string_view location = r.fields().get(field_id::location);
    auto next = redirected(to_, location);
    if (!next) {
        error e = std::move(next).error();
        if (e == std::errc::invalid_argument) e = about_location(std::move(e), location);
        return std::unexpected(fail(std::move(e), phase::receive));
    }
    next->remove_user();
    const auto code = static_cast<unsigned>(r.status());
    const bool keeps = options_->follow == follow::same_method || code == 307 || code == 308;
    const bool to_get =
        options_->follow == follow::first_only || (!keeps && (code == 303 || method_ == "POST"));
    if (to_get && method_ != "HEAD") {
        method_ = "GET";
        body_dropped_ = true;
    }
    const bool leaves = !to_.same_origin(*next);
    left_tls_ = left_tls_ || (to_.scheme() == "https" && next->scheme() != "https");
    if (leaves) {
        left_origin_ = true;
        auth_ = nullptr;
    }
    if (!can_repeat_body()) {
        error e(std::errc::operation_not_supported, "redirect");
        return std::unexpected(fail(e.on("the body cannot be sent again"), phase::send));
    }
    ++redirects_;
    ++shard_->counts.redirects;
    needs_new_connection_ = false;
    attempts_ = 0;
    began_ = now();
    challenges_ = 0;
    proxy_challenges_ = 0;
    auto went = go_to(*std::move(next));
    return went && leaves && reads_netrc() ? choose_credentials(to_) : went;
}

duration running_call::retry_delay(const call_result& a) {
    const retry_options& o = options_->retry;
    duration d = std::max(o.delay, duration::zero());
    const unsigned doubled = o.backoff ? retries_ : 0;
    for (unsigned i = 1; i < doubled && d != duration::zero() && d < o.longest_delay; ++i) {
        d = d > o.longest_delay / 2 ? o.longest_delay : d * 2;
    }
    d = std::max(std::min(d, o.longest_delay), duration::zero());
    if (o.backoff) d = coracle::detail::shortened_by_chance(d);
    if (!a) return d;
    const auto asked =
        parse_retry_after(a->fields().get("Retry-After"), shard_->owner().unix_time());
    return asked && asked->count() != 0 ? duration(*asked) : d;
}

task<void> running_call::drop_response(call_result& a) {
    auto* const rest = static_cast<incoming*>(a->extension());
    if (rest == nullptr || !rest->may_be_drained(drained)) co_return;
    limit_.begin(*context_, drain_time, attempt_deadline_);
    rest->begin_draining();
    std::uint64_t read = 0;
    for (bool more = true; more && read <= drained;) {
        auto reading = a->read();
        auto piece = co_await as_result(reading);
        more = piece && !piece->empty();
        if (more) read += piece->size();
    }
    limit_.end();
}

task<std::expected<void, error>> running_call::before_next(verdict v, call_result& a) {
    // The timeout of the failed attempt must not end the wait for the next one.
    limit_.end();
    // A retry may turn out to come too late: then the response is returned.
    if (v != verdict::again) {
        auto told = co_await tell_earlier(a);
        if (!told) co_return told;
    }
    if (v == verdict::redirect) {
        auto went = follow_redirect(*a);
        if (!went) co_return went;
        co_await drop_response(a);
        co_return went;
    }
    if (v == verdict::without_expect) may_expect_ = false;
    if (v == verdict::authenticate || v == verdict::without_expect) {
        co_await drop_response(a);
        co_return std::expected<void, error>();
    }
    if (v == verdict::misdirected) {
        needs_new_connection_ = true;
        co_await drop_response(a);
        a = call_result();
        co_return std::expected<void, error>();
    }
    exchange_.end(fate::cancelled);
    // The origin now requires HTTP/1.1, so `go_to` chooses it.
    if (v == verdict::over_http_1) co_return go_to(to_);
    if (v == verdict::elsewhere) {
        ++moves_;
        co_return std::expected<void, error>();
    }
    if (v == verdict::new_connection) {
        needs_new_connection_ = true;
        co_return std::expected<void, error>();
    }
    co_return co_await before_retry(a);
}

task<std::expected<void, error>> running_call::before_retry(call_result& a) {
    ++retries_;
    const duration delay = retry_delay(a);
    const time_point due = coracle::detail::later(now(), delay);
    if (delay > options_->retry.longest_delay || due >= call_deadline_) {
        // The delay is too long: the call ends with the response or error of this attempt.
        if (options_->retry.budget_percent != 0) shard_->budget().give_back();
        co_return std::unexpected(a ? error() : std::move(a).error());
    }
    auto told = co_await tell_earlier(a);
    if (!told) {
        if (options_->retry.budget_percent != 0) shard_->budget().give_back();
        co_return told;
    }
    ++shard_->counts.retries;
    if (options_->verbose) log_retry(a, delay);
    if (a) {
        co_await drop_response(a);
        // Releases the connection of a body that was not read to its end.
        a = call_result();
    }
    if (due > now()) {
        auto sleeping = sleep_until(due);
        auto slept = co_await as_result(sleeping);
        if (!slept) co_return std::unexpected(std::move(slept).error());
    }
    co_return std::expected<void, error>();
}

void running_call::complete_with(error& failure) {
    completed_ = true;
    ++shard_->counts.failed;
    // A redirect from a POST to a GET: the POST was processed, and the caller would repeat that.
    if (body_dropped_ && !may_be_repeated(call_.method_text())) failure.retry_is_safe(false);
    const response_info* const known = held_back_ ? info_of(failure) : nullptr;
    if (known != nullptr) {
        response_info info = *known;
        info.retry_held_back = true;
        failure.with(std::make_shared<const call_failure>(std::move(info)));
    }
    notify_of_failure(failure);
}

void running_call::complete_with(response& r) {
    completed_ = true;
    auto& rest = static_cast<incoming&>(*r.extension());
    rest.details().url = std::move(to_);
    rest.details().retry_held_back = held_back_;
    if (call_.reports_progress()) {
        progress p;
        p.sent = body_bytes_;
        p.to_send = has_body() ? call_.body.size() : 0;
        p.to_receive = rest.length();
        rest.report(std::move(call_.extras->report), p);
    }
    if (!shard_->observers().empty()) rest.observed_as(r.status());
}

}  // namespace coracle::http::detail
