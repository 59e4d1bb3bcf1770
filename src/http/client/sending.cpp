// How a request is written: its head and its body.

#include "http/client/running_call.hpp"
#include "http/h1/head_writer.hpp"

#include <coracle/runtime/event.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <algorithm>

namespace coracle::http::detail {
namespace {

/// Bodies that are copied behind the head, so that both leave in one piece.
constexpr std::size_t copied_body = 4096;
/// Bytes of a body that are handed over at once.
constexpr std::size_t body_step = 1024 * 1024;

}  // namespace

/// Writes the body of a request that is made while it is sent.
class request_body_writer final : public body_writer {
public:
    /// `size` is the announced one; without it the body is chunked.
    request_body_writer(running_call& call, std::string_view head,
                        std::optional<std::uint64_t> size) noexcept
        : call_(call), head_(head), size_(size), chunked_(!size) {}

    task<std::expected<void, error>> finish() {
        if (!chunked_) co_return co_await send_head();
        char end[h1::body_end_size];
        static_cast<void>(h1::write_body_end(end));
        slice pieces[] = {head_, std::string_view(end, sizeof end)};
        head_ = {};
        co_return co_await call_.send_pieces(pieces, false);
    }
    std::uint64_t written() const noexcept { return written_; }
    const std::unique_ptr<error>& problem() const noexcept { return problem_; }

protected:
    task<std::expected<void, error>> write_piece(std::string_view piece) override {
        if (problem_ != nullptr) co_return std::unexpected(*problem_);
        if (piece.empty()) co_return std::expected<void, error>();
        // What is behind the announced length would be the next request to the server.
        if (size_ && piece.size() > *size_ - written_) {
            problem_ = std::make_unique<error>(call_.announced_otherwise(*size_, "more"));
            co_return std::unexpected(*problem_);
        }
        char size[h1::chunk_header_size];
        const char* const size_end = chunked_ ? h1::write_chunk_header(size, piece.size()) : size;
        slice pieces[] = {head_, std::string_view(size, size_end), piece,
                          std::string_view(chunked_ ? "\r\n" : "")};
        head_ = {};
        written_ += piece.size();
        auto sent = co_await call_.send_pieces(pieces, false);
        if (sent && !call_.tell_sent(piece.size())) {
            sent = std::unexpected(error(std::errc::operation_canceled, "on_progress"));
        }
        if (!sent) problem_ = std::make_unique<error>(sent.error());
        co_return sent;
    }
    task<std::expected<void, error>> send_head() override {
        if (problem_ != nullptr) co_return std::unexpected(*problem_);
        if (head_.empty()) co_return std::expected<void, error>();
        slice pieces[] = {head_};
        head_ = {};
        auto sent = co_await call_.send_pieces(pieces, false);
        if (!sent) problem_ = std::make_unique<error>(sent.error());
        co_return sent;
    }

private:
    running_call& call_;
    std::string_view head_;
    std::optional<std::uint64_t> size_;
    bool chunked_;
    std::uint64_t written_ = 0;
    std::unique_ptr<error> problem_;
};

/// The function that makes the body is at fault.
error running_call::announced_otherwise(std::uint64_t size, const char* written) const {
    error e(std::errc::invalid_argument, "body");
    e.on(std::string("it has ") + written + " bytes than the " + std::to_string(size) +
         " that were announced");
    return fail(std::move(e), phase::send);
}

bool running_call::tell_sent(std::uint64_t bytes) {
    body_bytes_ += bytes;
    if (!call_.tells()) return true;
    progress p;
    p.sent = body_bytes_;
    p.to_send = call_.body.size();
    return call_.extras->tell(p);
}

std::expected<void, error> running_call::compose(buffer& out) {
    auto authorized = authorization();
    if (!authorized) return std::unexpected(fail(std::move(authorized).error(), phase::send));
    head_extras extras;
    extras.whole_url = origin_->forwards();
    extras.without_credentials = left_origin_;
    extras.without_body = !has_body();
    extras.upgrades = call_.fields.contains(field_id::upgrade);
    extras.authorization = authorized->reveal();
    std::string cookies;
    if (options_->cookies && !call_.fields.contains(field_id::cookie)) {
        cookies = call_.core->jar().cookies_for(to_, shard_->owner().unix_time());
        extras.cookies = cookies;
    }
    secret proxy;
    if (extras.whole_url) {
        auto given = proxy_authorization();
        if (!given) return std::unexpected(fail(std::move(given).error(), phase::send));
        proxy = *std::move(given);
        extras.proxy_authorization = proxy.reveal();
    }
    const auto size = has_body() ? call_.body.size() : std::optional<std::uint64_t>(0);
    extras.expect_continue = asks_before_body();
    write_request_head(out, method_, to_, call_, *options_, extras, has_body(), size);
    return {};
}

/// Waits until so many bytes more are not ahead of the rate.
task<std::expected<void, error>> running_call::keep_to_rate(coracle::detail::context& who,
                                                            std::uint64_t bytes) {
    if (sending_since_ == time_point()) sending_since_ = now();
    const double due =
        static_cast<double>(sent_ + bytes) / static_cast<double>(options_->rate_limit);
    // As much as a number of nanoseconds can say.
    constexpr double longest = 1e9;
    const std::chrono::duration<double> wanted(std::min(due, longest));
    const duration ahead = std::chrono::duration_cast<duration>(wanted) - (now() - sending_since_);
    if (ahead <= std::chrono::milliseconds(1)) co_return std::expected<void, error>();
    limit_.begin(who, duration::zero(), whole_);
    auto sleeping = sleep_for(ahead);
    auto slept = co_await as_result(sleeping);
    limit_.end();
    if (slept) co_return std::expected<void, error>();
    if (limit_.passed()) co_return std::unexpected(out_of_time(phase::send, "idle_timeout"));
    co_return std::unexpected(std::move(slept).error());
}

/// Bytes that are handed over at once: what keeps to a rate takes small steps.
std::uint64_t running_call::largest_step() const noexcept {
    const std::uint64_t rate = options_->rate_limit;
    return rate == 0 ? body_step : std::clamp<std::uint64_t>(rate / 8, 1, body_step);
}

task<std::expected<void, error>> running_call::send_pieces(std::span<slice> pieces, bool more) {
    return options_->rate_limit == 0 ? send_now(pieces, more) : send_slowly(pieces, more);
}

task<std::expected<void, error>> running_call::send_slowly(std::span<slice> pieces, bool more) {
    auto& who = co_await coracle::detail::current_context();
    std::uint64_t left = 0;
    for (const slice& s : pieces) left += s.size;
    for (const slice& s : pieces) {
        std::string_view rest(s.data, s.size);
        while (!rest.empty()) {
            slice step[] = {rest.substr(0, largest_step())};
            rest.remove_prefix(step[0].size);
            left -= step[0].size;
            auto due = co_await keep_to_rate(who, step[0].size);
            if (!due) co_return due;
            auto sent = co_await send_now(step, more || left != 0);
            if (!sent) co_return sent;
        }
    }
    co_return std::expected<void, error>();
}

task<std::expected<void, error>> running_call::send_now(std::span<slice> pieces, bool more) {
    // Not that of the call where a function that makes the body has others beneath it.
    auto& who = co_await coracle::detail::current_context();
    limit_.begin(who, options_->idle_timeout, whole_);
    net::send sending = connection_->stream().send(pieces, more);
    auto sent = co_await as_result(sending);
    const bool late = !sent && limit_.passed();
    sent_ += static_cast<std::uint64_t>(sending.progress());
    limit_.end();
    if (sent) co_return std::expected<void, error>();
    if (late) co_return std::unexpected(out_of_time(phase::send, "idle_timeout"));
    co_return std::unexpected(fail(std::move(sent).error(), phase::send));
}

task<std::expected<void, error>> running_call::send_bytes(std::string_view head,
                                                          std::string_view bytes) {
    do {
        const std::string_view step = bytes.substr(0, largest_step());
        bytes.remove_prefix(step.size());
        slice pieces[] = {head, step};
        head = {};
        auto sent = co_await send_pieces(pieces, !bytes.empty());
        if (!sent) co_return sent;
        if (!tell_sent(step.size())) {
            co_return std::unexpected(error(std::errc::operation_canceled, "on_progress"));
        }
    } while (!bytes.empty());
    co_return std::expected<void, error>();
}

task<std::expected<void, error>> running_call::send_file_body() {
    const file_range& file = call_.body.file_part();
    auto& who = co_await coracle::detail::current_context();
    std::uint64_t at = 0;
    while (at != file.size()) {
        const std::uint64_t step = std::min(file.size() - at, largest_step());
        if (options_->rate_limit != 0) {
            auto due = co_await keep_to_rate(who, step);
            if (!due) co_return due;
        }
        limit_.begin(who, options_->idle_timeout, whole_);
        net::send_file sending =
            connection_->stream().send_file(file.fd(), file.offset() + at, step);
        auto sent = co_await as_result(sending);
        limit_.end();
        sent_ += static_cast<std::uint64_t>(sending.progress());
        if (!sent) {
            if (limit_.passed())
                co_return std::unexpected(out_of_time(phase::send, "idle_timeout"));
            co_return std::unexpected(fail(std::move(sent).error(), phase::send));
        }
        at += step;
        if (!tell_sent(step)) {
            co_return std::unexpected(error(std::errc::operation_canceled, "on_progress"));
        }
    }
    co_return std::expected<void, error>();
}

task<std::expected<void, error>> running_call::send_head_and_body(buffer& out) {
    body_bytes_ = 0;
    if (!has_body()) {
        slice head(out.view());
        co_return co_await send_pieces({&head, 1}, false);
    }
    switch (call_.body.type()) {
        case body::kind::file: {
            slice head(out.view());
            auto sent = co_await send_pieces({&head, 1}, call_.body.file_part().size() != 0);
            if (!sent) co_return sent;
            co_return co_await send_file_body();
        }
        case body::kind::stream: break;
        default: co_return co_await send_bytes(out.view(), call_.body.bytes());
    }
    body_sent_ = true;
    const auto size = call_.body.size();
    request_body_writer writer(*this, out.view(), size);
    // It may wait for anything.
    auto work = with_deadline(whole_, call_.body.stream_part()(writer));
    auto written = co_await as_result(work);
    const bool failed = !written || writer.problem() != nullptr;
    if (failed && now() >= whole_)
        co_return std::unexpected(out_of_time(phase::send, "idle_timeout"));
    // What became of the connection says more than what the function made of it; and behind a
    // piece that did not go out whole nothing may follow, even if the function thinks so.
    if (writer.problem() != nullptr) co_return std::unexpected(*writer.problem());
    if (!written) co_return std::unexpected(std::move(written).error());
    if (size && writer.written() != *size) {
        co_return std::unexpected(announced_otherwise(*size, "fewer"));
    }
    co_return co_await writer.finish();
}

bool running_call::has_body() const noexcept {
    return call_.has_body && !body_dropped_;
}

bool running_call::asks_before_body() const noexcept {
    if (!has_body() || options_->expect_continue_above == 0) return false;
    const auto size = call_.body.size();
    return !size || *size > options_->expect_continue_above;
}

/// Most requests are small and fit into the socket: that takes no coroutine.
bool running_call::send_at_once(buffer& out) {
    if (options_->rate_limit != 0 || asks_before_body() || (call_.tells() && has_body()))
        return false;
    if (has_body()) {
        if (!call_.body.in_memory() || call_.body.bytes().size() > copied_body) return false;
        out.append(call_.body.bytes());
    }
    const std::size_t size = out.size();
    const std::int64_t n = connection_->stream().try_send(out.view());
    if (n > 0) {
        sent_ += static_cast<std::uint64_t>(n);
        out.consume(static_cast<std::size_t>(n));
    }
    if (n != static_cast<std::int64_t>(size)) {
        // What is wrong is said by the operation, which sends the rest.
        rest_has_body_ = true;
        return false;
    }
    body_bytes_ = 0;
    return true;
}

/// Completes when the server has refused the request, or cannot answer it any more. What is sent
/// meanwhile would be in vain (RFC 9112 section 9.5).
task<std::expected<void, error>> running_call::hear_refusal() {
    for (;;) {
        if (!connection_->input.empty()) {
            auto state = look_at_head();
            if (!state) co_return std::unexpected(std::move(state).error());
            if (*state == head_state::interim) continue;
            if (*state == head_state::final) {
                // The loop that reads the answer sees it again.
                connection_->parser.reset();
                if (shard_->head.code >= 300) co_return std::expected<void, error>();
                // It wants the rest, too.
                event never;
                auto waiting = never.wait();
                co_return co_await as_result(waiting);
            }
        }
        net::receive receiving = connection_->receive_more();
        auto got = co_await as_result(receiving);
        take_input(receiving, got);
        if (!got) co_return std::unexpected(head_failure(std::move(got).error()));
    }
}

task<std::expected<void, error>> running_call::send_unless_refused(buffer& out) {
    auto both = when_any(send_head_and_body(out), hear_refusal());
    auto first = co_await std::move(both);
    if (first.index == 0) co_return std::move(first.value);
    // What the other has sent counts only now.
    if (first.value)
        body_whole_ = false;
    else
        first.value.error().retry_is_safe(may_be_sent_again());
    co_return std::move(first.value);
}

task<std::expected<void, error>> running_call::send_request(buffer& out) {
    if (rest_has_body_) {
        slice rest(out.view());
        co_return co_await send_pieces({&rest, 1}, false);
    }
    if (asks_before_body()) {
        slice head(out.view());
        auto sent = co_await send_pieces({&head, 1}, false);
        if (!sent) co_return sent;
        auto goes_on = co_await wait_for_continue();
        if (!goes_on) co_return std::unexpected(std::move(goes_on).error());
        body_whole_ = *goes_on;
        if (!*goes_on) co_return std::expected<void, error>();
        out.clear();
    }
    if (!has_body()) co_return co_await send_head_and_body(out);
    co_return co_await send_unless_refused(out);
}

}  // namespace coracle::http::detail
