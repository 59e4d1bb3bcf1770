#include "http/client/incoming.hpp"

#include "base/ascii.hpp"
#include "base/flag_guard.hpp"
#include "http/client/call_failure.hpp"
#include "http/client/call_observers.hpp"
#include "http/message/digest_fields.hpp"
#include "http/message/token.hpp"

#include <coracle/http/coding.hpp>
#include <coracle/runtime/sleep.hpp>

#include <algorithm>
#include <cstring>
#include <tuple>

namespace coracle::http::detail {

namespace {

/// The header before an object: the size of its block.
constexpr std::size_t block_head = alignof(std::max_align_t);

}  // namespace

void* incoming::operator new(std::size_t size, tail_size behind) {
    const std::size_t all = block_head + size + behind.bytes;
    void* const block = ::new (coracle::detail::allocate_block(all)) std::size_t(all);
    return static_cast<char*>(block) + block_head;
}

void incoming::operator delete(void* p) noexcept {
    void* const block = static_cast<char*>(p) - block_head;
    coracle::detail::deallocate_block(block, *static_cast<const std::size_t*>(block));
}

// Allocated apart from the fields, because the owner of the response may free those.
void incoming::store(std::string_view all, const body_rules& rules) noexcept {
    rules_ = rules;
    char* const copy = reinterpret_cast<char*>(this + 1);
    if (!all.empty()) std::memcpy(copy, all.data(), all.size());
    rest_ = {copy, all.size()};
    there_ = true;
    body_ = all.empty() ? received_body() : received_body(this);
}

void incoming::read_from(lease from, const body_rules& rules) {
    rules_ = rules;
    exchange_ = std::move(from);
    body_ = received_body(this);
    counted_ = exchange_->received() - exchange_->unread();
}

void incoming::decode(fields& of, const client_options& o) {
    std::vector<content_coding> codings;
    constexpr decoding_limits defaults;
    static_assert(defaults.codings <= std::tuple_size_v<decltype(response_info::decoded)>);
    for (const field& f : of) {
        if (f.id != field_id::content_encoding) continue;
        std::string_view rest = f.value;
        while (!rest.empty()) {
            const auto coding = find_content_coding(trim_ows(coracle::detail::take_item(rest)));
            // The caller has to decode an unknown coding.
            if (!coding || codings.size() == defaults.codings) return;
            if (*coding != content_coding::identity) codings.push_back(*coding);
        }
    }
    constexpr decoding_limit_names names{"client_options::response_limit",
                                         "client_options::compression_ratio"};
    decoding_limits limits;
    limits.decoded = o.response_limit != 0 ? o.response_limit : ~std::uint64_t{0};
    limits.ratio = o.compression_ratio;
    // The coding applied last is removed first (RFC 9110 section 8.4).
    for (auto coding = codings.rbegin(); coding != codings.rend(); ++coding) {
        decoders_.push_back(std::make_unique<decoding_source>(body_, *coding, limits, names));
        body_ = received_body(decoders_.back().get());
    }
    if (codings.empty()) return;
    drop_coding_fields(of);
    std::ranges::copy(codings, info_.decoded.begin());
}

std::optional<std::uint64_t> incoming::length() const noexcept {
    if (there_ || !exchange_) return rest_.size();
    return exchange_->body_left();
}

error incoming::failed(error e) {
    if (!is_drained_) ++shard_->counts.failed;
    exchange_.end(fate::cancelled);
    rest_ = {};
    std::string about;
    if (method_ != method::other) about.append(to_string(method_)).append(" ");
    about.append(info_.url.redacted());
    about.append(" (").append(info_.peer.to_string()).append(")");
    if (!e.subject().empty()) about.append(": ").append(e.subject());
    e.in(phase::receive).on(about).on_attempt(info_.attempts).after_bytes(received_);
    response_info so_far = info_;
    // Its own loop may have ended.
    if (const loop* const here = loop::current()) so_far.times.ended = here->now() - started_;
    e.with(std::make_shared<const call_failure>(std::move(so_far)));
    failure_ = std::make_unique<error>(e);
    notify_of_end(failure_.get(), false);
    return e;
}

void incoming::notify_of_end(const error* failure, bool is_whole) noexcept {
    if (!std::exchange(is_observed_, false)) return;
    notify(shard_->observers(), {info_, method_, status_, failure, is_whole});
}

std::optional<detached_connection> incoming::detach() noexcept {
    if (!left_http_ || !exchange_ || !exchange_->alive()) return std::nullopt;
    detached_connection all;
    all.stream = exchange_.detach(all.received, *shard_);
    return all;
}

error incoming::refused(error why) {
    return failure_ == nullptr ? failed(std::move(why)) : std::move(why);
}

void incoming::finish() {
    there_ = true;
    rest_ = {};
    info_.times.ended = shard_->owner().now() - started_;
    trailers_ = exchange_->take_trailers();
    exchange_.end(fate::finished);
    notify_of_end(nullptr, true);
}

std::expected<std::string_view, error> incoming::lend(std::string_view piece) {
    info_.bytes_received += piece.size();
    auto taken = take(piece.size());
    if (!taken) return std::unexpected(std::move(taken).error());
    return piece;
}

std::expected<void, error> incoming::take(std::size_t bytes) {
    received_ += bytes;
    if (is_beyond(received_)) {
        error e(errc::limit_exceeded, "body");
        return std::unexpected(failed(std::move(e.on("client_options::response_limit"))));
    }
    if (!report_) return {};
    progress_.received = received_;
    try {
        if (report_(progress_)) return {};
    } catch (...) {
        // The bytes are lost to the reader: what comes behind them is no body.
        static_cast<void>(failed(error(std::errc::operation_canceled, "on_progress")));
        throw;
    }
    return std::unexpected(failed(error(std::errc::operation_canceled, "on_progress")));
}

/// Returns the bytes that were received with the head.
std::expected<std::string_view, error> incoming::take_received() {
    const std::string_view all = std::exchange(rest_, std::string_view());
    if (all.empty()) return all;
    auto taken = take(all.size());
    if (!taken) return std::unexpected(std::move(taken).error());
    return all;
}

std::expected<std::string_view, error> incoming::next_piece() {
    auto piece = exchange_->read_body();
    if (!piece) return std::unexpected(failed(std::move(piece).error()));
    if (!piece->empty()) return lend(*piece);
    if (exchange_->body_ended()) finish();
    return piece;
}

error incoming::stalled() {
    const bool over = shard_->owner().now() >= rules_.deadline;
    error e(std::errc::timed_out, over ? "total_timeout" : "idle_timeout");
    return failed(std::move(e));
}

task<std::expected<void, error>> incoming::receive_more() {
    loop& l = shard_->owner();
    auto& context = co_await coracle::detail::current_context();
    waiting_limit limit(l);
    const bool by_speed =
        watches_speed() && (rules_.idle <= duration::zero() || speed_patience() < rules_.idle);
    const time_point since = l.now();
    limit.begin(context, by_speed ? speed_patience() : rules_.idle, rules_.deadline);
    receiving_ = true;
    // With a rate limit, pieces are small.
    exchange_wait more(*exchange_, rules_.rate == 0 ? std::max<std::uint64_t>(rules_.block, 1) : 1);
    auto come = co_await as_result(more);
    limit.end();
    slow_time_ += l.now() - since;
    // A body that always has more bytes never waits, so check the deadline here.
    if (l.now() >= rules_.deadline) co_return std::unexpected(stalled());
    receiving_ = false;
    if (come || (limit.passed() && by_speed)) co_return watch_speed();
    if (limit.passed()) co_return std::unexpected(stalled());
    co_return std::unexpected(failed(std::move(come).error()));
}

task<std::expected<void, error>> incoming::keep_to_rate() {
    loop& l = shard_->owner();
    const duration ahead = rate_.ahead(received_, rules_.rate, l.now());
    if (ahead == duration::zero()) co_return std::expected<void, error>();
    const duration left = rules_.deadline == time_point::max() ? ahead : rules_.deadline - l.now();
    auto sleeping = sleep_for(std::min(ahead, left));
    auto slept = co_await as_result(sleeping);
    if (!slept) co_return std::unexpected(failed(std::move(slept).error()));
    if (l.now() >= rules_.deadline) co_return std::unexpected(stalled());
    co_return std::expected<void, error>();
}

std::expected<void, error> incoming::watch_speed() {
    if (!watches_speed() || slow_time_ < rules_.low_speed_time) return {};
    const std::uint64_t bytes =
        exchange_->received() - std::exchange(counted_, exchange_->received());
    const double rate =
        static_cast<double>(bytes) / std::chrono::duration<double>(slow_time_).count();
    slow_time_ = duration::zero();
    if (rate >= static_cast<double>(rules_.low_speed)) return {};
    return std::unexpected(failed(error(errc::too_slow, "low_speed_limit")));
}

task<std::expected<std::string_view, error>> incoming::read() {
    if (failure_ != nullptr) co_return std::unexpected(*failure_);
    if (reading_) {
        co_return std::unexpected(error(std::errc::operation_in_progress, "body", phase::receive));
    }
    const coracle::detail::flag_guard reads(reading_);
    // The loop of the call has ended, and this code may run on another one.
    if (exchange_ && !exchange_->alive()) {
        co_return std::unexpected(failed(error(errc::shutting_down, "body")));
    }
    if (there_) co_return take_received();
    // Bytes that a cancelled wait was about to receive may be lost.
    if (receiving_) {
        co_return std::unexpected(failed(error(std::errc::operation_canceled, "body")));
    }
    if (rules_.rate != 0) {
        auto due = co_await keep_to_rate();
        if (!due) co_return std::unexpected(std::move(due).error());
    }
    for (;;) {
        auto piece = next_piece();
        if (!piece || !piece->empty() || there_) co_return piece;
        auto more = co_await receive_more();
        if (!more) co_return std::unexpected(std::move(more).error());
    }
}

}  // namespace coracle::http::detail
