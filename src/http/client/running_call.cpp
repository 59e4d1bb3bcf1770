#include "http/client/running_call.hpp"

#include "http/client/call_failure.hpp"
#include "http/client/netrc.hpp"
#include "http/message/date.hpp"
#include "http/message/token.hpp"

#include <coracle/runtime/sleep.hpp>

#include <charconv>

namespace coracle::http::detail {
namespace {

/// What is left of an answer that nobody wants is read up to this, to keep its connection.
constexpr std::uint64_t drained = 64 * 1024;
/// And for this long.
constexpr duration drain_time = std::chrono::seconds(1);

bool is_idempotent(std::string_view method) noexcept {
    return method == "GET" || method == "HEAD" || method == "PUT" || method == "DELETE" ||
           method == "OPTIONS" || method == "TRACE";
}

}  // namespace

running_call::running_call(client_shard& s, call_state& c, time_point started)
    : shard_(s), call_(c), client_options_(s.options()), options_(&client_options_->values),
      way_(client_options_->way), method_(c.method_text()), limit_(s.owner()), started_(started) {
    if (c.own() != nullptr) options_ = c.own();
    const duration total =
        c.total_timeout > duration::zero() ? c.total_timeout : options_->total_timeout;
    if (total > duration::zero()) call_whole_ = coracle::detail::later(started_, total);
    s.budget().call_begins(options_->retry.budget_percent);
}

running_call::~running_call() {
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
    if (connection_)
        about.append(" (").append(connection_->stream().peer().to_string()).append(")");
    if (!e.subject().empty()) about.append(": ").append(e.subject());
    error told(e.code(), e.operation().data(), e.phase());
    told.on(about).on_attempt(attempts_).after_bytes(received_);
    told.with(std::make_shared<const call_failure>(info_so_far()));
    return std::move(told.retry_is_safe(may_be_sent_again()));
}

answer_info running_call::info_so_far() const {
    answer_info info = info_of_attempt();
    info.url = to_;
    info.bytes_received = received_;
    info.times.ended = since_start();
    return info;
}

answer_info running_call::info_of_attempt() const {
    answer_info info;
    info.attempts = attempts_;
    info.redirects = redirects_;
    info.bytes_sent = sent_;
    info.times = times_;
    if (!connection_) return info;
    info.peer = connection_->stream().peer();
    info.reused = connection_->reused();
    if (const tls::stream* secured = connection_->secured()) {
        info.tls_version = tls_version();
        info.cipher = secured->cipher();
    }
    return info;
}

/// Whether nothing can come of it that has not come already.
bool running_call::may_be_sent_again() const noexcept {
    if (received_ != 0) return false;
    return sent_ == 0 || (idempotent() && can_repeat_body());
}

error running_call::out_of_time(phase where, const char* limit) const {
    if (now() >= call_whole_) {
        limit = "total_timeout";
    } else if (now() >= whole_) {
        limit = "retry_attempt_timeout";
    }
    return fail(error(std::errc::timed_out, limit, where), where);
}

bool running_call::is_safe_protocol(std::string_view scheme) const noexcept {
    if (call_.own() != nullptr) return lists_protocol(options_->safe_protocols, scheme);
    return scheme == "http" ? client_options_->http_is_safe : client_options_->https_is_safe;
}

std::expected<void, error> running_call::go_to(url where) {
    const std::string_view scheme = where.scheme();
    const bool http = scheme == "http" || scheme == "https";
    if (!http || !is_safe_protocol(scheme)) {
        error e(std::errc::protocol_not_supported, "request");
        return std::unexpected(std::move(e.on(where.redacted())));
    }
    auto found = shard_->pool().find(where, way_);
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
    return {};
}

std::expected<void, error> running_call::prepare() {
    if (call_.own() != nullptr) {
        if (auto bad = problem_of(*call_.own())) return std::unexpected(*std::move(bad));
        auto way = call_.core->way_for(*call_.own());
        if (!way) return std::unexpected(std::move(way).error());
        way_ = *std::move(way);
    } else if (client_options_->problem) {
        return std::unexpected(*client_options_->problem);
    }
    auto where = address_of(call_, *shard_);
    if (!where) return std::unexpected(std::move(where).error());
    if (!where->has_user()) {
        auto went = go_to(*std::move(where));
        return went ? choose_credentials(to_) : went;
    }
    url there = *where;
    auto went = go_to(std::move(there.remove_user()));
    return went ? choose_credentials(*where) : went;
}

/// Those of the options, then those in the URL, then those of the user's netrc file.
std::expected<void, error> running_call::choose_credentials(const url& where) {
    const bool own = options_->authentication.scheme != auth_scheme::none;
    if (!own && !where.has_user() && !options_->netrc) return {};
    credentials who = options_->authentication;
    if (!own && where.has_user()) {
        who = {auth_scheme::basic, where.user(), secret(where.password())};
    } else if (!own) {
        auto file = load_netrc();
        if (!file && file.error() != std::errc::no_such_file_or_directory) {
            return std::unexpected(std::move(file).error());
        }
        if (file && file->others_may_read) {
            shard_->owner().log().write(log_layer::http, log_level::warning,
                                        "others may read " + file->path);
        }
        auto found = file ? find_netrc(file->text.reveal(), where.host()) : std::nullopt;
        if (found) who = *std::move(found);
    }
    if (who.scheme != auth_scheme::none) auth_ = origin_->authentication(who);
    return {};
}

std::expected<secret, error> running_call::authorization() {
    if (auth_ == nullptr || call_.fields.contains(field_id::authorization)) return secret();
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

/// What a proxy that forwards is told of us.
std::expected<secret, error> running_call::proxy_authorization() {
    const connect::proxy& p = *origin_->proxy();
    if (p.authenticator() == nullptr) return p.basic_authorization();
    return p.authenticator()->authorize(method_, absolute_form(to_));
}

/// Whether a 407 can be answered.
bool running_call::challenged_by_proxy(const fields& answer) {
    if (!origin_->forwards() || origin_->proxy()->authenticator() == nullptr) return false;
    std::vector<std::string> challenges;
    for (const field& f : answer) {
        if (equal_ignoring_case(f.name, challenge_field(auth_side::proxy))) {
            challenges.emplace_back(f.value);
        }
    }
    return origin_->proxy()->authenticator()->challenged(challenges, proxy_challenges_);
}

bool running_call::idempotent() const noexcept {
    return is_idempotent(method_) || options_->retry.not_idempotent ||
           call_.fields.contains("Idempotency-Key");
}

bool running_call::can_repeat_body() const noexcept {
    return !has_body() || call_.body.type() != body::kind::stream || !body_sent_ ||
           call_.repeatable;
}

/// Whether the server may have sent an answer before it closed its side to the body.
bool running_call::may_have_answered(const error& e) const noexcept {
    return has_body() && sent_ != 0 &&
           (e == std::errc::broken_pipe || e == std::errc::connection_reset);
}

bool running_call::may_retry() {
    return retries_ < options_->retry.retries && can_repeat_body() && shard_->budget().take();
}

running_call::verdict running_call::judge_failure(const error& e) {
    if (coracle::detail::is_cancellation(e) || now() >= call_whole_) return verdict::done;
    const bool reused = connection_ && connection_->reused();
    const bool gone =
        e == errc::end_of_stream || e == std::errc::connection_reset || e == std::errc::broken_pipe;
    // The server closed it while the request was under way: one on a new connection tells.
    if (reused && !fresh_ && gone && received_ == 0 && can_repeat_body() &&
        (idempotent() || sent_ == 0)) {
        return verdict::afresh;
    }
    const bool safe = e.safe_to_retry() && e != errc::limit_exceeded &&
                      e.code() != std::make_error_code(std::errc::invalid_argument);
    return safe && may_retry() ? verdict::again : verdict::done;
}

running_call::verdict running_call::judge_status(const response& r) {
    const auto code = static_cast<unsigned>(r.status());
    if (code < 300) {
        if (auth_ != nullptr) auth_->received(r.fields());
        return verdict::done;
    }
    if (code == 401 && auth_ != nullptr && can_repeat_body() &&
        auth_->challenged(r.fields(), challenges_)) {
        ++challenges_;
        return verdict::authenticate;
    }
    if (code == 407 && can_repeat_body() && challenged_by_proxy(r.fields())) {
        ++proxy_challenges_;
        return verdict::authenticate;
    }
    if (wants_redirect(r)) return verdict::redirect;
    if ((code == 429 || code == 503) && may_retry()) return verdict::again;
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
    return r.fields().contains(field_id::location);
}

/// RFC 9110 section 15.4.
std::expected<void, error> running_call::follow_redirect(const response& r) {
    if (redirects_ == options_->redirects) {
        error e(errc::limit_exceeded, "redirect");
        return std::unexpected(fail(e.on("client_options.redirects"), phase::receive));
    }
    auto next = to_.resolve(r.fields().get(field_id::location));
    if (!next) return std::unexpected(fail(std::move(next).error(), phase::receive));
    next->remove_user();
    const auto code = static_cast<unsigned>(r.status());
    const bool keeps = options_->follow == follow::same_method || code == 307 || code == 308;
    const bool to_get =
        options_->follow == follow::first_only || (!keeps && (code == 303 || method_ == "POST"));
    if (to_get && method_ != "HEAD") {
        method_ = "GET";
        body_dropped_ = true;
    }
    if (!to_.same_origin(*next)) {
        left_origin_ = true;
        auth_ = nullptr;
    }
    if (!can_repeat_body()) {
        error e(std::errc::operation_not_supported, "redirect");
        return std::unexpected(fail(e.on("the body cannot be sent again"), phase::send));
    }
    ++redirects_;
    ++shard_->counts.redirects;
    fresh_ = false;
    attempts_ = 0;
    challenges_ = 0;
    proxy_challenges_ = 0;
    return go_to(*std::move(next));
}

duration running_call::retry_delay(const call_result& a) {
    const retry_options& o = options_->retry;
    duration d = std::max(o.delay, duration::zero());
    for (unsigned i = 1; i < retries_ && d != duration::zero() && d < o.longest_delay; ++i) {
        d = d > o.longest_delay / 2 ? o.longest_delay : d * 2;
    }
    if (d > o.longest_delay) d = o.longest_delay;
    // A random part of the second half is taken off, so that clients do not come back together.
    const auto half = static_cast<std::uint64_t>(d.count() / 2);
    if (half != 0) d -= duration(static_cast<duration::rep>(shard_->owner().random() % half));
    if (!a) return d;
    const std::string_view after = a->fields().get("Retry-After");
    if (after.empty()) return d;
    constexpr std::int64_t most = 1'000'000;
    std::int64_t seconds = 0;
    const auto [end, failure] = std::from_chars(after.data(), after.data() + after.size(), seconds);
    if (failure == std::errc::result_out_of_range) {
        seconds = after.front() == '-' ? 0 : most + 1;
    } else if (failure != std::errc() || end != after.data() + after.size()) {
        const auto date = parse_http_date(after);
        if (!date) return d;
        seconds = *date - shard_->owner().unix_time();
    }
    if (seconds <= 0) return d;
    return seconds > most ? duration::max() : duration(std::chrono::seconds(seconds));
}

task<void> running_call::drop_answer(call_result& a) {
    auto* const rest = static_cast<incoming*>(a->extension());
    if (rest == nullptr || !rest->ends_within(drained)) co_return;
    limit_.begin(*who_, drain_time, whole_);
    for (bool more = true; more;) {
        auto reading = a->read();
        auto piece = co_await as_result(reading);
        more = piece && !piece->empty();
    }
    limit_.end();
}

task<std::expected<void, error>> running_call::before_next(verdict v, call_result& a) {
    // That of the attempt which failed must not end the wait for the next one.
    limit_.end();
    if (v == verdict::redirect) {
        auto went = follow_redirect(*a);
        if (!went) co_return went;
        co_await drop_answer(a);
        co_return went;
    }
    if (v == verdict::authenticate) {
        co_await drop_answer(a);
        co_return std::expected<void, error>();
    }
    connection_.close(true);
    if (v == verdict::afresh) {
        fresh_ = true;
        co_return std::expected<void, error>();
    }
    ++retries_;
    const duration delay = retry_delay(a);
    if (delay > options_->retry.longest_delay ||
        coracle::detail::later(now(), delay) >= call_whole_) {
        // Nobody would wait for it: the answer that there is has to do.
        shard_->budget().give_back();
        co_return std::unexpected(a ? error() : std::move(a).error());
    }
    ++shard_->counts.retries;
    if (options_->verbose) log_retry(a, delay);
    if (a) {
        co_await drop_answer(a);
        // What could not be read to its end would keep its connection all the while.
        a = call_result();
    }
    if (delay > duration::zero()) {
        auto sleeping = sleep_for(delay);
        auto slept = co_await as_result(sleeping);
        if (!slept) co_return std::unexpected(std::move(slept).error());
    }
    co_return std::expected<void, error>();
}

call_result running_call::complete(call_result a) {
    if (!a) {
        ++shard_->counts.failed;
        return a;
    }
    auto& rest = static_cast<incoming&>(*a->extension());
    rest.details().url = std::move(to_);
    if (call_.tells()) {
        progress p;
        p.sent = body_bytes_;
        p.to_send = has_body() ? call_.body.size() : 0;
        p.to_receive = rest.length();
        rest.tell(std::move(call_.extras->tell), p);
    }
    return a;
}

}  // namespace coracle::http::detail
