// Receiving the head of a response, and making the response object with its body.

#include "http/client/running_call.hpp"
#include "http/message/upgrade_protocols.hpp"

#include <coracle/runtime/with_timeout.hpp>

#include <algorithm>

namespace coracle::http::detail {
namespace {

/// Complete bodies up to this size are copied, so that the buffer is free again.
constexpr std::uint64_t copied_body = 8 * 1024;
/// The longest wait for a 100 before the body is sent anyway (RFC 9110 section 10.1.1).
constexpr duration continue_patience = std::chrono::seconds(1);

/// The facts of an interim response, which has no body.
class interim_facts final : public response_extension {
public:
    explicit interim_facts(response_info info) : info_(std::move(info)) {}
    response_info* info() noexcept override { return &info_; }

private:
    response_info info_;
};

}  // namespace

error running_call::head_failure(error e) {
    if (limit_.passed()) return out_of_time(phase::first_byte, "first_byte_timeout");
    if (coracle::detail::is_cancellation(e)) return e;
    // The phase of the stream is `receive`; for the caller that begins with the body.
    return fail(std::move(e.in(phase::first_byte)), phase::first_byte);
}

error running_call::exceeded(const char* limit) const {
    error e(errc::limit_exceeded, "response");
    return fail(e.on(limit), phase::first_byte);
}

/// Reads a head, and keeps an interim one for the function of the call.
head_state running_call::read_told_head() {
    http::fields said;
    const head_state state = exchange_->read_head(start_, &said);
    if (state != head_state::interim || start_.code == 101) return state;
    response& r = call_.extras->interim.emplace_back(static_cast<status>(start_.code));
    r.fields() = std::move(said);
    response_info info = info_of_response();
    info.url = to_;
    r.set_extension(std::make_unique<interim_facts>(std::move(info)));
    return state;
}

/// Tells of the interim responses that came.
task<std::expected<void, error>> running_call::tell_interim() {
    const auto all = std::exchange(call_.extras->interim, {});
    for (const response& r : all) {
        // The function may wait for anything.
        auto telling = with_deadline(attempt_deadline_, call_.extras->on_interim(r));
        auto told = co_await as_result(telling);
        if (!told && now() >= attempt_deadline_) {
            co_return std::unexpected(out_of_time(phase::first_byte, "on_interim"));
        }
        if (!told) co_return told;
    }
    co_return std::expected<void, error>();
}

/// Tells of a response that is not returned.
task<std::expected<void, error>> running_call::tell_earlier(call_result& a) {
    if (!a || !call_.more().on_earlier) co_return std::expected<void, error>();
    a->extension()->info()->url = to_;
    auto telling = with_deadline(call_deadline_, call_.extras->on_earlier(*a));
    auto told = co_await as_result(telling);
    if (!told && now() >= call_deadline_) {
        co_return std::unexpected(out_of_time(phase::first_byte, "on_earlier"));
    }
    co_return told;
}

/// Reads the next head, and counts interim ones.
head_state running_call::read_next_head() {
    const head_state state =
        tells_interim_ ? read_told_head() : exchange_->read_head(start_, nullptr);
    if (state == head_state::partial || state == head_state::broken) return state;
    // A final head that arrived while the body was sent is read twice; it is logged once.
    if (options_->verbose && !head_logged_) log_head('<', exchange_->response_text());
    head_logged_ = state == head_state::final;
    if (state == head_state::final) return state;
    const bool is_wanted = ++interim_ <= options_->interim_limit && start_.code != 101;
    return is_wanted ? state : head_state::broken;
}

/// Returns the error of a head that `read_next_head` found broken.
error running_call::head_error() const {
    if (interim_ > options_->interim_limit) return exceeded("client_options::interim_limit");
    if (start_.code == 101) return fail(error(errc::protocol_error, "response"), phase::first_byte);
    return fail(exchange_->head_error(), phase::first_byte);
}

task<std::expected<bool, error>> running_call::wait_for_continue() {
    for (;;) {
        const head_state state = read_next_head();
        if (state == head_state::broken) co_return std::unexpected(head_error());
        // The loop that reads the response reads this head again.
        if (state == head_state::final) co_return false;
        if (state == head_state::interim) {
            if (start_.code == 100) co_return true;
            continue;
        }
        limit_.begin(*context_, continue_patience, attempt_deadline_);
        exchange_wait more(*exchange_);
        auto come = co_await as_result(more);
        limit_.end();
        if (!come && limit_.passed() && now() < attempt_deadline_) co_return true;
        if (!come) co_return std::unexpected(head_failure(std::move(come).error()));
    }
}

body_rules running_call::rules() const noexcept {
    body_rules r;
    r.idle = options_->idle_timeout;
    r.deadline = call_deadline_;
    r.low_speed = options_->low_speed_limit;
    r.low_speed_time = options_->low_speed_time;
    r.rate = options_->rate_limit;
    r.most = options_->response_limit;
    r.body_limit = options_->body_limit;
    r.block = options_->receive_block;
    return r;
}

std::string_view running_call::tls_version() const noexcept {
    const tls::session_info* const secured = exchange_->connection().secured();
    if (secured == nullptr) return {};
    return secured->version() == tls::version::tls_1_3 ? "TLSv1.3" : "TLSv1.2";
}

response_info running_call::info_of_response() const {
    response_info info = info_of_attempt();
    info.version = start_.version;
    info.bytes_received = start_.size;
    return info;
}

response running_call::make_response() {
    responded_ = true;
    response r(static_cast<status>(start_.code));
    exchange_->take_fields(r.fields());
    if (options_->cookies) call_.core->jar().receive(to_, r.fields(), shard_->owner().unix_time());
    // Progress is reported for each piece, so such a body is not taken at once.
    const std::uint64_t limit = options_->response_limit;
    const std::uint64_t most = limit == 0 ? copied_body : std::min(copied_body, limit);
    const auto whole = exchange_->take_whole_body(call_.reports_progress() ? 0 : most);
    const bool leaves_http = exchange_->left_http();
    std::unique_ptr<incoming> rest(new (incoming::tail_size{whole ? whole->size() : 0}) incoming(
        *shard_, call_method(), info_of_response(), started_));
    if (call_method() == method::head) rest->responds_to_head(start_);
    if (whole) rest->store(*whole, rules());
    if (leaves_http) {
        rest->keeps_for_upgrade(std::move(exchange_));
    } else if (whole) {
        rest->details().bytes_received += whole->size();
        rest->details().times.ended = since_start();
        exchange_.end(fate::finished);
    } else {
        rest->read_from(std::move(exchange_), rules());
    }
    // A partial response (206) cannot be decoded.
    const bool decodes = options_->accept_compression && start_.has_body && start_.code != 206;
    if (decodes) rest->decode(r.fields(), *options_);
    if (received_body* const body = rest->received(); !body->ended()) {
        r.set_body(body::relay(*body));
    }
    r.set_extension(std::move(rest));
    return r;
}

/// Makes the response that switches protocols: it names one that was asked for, and is of HTTP/1.1
/// (RFC 9110 section 7.8).
call_result running_call::switched_response() {
    response r = make_response();
    const std::string_view chosen = r.header("Upgrade");
    if (start_.version == version::http_1_1 && has_protocols(call_.fields, chosen)) return r;
    error e(errc::protocol_error, "upgrade");
    e.on(chosen.empty() ? std::string("101 without Upgrade") : "Upgrade: " + std::string(chosen));
    return std::unexpected(fail(std::move(e), phase::first_byte));
}

/// Waits until the server takes one more request on the connection, and for an upgrade until its
/// SETTINGS say if an HTTP/2 stream can be upgraded (RFC 8441 section 3).
task<std::expected<void, error>> running_call::await_turn() {
    const bool upgrades = call_.more().may_be_tunnel;
    while (!exchange_->may_begin() ||
           (upgrades && exchange_->offers_upgrade() == upgrade_offer::unknown)) {
        limit_.begin(*context_, options_->first_byte_timeout, attempt_deadline_);
        exchange_wait more(*exchange_);
        auto come = co_await as_result(more);
        if (!come) co_return std::unexpected(head_failure(std::move(come).error()));
        limit_.end();
    }
    if (!upgrades || exchange_->offers_upgrade() == upgrade_offer::yes) {
        co_return std::expected<void, error>();
    }
    origin_->upgrades_http_1_only();
    needs_http_1_ = true;
    exchange_.end(fate::unused);
    co_return std::unexpected(
        fail(error(std::errc::protocol_not_supported, "HTTP/2"), phase::send));
}

/// Resets the state of an attempt.
void running_call::begin_attempt() {
    ++attempts_;
    responded_ = false;
    rate_ = {};
    interim_ = 0;
    tells_interim_ = static_cast<bool>(call_.more().on_interim);
    if (tells_interim_) call_.extras->interim.clear();
    flushes_ = false;
    head_logged_ = false;
    times_ = {};
    times_.begun = since_start();
    attempt_deadline_ = call_deadline_;
    const duration one = options_->retry.attempt_timeout;
    if (one <= duration::zero()) return;
    // The first attempt includes the wait for a connection.
    const time_point since = attempts_ == 1 ? began_ : now();
    attempt_deadline_ = std::min(attempt_deadline_, coracle::detail::later(since, one));
}

task<call_result> running_call::attempt() {
    context_ = &co_await coracle::detail::current_context();
    begin_attempt();
    const bool idle_will_do = !needs_new_connection_ && !was_granted();
    exchange_ = idle_will_do ? shard_->pool().take_place(*origin_, avoided()) : lease();
    if (!exchange_) {
        auto got = co_await get_connection();
        if (!got) co_return std::unexpected(std::move(got).error());
        exchange_ = *std::move(got);
    }
    if (pair_ != nullptr && !is_second_) pair_->first = &exchange_->connection();
    if (call_.more().may_be_tunnel || !exchange_->may_begin()) {
        auto ready = co_await await_turn();
        if (!ready) co_return std::unexpected(std::move(ready).error());
    }
    auto composed = compose();
    if (!composed) co_return std::unexpected(std::move(composed).error());
    // Its connection takes no more: a body that can be sent once is not begun.
    if (has_body() && exchange_->turned_away()) co_return std::unexpected(head_error());
    if (options_->verbose) {
        log_connection();
        log_head('>', exchange_->request_text());
    }
    const bool sent_at_once = send_at_once();
    if (!sent_at_once) {
        auto sent = co_await send_request();
        if (early_ && sent) co_return std::move(*early_);
        if (early_) co_return std::unexpected(std::move(sent).error());
        // A server that does not want the body may send a response before it closes.
        if (!sent && !may_have_responded(sent.error())) {
            co_return std::unexpected(std::move(sent).error());
        }
        if (!sent) exchange_->cut();
    }
    times_.sent = since_start();
    limit_.begin(*context_, options_->first_byte_timeout, attempt_deadline_);
    // The response to a request just sent cannot have arrived yet.
    for (bool looks = !sent_at_once;; looks = true) {
        const head_state state = looks ? read_next_head() : head_state::partial;
        if (state == head_state::broken) co_return std::unexpected(head_error());
        if (tells_interim_ && !call_.more().interim.empty()) [[unlikely]] {
            limit_.end();
            auto told = co_await tell_interim();
            if (!told) co_return std::unexpected(std::move(told).error());
            limit_.begin(*context_, options_->first_byte_timeout, attempt_deadline_);
            continue;  // another head may have been parsed since
        }
        if (state == head_state::final) break;
        if (state == head_state::interim) continue;
        exchange_wait more(*exchange_);
        auto come = co_await as_result(more);
        if (!come) co_return std::unexpected(head_failure(std::move(come).error()));
    }
    limit_.end();
    times_.first_byte = since_start();
    if (start_.code == 101) [[unlikely]]
        co_return switched_response();
    co_return make_response();
}

}  // namespace coracle::http::detail
