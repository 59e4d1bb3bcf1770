#include "http/client/incoming.hpp"

#include "base/ascii.hpp"
#include "http/client/call_failure.hpp"
#include "http/message/token.hpp"

#include <coracle/http/coding.hpp>
#include <coracle/runtime/sleep.hpp>

#include <algorithm>
#include <cstring>
#include <tuple>

namespace coracle::http::detail {

namespace {

/// What stands before an object: the size of its block.
constexpr std::size_t block_head = alignof(std::max_align_t);

}  // namespace

void* incoming::operator new(std::size_t size, room behind) {
    const std::size_t all = block_head + size + behind.bytes;
    void* const block = ::new (coracle::detail::allocate_block(all)) std::size_t(all);
    return static_cast<char*>(block) + block_head;
}

void incoming::operator delete(void* p) noexcept {
    void* const block = static_cast<char*>(p) - block_head;
    coracle::detail::deallocate_block(block, *static_cast<const std::size_t*>(block));
}

// Not in the memory of the fields, which whoever has the response may free.
void incoming::holds(std::string_view all, const body_rules& rules) noexcept {
    rules_ = rules;
    char* const copy = reinterpret_cast<char*>(this + 1);
    if (!all.empty()) std::memcpy(copy, all.data(), all.size());
    rest_ = {copy, all.size()};
    there_ = true;
    left_ = all.size();
    body_ = all.empty() ? received_body() : received_body(this);
}

void incoming::comes_from(lease from, h1::body_framing framing, std::uint64_t length, bool reusable,
                          const body_rules& rules) {
    rules_ = rules;
    lease_ = std::move(from);
    framing_ = framing;
    left_ = length;
    reusable_ = reusable;
    if (framing == h1::body_framing::chunked) decoder_.emplace();
    body_ = received_body(this);
    slow_bytes_ = lease_->input.size();
}

void incoming::decode(fields& of, const client_options& o) {
    std::vector<content_coding> codings;
    constexpr decoding_limits defaults;
    static_assert(defaults.codings <= std::tuple_size_v<decltype(answer_info::decoded)>);
    for (const field& f : of) {
        if (f.id != field_id::content_encoding) continue;
        std::string_view rest = f.value;
        while (!rest.empty()) {
            const auto coding = find_content_coding(trim_ows(coracle::detail::take_item(rest)));
            // What is not known here is for the caller to decode.
            if (!coding || codings.size() == defaults.codings) return;
            if (*coding != content_coding::identity) codings.push_back(*coding);
        }
    }
    constexpr decoding_limit_names names{"client_options.response_limit",
                                         "client_options.compression_ratio"};
    decoding_limits limits;
    limits.decoded = o.response_limit != 0 ? o.response_limit : ~std::uint64_t{0};
    limits.ratio = o.compression_ratio;
    // The one applied last comes off first (RFC 9110 section 8.4).
    for (auto coding = codings.rbegin(); coding != codings.rend(); ++coding) {
        decoders_.push_back(std::make_unique<decoding_source>(body_, *coding, limits, names));
        body_ = received_body(decoders_.back().get());
    }
    if (codings.empty()) return;
    of.remove("Content-Encoding");
    of.remove("Content-Length");
    std::ranges::copy(codings, info_.decoded.begin());
}

std::optional<std::uint64_t> incoming::length() const noexcept {
    if (there_ || framing_ == h1::body_framing::length) return left_;
    if (framing_ == h1::body_framing::none) return 0;
    return std::nullopt;
}

error incoming::failed(error e) {
    ++shard_->counts.failed;
    lease_.close(true);
    framing_ = h1::body_framing::none;
    rest_ = {};
    std::string about;
    if (method_ != method::other) about.append(to_string(method_)).append(" ");
    about.append(info_.url.redacted());
    about.append(" (").append(info_.peer.to_string()).append(")");
    if (!e.subject().empty()) about.append(": ").append(e.subject());
    e.in(phase::receive).on(about).on_attempt(info_.attempts).after_bytes(received_);
    answer_info so_far = info_;
    // Its own loop may have ended.
    if (const loop* const here = loop::current()) so_far.times.ended = here->now() - started_;
    e.with(std::make_shared<const call_failure>(std::move(so_far)));
    failure_ = std::make_unique<error>(e);
    return e;
}

std::optional<detached_connection> incoming::detach() noexcept {
    if (!left_http_ || !lease_ || !lease_->alive()) return std::nullopt;
    buffer received = std::move(lease_->input);
    return detached_connection{lease_.detach(), std::move(received)};
}

void incoming::refused(std::error_code why) noexcept {
    if (failure_ == nullptr) static_cast<void>(failed(error(why, "body")));
}

void incoming::finish() {
    framing_ = h1::body_framing::none;
    there_ = true;
    rest_ = {};
    info_.times.ended = shard_->owner().now() - started_;
    if (!lease_) return;
    // Bytes that no request asked for are no answer to the next one either.
    if (reusable_ && lease_->input.empty()) {
        lease_.give_back();
    } else {
        lease_.close(false);
    }
}

std::expected<std::string_view, error> incoming::lend(std::string_view piece) {
    lent_ = piece.size();
    info_.bytes_received += piece.size();
    auto taken = take(piece.size());
    if (!taken) return std::unexpected(std::move(taken).error());
    return piece;
}

std::expected<void, error> incoming::take(std::size_t bytes) {
    received_ += bytes;
    if (is_beyond(received_)) {
        error e(errc::limit_exceeded, "body");
        return std::unexpected(failed(std::move(e.on("client_options.response_limit"))));
    }
    if (!tell_) return {};
    progress_.received = received_;
    if (tell_(progress_)) return {};
    return std::unexpected(failed(error(std::errc::operation_canceled, "on_progress")));
}

/// What came with the head.
std::expected<std::string_view, error> incoming::take_what_is_there() {
    left_ = 0;
    const std::string_view all = std::exchange(rest_, std::string_view());
    if (all.empty()) return all;
    auto taken = take(all.size());
    if (!taken) return std::unexpected(std::move(taken).error());
    return all;
}

std::expected<std::string_view, error> incoming::next_of_length() {
    std::string_view piece = lease_->input.view();
    if (piece.size() > left_) piece = piece.substr(0, left_);
    left_ -= piece.size();
    return piece.empty() ? std::expected<std::string_view, error>() : lend(piece);
}

std::expected<std::string_view, error> incoming::next_of_chunks() {
    buffer& input = lease_->input;
    while (!input.empty()) {
        const h1::chunk_event e = decoder_->decode(input.view());
        switch (e.status) {
            case h1::chunk_status::data:
                input.consume(static_cast<std::size_t>(e.data.data() - input.data()));
                return lend(e.data);
            case h1::chunk_status::end:
                input.consume(e.consumed);
                if (!decoder_->trailers().empty()) {
                    trailers_ = std::make_unique<fields>();
                    trailers_->adopt(decoder_->trailers().data(), decoder_->trailers().size());
                }
                finish();
                return std::string_view();
            case h1::chunk_status::need_more: input.consume(e.consumed); break;
            case h1::chunk_status::error:
                return std::unexpected(failed(error(make_error_code(e.error), "body")));
        }
    }
    return std::string_view();
}

std::expected<std::string_view, error> incoming::next_piece() {
    lease_->input.consume(std::exchange(lent_, 0));
    switch (framing_) {
        case h1::body_framing::length:
            if (left_ == 0) {
                finish();
                return std::string_view();
            }
            return next_of_length();
        case h1::body_framing::chunked: return next_of_chunks();
        default: {
            const std::string_view all = lease_->input.view();
            return all.empty() ? std::expected<std::string_view, error>() : lend(all);
        }
    }
}

error incoming::stalled() {
    const bool over = shard_->owner().now() >= rules_.whole;
    error e(std::errc::timed_out, over ? "total_timeout" : "idle_timeout");
    return failed(std::move(e));
}

std::uint32_t incoming::largest_block() const noexcept {
    // What keeps to a rate takes small steps.
    std::uint64_t most = rules_.rate == 0 ? rules_.block : 0;
    if (framing_ == h1::body_framing::length) most = std::min(most, left_);
    constexpr std::uint64_t least = buffer::default_capacity;
    constexpr std::uint64_t largest = client_connection::largest_block;
    return static_cast<std::uint32_t>(std::clamp(most, least, largest));
}

task<std::expected<void, error>> incoming::receive_more() {
    loop& l = shard_->owner();
    auto& who = co_await coracle::detail::current_context();
    waiting_limit limit(l);
    const bool by_speed =
        watches_speed() && (rules_.idle <= duration::zero() || speed_patience() < rules_.idle);
    const time_point since = l.now();
    limit.begin(who, by_speed ? speed_patience() : rules_.idle, rules_.whole);
    receiving_ = true;
    const bool knows_rest = framing_ == h1::body_framing::length;
    net::receive receiving = lease_->receive_body(largest_block(), knows_rest ? left_ : ~0ull);
    auto got = co_await as_result(receiving);
    limit.end();
    lease_->was_received();
    slow_time_ += l.now() - since;
    // What always has more waits for nothing, and has to end in time too.
    if (l.now() >= rules_.whole) co_return std::unexpected(stalled());
    receiving_ = false;
    if (got) {
        lease_->input = *std::move(got);
        co_return count(lease_->input.size());
    }
    if (limit.passed() && by_speed) {
        lease_->input = std::move(receiving.received());
        co_return count(0);
    }
    if (limit.passed()) co_return std::unexpected(stalled());
    // Without a length the end of the connection is that of the body.
    if (framing_ == h1::body_framing::until_close && got.error() == errc::end_of_stream) {
        finish();
        co_return std::expected<void, error>();
    }
    co_return std::unexpected(failed(std::move(got).error()));
}

task<std::expected<void, error>> incoming::keep_to_rate() {
    loop& l = shard_->owner();
    if (reading_since_ == time_point()) reading_since_ = l.now();
    const double due = static_cast<double>(received_) / static_cast<double>(rules_.rate);
    // As much as a number of nanoseconds can say.
    constexpr double longest = 1e9;
    const std::chrono::duration<double> wanted(std::min(due, longest));
    const duration ahead =
        std::chrono::duration_cast<duration>(wanted) - (l.now() - reading_since_);
    if (ahead <= std::chrono::milliseconds(1)) co_return std::expected<void, error>();
    const duration left = rules_.whole == time_point::max() ? ahead : rules_.whole - l.now();
    auto sleeping = sleep_for(std::min(ahead, left));
    auto slept = co_await as_result(sleeping);
    if (!slept) co_return std::unexpected(failed(std::move(slept).error()));
    if (l.now() >= rules_.whole) co_return std::unexpected(stalled());
    co_return std::expected<void, error>();
}

std::expected<void, error> incoming::count(std::size_t bytes) {
    if (!watches_speed()) return {};
    slow_bytes_ += bytes;
    if (slow_time_ < rules_.low_speed_time) return {};
    const double rate =
        static_cast<double>(slow_bytes_) / std::chrono::duration<double>(slow_time_).count();
    slow_time_ = duration::zero();
    slow_bytes_ = 0;
    if (rate >= static_cast<double>(rules_.low_speed)) return {};
    return std::unexpected(failed(error(errc::too_slow, "low_speed_limit")));
}

task<std::expected<std::string_view, error>> incoming::read() {
    if (failure_ != nullptr) co_return std::unexpected(*failure_);
    // Its loop has ended, and this may be another one.
    if (lease_ && !lease_->alive()) {
        co_return std::unexpected(failed(error(errc::shutting_down, "body")));
    }
    if (there_) co_return take_what_is_there();
    // Bytes that were on their way into a wait that was given up may be gone.
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
        if (there_) co_return std::string_view();
    }
}

}  // namespace coracle::http::detail
