// Sending a request: its head and its body.

#include "http/client/running_call.hpp"
#include "http/message/trailer.hpp"

#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <algorithm>

namespace coracle::http::detail {
namespace {

/// The largest body that is copied after the head, so that both are sent at once.
constexpr std::size_t copied_body = 4096;
/// The most bytes of a body passed to the exchange at once.
constexpr std::size_t body_step = 1024 * 1024;

std::uint64_t bytes_sent(const void* exchange) noexcept {
    return static_cast<const client_exchange*>(exchange)->sent();
}

}  // namespace

/// Writes the body of a request that a function produces while it is sent.
class request_body_writer final : public body_writer {
public:
    /// `size` is the announced size.
    request_body_writer(running_call& call, std::optional<std::uint64_t> size) noexcept
        : call_(call), size_(size) {}

    std::uint64_t written() const noexcept { return written_; }
    const std::unique_ptr<error>& problem() const noexcept { return problem_; }
    const fields* trailers() const noexcept { return trailers_.get(); }

protected:
    task<std::expected<void, error>> write_piece(std::string_view piece) override {
        if (problem_ != nullptr) co_return std::unexpected(*problem_);
        if (piece.empty()) co_return std::expected<void, error>();
        // The server would take bytes after the announced length for the next request.
        if (size_ && piece.size() > *size_ - written_) {
            problem_ = std::make_unique<error>(call_.announced_otherwise(*size_, "more"));
            co_return std::unexpected(*problem_);
        }
        written_ += piece.size();
        auto sent = co_await call_.send_piece(piece, follows::later);
        if (sent && !call_.report_sent(piece.size())) {
            sent = std::unexpected(error(std::errc::operation_canceled, "on_progress"));
        }
        if (!sent) problem_ = std::make_unique<error>(sent.error());
        co_return sent;
    }
    task<std::expected<void, error>> send_head() override {
        if (problem_ != nullptr) co_return std::unexpected(*problem_);
        auto sent = co_await call_.send_flush();
        if (!sent) problem_ = std::make_unique<error>(sent.error());
        co_return sent;
    }
    void add_trailer(std::string_view name, std::string_view value) override {
        http::set_trailer(trailers_, name, value);
    }

private:
    running_call& call_;
    std::optional<std::uint64_t> size_;
    std::uint64_t written_ = 0;
    std::unique_ptr<error> problem_;
    std::unique_ptr<fields> trailers_;
};

/// The error of a function that wrote more or fewer bytes than announced.
error running_call::announced_otherwise(std::uint64_t size, const char* written) const {
    error e(std::errc::invalid_argument, "body");
    e.on(std::string("it has ") + written + " bytes than the " + std::to_string(size) +
         " that were announced");
    return fail(std::move(e), phase::send);
}

bool running_call::report_sent(std::uint64_t bytes) {
    body_bytes_ += bytes;
    if (!call_.reports_progress()) return true;
    progress p;
    p.sent = body_bytes_;
    p.to_send = call_.body.size();
    return call_.extras->report(p);
}

/// Joins the cookies of the jar and those of the call, unless a redirect has left its origin, in
/// one field (RFC 6265 section 5.4).
std::string running_call::all_cookies() const {
    std::string all = call_.core->jar().cookies_for(to_, shard_->owner().unix_time());
    if (left_origin_) return all;
    for (const field& f : call_.fields) {
        if (f.id != field_id::cookie) continue;
        if (!all.empty()) all += "; ";
        all += f.value;
    }
    return all;
}

std::expected<void, error> running_call::compose() {
    // Optional, so that requests without credentials do not pay for wiping them.
    std::optional<secret> own;
    std::optional<secret> proxy;
    std::string cookies;
    outgoing_head head;
    head.method = method_;
    head.known_method = call_method();
    head.to = &to_;
    head.call = &call_;
    head.options = options_;
    head.whole_url = origin_->forwards();
    head.without_credentials = left_origin_;
    head.has_body = has_body();
    head.body_dropped = body_dropped_;
    head.upgrades = call_.fields.contains(field_id::upgrade);
    head.closes = call_.fields.has_token(field_id::connection, "close");
    if (auth_ != nullptr) {
        auto given = authorization();
        if (!given) return std::unexpected(fail(std::move(given).error(), phase::send));
        head.authorization = own.emplace(*std::move(given)).reveal();
    }
    head.has_secrets =
        auth_ != nullptr || head.whole_url || call_.fields.contains(field_id::authorization);
    if (options_->cookies) {
        cookies = all_cookies();
        head.cookies = cookies;
    }
    proxy_may_challenge_ = false;
    if (head.whole_url) {
        auto given = proxy_authorization();
        if (!given) return std::unexpected(fail(std::move(given).error(), phase::send));
        proxy_may_challenge_ =
            given->reveal().empty() && origin_->proxy()->authenticator() != nullptr;
        head.proxy_authorization = proxy.emplace(*std::move(given)).reveal();
    }
    if (head.has_body) head.length = call_.body.size();
    head.expect_continue = sent_expect_ = expects_continue();
    exchange_->begin(head);
    return {};
}

/// Waits until sending `bytes` more keeps to the rate.
task<std::expected<void, error>> running_call::keep_to_rate(coracle::detail::context& context,
                                                            std::uint64_t bytes) {
    const duration ahead = rate_.ahead(sent() + bytes, options_->rate_limit, now());
    if (ahead == duration::zero()) co_return std::expected<void, error>();
    limit_.begin(context, duration::zero(), attempt_deadline_);
    auto sleeping = sleep_for(ahead);
    auto slept = co_await as_result(sleeping);
    limit_.end();
    if (slept) co_return std::expected<void, error>();
    if (limit_.passed()) co_return std::unexpected(out_of_time(phase::send, "idle_timeout"));
    co_return std::unexpected(std::move(slept).error());
}

/// The most bytes passed to the exchange at once: fewer with a rate limit.
std::uint64_t running_call::largest_step() const noexcept {
    const std::uint64_t rate = options_->rate_limit;
    return rate == 0 ? body_step : std::clamp<std::uint64_t>(rate / 8, 1, body_step);
}

error running_call::sends_too_slowly() const {
    return fail(error(errc::too_slow, "low_speed_limit"), phase::send);
}

/// Returns the watch that ends the call when the body of the request is sent too slowly; null
/// without a minimum speed.
send_speed* running_call::slow_upload_watch() {
    if (options_->low_speed_limit == 0 || options_->low_speed_time <= duration::zero() ||
        !has_body()) {
        return nullptr;
    }
    if (send_speed_ == nullptr) {
        send_speed_ = std::make_unique<send_speed>(shard_->owner(), options_->low_speed_limit,
                                                   options_->low_speed_time);
    }
    return send_speed_.get();
}

/// Awaits `sending` within the timeouts.
task<std::expected<void, error>> running_call::send_now(task<std::expected<void, error>> sending) {
    // This may be another context than that of the call, in a function that writes the body.
    auto& context = co_await coracle::detail::current_context();
    limit_.begin(context, options_->idle_timeout, attempt_deadline_, {&bytes_sent, &*exchange_});
    send_speed* const speed = slow_upload_watch();
    if (speed != nullptr) speed->begin(context, *exchange_);
    auto sent = co_await std::move(sending);
    const bool late = !sent && limit_.passed();
    limit_.end();
    if (speed != nullptr) speed->end();
    if (sent) co_return std::expected<void, error>();
    if (speed != nullptr && speed->too_slow()) co_return std::unexpected(sends_too_slowly());
    if (late) co_return std::unexpected(out_of_time(phase::send, "idle_timeout"));
    co_return std::unexpected(fail(std::move(sent).error(), phase::send));
}

task<std::expected<void, error>> running_call::send_flush() {
    return send_now(exchange_->flush());
}

task<std::expected<void, error>> running_call::send_end(const fields* trailers) {
    return send_now(exchange_->finish(trailers));
}

task<std::expected<void, error>> running_call::send_piece(std::string_view piece, follows next) {
    if (options_->rate_limit == 0) {
        auto sending = send_now(exchange_->send(piece, next));
        co_return co_await std::move(sending);
    }
    auto& context = co_await coracle::detail::current_context();
    while (!piece.empty()) {
        const std::string_view step = piece.substr(0, largest_step());
        piece.remove_prefix(step.size());
        auto due = co_await keep_to_rate(context, step.size());
        if (!due) co_return due;
        const follows then = piece.empty() ? next : follows::at_once;
        auto sending = send_now(exchange_->send(step, then));
        auto sent = co_await std::move(sending);
        if (!sent) co_return sent;
    }
    co_return std::expected<void, error>();
}

task<std::expected<void, error>> running_call::send_bytes(std::string_view bytes) {
    if (bytes.empty()) co_return co_await send_end();
    while (!bytes.empty()) {
        const std::string_view step = bytes.substr(0, largest_step());
        bytes.remove_prefix(step.size());
        const follows next = bytes.empty() ? follows::nothing : follows::at_once;
        auto sent = co_await send_piece(step, next);
        if (!sent) co_return sent;
        if (!report_sent(step.size())) {
            co_return std::unexpected(error(std::errc::operation_canceled, "on_progress"));
        }
    }
    co_return std::expected<void, error>();
}

task<std::expected<void, error>> running_call::send_file_body() {
    const file_range& file = call_.body.file_part();
    auto& context = co_await coracle::detail::current_context();
    std::uint64_t at = 0;
    while (at != file.size()) {
        const std::uint64_t step = std::min(file.size() - at, largest_step());
        if (options_->rate_limit != 0) {
            auto due = co_await keep_to_rate(context, step);
            if (!due) co_return due;
        }
        const follows next = at + step == file.size() ? follows::nothing : follows::at_once;
        auto sending = send_now(exchange_->send_file(file.fd(), file.offset() + at, step, next));
        auto sent = co_await std::move(sending);
        if (!sent) co_return sent;
        at += step;
        if (!report_sent(step)) {
            co_return std::unexpected(error(std::errc::operation_canceled, "on_progress"));
        }
    }
    if (file.size() == 0) co_return co_await send_end();
    co_return std::expected<void, error>();
}

task<std::expected<void, error>> running_call::send_head_and_body() {
    body_bytes_ = 0;
    if (!has_body()) co_return co_await send_flush();
    switch (call_.body.type()) {
        case body::kind::file: co_return co_await send_file_body();
        case body::kind::stream: break;
        default: co_return co_await send_bytes(call_.body.bytes());
    }
    body_sent_ = true;
    const auto size = call_.body.size();
    request_body_writer writer(*this, size);
    // The function may wait for anything.
    auto work = with_deadline(attempt_deadline_, call_.body.stream_part()(writer));
    auto written = co_await as_result(work);
    const bool failed = !written || writer.problem() != nullptr;
    if (failed && now() >= attempt_deadline_)
        co_return std::unexpected(out_of_time(phase::send, "idle_timeout"));
    // The error of the connection comes first, even if the function ignored it: nothing may follow
    // a piece that was sent in part.
    if (writer.problem() != nullptr) co_return std::unexpected(*writer.problem());
    if (!written) co_return std::unexpected(std::move(written).error());
    if (size && writer.written() != *size) {
        co_return std::unexpected(announced_otherwise(*size, "fewer"));
    }
    const fields* const trailers = size ? nullptr : writer.trailers();
    co_return co_await send_end(trailers);
}

bool running_call::has_body() const noexcept {
    return call_.has_body && !body_dropped_;
}

bool running_call::expects_continue() const noexcept {
    if (!has_body() || !may_expect_) return false;
    // Without a challenge it is refused, and a stream can be sent once.
    const bool is_once = call_.body.type() == body::kind::stream && !call_.repeatable;
    const bool may_be_challenged =
        proxy_may_challenge_ ||
        (auth_ != nullptr && auth_->needs_challenge() && !has_own_authorization());
    if (is_once && may_be_challenged) return true;
    if (options_->expect_continue_above == 0) return false;
    const auto size = call_.body.size();
    return !size || *size > options_->expect_continue_above;
}

/// Sends small requests, which fit the socket's buffer, without a coroutine.
bool running_call::send_at_once() {
    if (options_->rate_limit != 0 || expects_continue() || (call_.reports_progress() && has_body()))
        return false;
    std::string_view content;
    if (has_body()) {
        if (!call_.body.in_memory() || call_.body.bytes().size() > copied_body) return false;
        content = call_.body.bytes();
    }
    body_bytes_ = 0;
    flushes_ = !exchange_->try_send(content);
    return !flushes_;
}

/// Waits for the head of the response while the request is sent. Who reads the response then reads
/// this head again.
task<std::expected<void, error>> running_call::await_final_head() {
    for (;;) {
        const head_state state = read_next_head();
        if (state == head_state::broken) co_return std::unexpected(head_error());
        if (state == head_state::interim) continue;
        if (state == head_state::final) co_return std::expected<void, error>();
        exchange_wait more(*exchange_);
        auto come = co_await as_result(more);
        if (!come) co_return std::unexpected(head_failure(std::move(come).error()));
    }
}

/// Completes when the server has refused the request or the connection has failed, so that sending
/// can stop (RFC 9112 section 9.5).
task<std::expected<void, error>> running_call::await_refusal() {
    auto coming = await_final_head();
    auto came = co_await std::move(coming);
    if (!came || start_.code >= 300) co_return came;
    // The server wants the rest of the body too.
    auto waiting = forever();
    co_return co_await as_result(waiting);
}

task<std::expected<void, error>> running_call::send_unless_refused() {
    auto both = when_any(send_head_and_body(), await_refusal());
    auto first = co_await std::move(both);
    if (first.index == 0) co_return std::move(first.value);
    // Only now the bytes sent by the cancelled task are known.
    if (first.value)
        exchange_->cut();
    else
        first.value.error().retry_is_safe(may_be_sent_again());
    co_return std::move(first.value);
}

task<std::expected<void, error>> running_call::send_request() {
    if (flushes_) co_return co_await send_flush();
    if (expects_continue()) {
        auto sent = co_await send_flush();
        if (!sent) co_return sent;
        auto goes_on = co_await wait_for_continue();
        if (!goes_on) co_return std::unexpected(std::move(goes_on).error());
        if (!*goes_on) {
            exchange_->cut();
            co_return std::expected<void, error>();
        }
    }
    if (!has_body()) co_return co_await send_head_and_body();
    if (call_.more().on_response) co_return co_await send_and_receive();
    co_return co_await send_unless_refused();
}

}  // namespace coracle::http::detail
