#include "http/client/incoming.hpp"

#include "base/ascii.hpp"
#include "http/message/token.hpp"

#include <coracle/http/coding.hpp>
#include <coracle/runtime/sleep.hpp>

#include <algorithm>

namespace coracle::http::detail {

void incoming::holds(std::string_view all, const body_rules& rules) noexcept {
    rules_ = rules;
    rest_ = all;
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
    slow_since_ = shard_->owner().now();
    slow_bytes_ = lease_->input.size();
}

void incoming::decode(const fields& of, const client_options& o) {
    std::vector<content_coding> codings;
    constexpr decoding_limits defaults;
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
    there_ = true;
    rest_ = {};
    return std::move(
        e.in(phase::receive)
            .on(std::string(info_.url.redacted()) + " (" + info_.peer.to_string() + ")")
            .after_bytes(received_));
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
        error e = failed(error(errc::limit_exceeded, "body"));
        return std::unexpected(std::move(e.on("client_options.response_limit")));
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

task<std::expected<void, error>> incoming::receive_more() {
    loop& l = shard_->owner();
    buffer& input = lease_->input;
    if (input.empty()) input.release();
    if (input && input.spare_size() == 0) input.reserve_spare(input.capacity());
    auto& who = co_await coracle::detail::current_context();
    waiting_limit limit(l);
    // What is interrupted loses what stands in `input`.
    const bool watched = rules_.low_speed != 0 && input.empty();
    const time_point slow =
        watched ? coracle::detail::later(slow_since_, rules_.low_speed_time) : time_point::max();
    limit.begin(who, rules_.idle, std::min(rules_.whole, slow));
    net::receive receiving =
        input ? lease_->stream().receive_into(std::move(input)) : lease_->stream().receive();
    auto got = co_await as_result(receiving);
    limit.end();
    if (got) {
        lease_->input = *std::move(got);
        co_return std::expected<void, error>();
    }
    // Whether it was too slow is for the one who counts to say.
    if (limit.passed() && slow < rules_.whole && l.now() >= slow) {
        co_return std::expected<void, error>();
    }
    if (limit.passed()) co_return std::unexpected(stalled());
    // Without a length the end of the connection is that of the body.
    if (framing_ == h1::body_framing::until_close && got.error() == errc::end_of_stream) {
        finish();
        co_return std::expected<void, error>();
    }
    error e = std::move(got).error();
    co_return std::unexpected(coracle::detail::is_cancellation(e) ? std::move(e)
                                                                  : failed(std::move(e)));
}

task<void> incoming::keep_to_rate() {
    loop& l = shard_->owner();
    if (reading_since_ == time_point()) reading_since_ = l.now();
    const double due = static_cast<double>(received_) / static_cast<double>(rules_.rate);
    const auto wanted = std::chrono::duration_cast<duration>(std::chrono::duration<double>(due));
    const duration ahead = wanted - (l.now() - reading_since_);
    if (ahead > std::chrono::milliseconds(1)) {
        auto sleeping = sleep_for(ahead);
        static_cast<void>(co_await as_result(sleeping));
    }
}

std::expected<void, error> incoming::count(std::size_t bytes) {
    if (rules_.low_speed == 0) return {};
    slow_bytes_ += bytes;
    const duration since = shard_->owner().now() - slow_since_;
    if (since < rules_.low_speed_time) return {};
    const double rate =
        static_cast<double>(slow_bytes_) / std::chrono::duration<double>(since).count();
    slow_since_ = shard_->owner().now();
    slow_bytes_ = 0;
    if (rate >= static_cast<double>(rules_.low_speed)) return {};
    return std::unexpected(failed(error(errc::too_slow, "low_speed_limit")));
}

task<std::expected<std::string_view, error>> incoming::read() {
    if (there_) co_return take_what_is_there();
    if (rules_.rate != 0) co_await keep_to_rate();
    for (;;) {
        auto piece = next_piece();
        if (!piece || !piece->empty() || there_) co_return piece;
        auto more = co_await receive_more();
        if (!more) co_return std::unexpected(std::move(more).error());
        if (there_) co_return std::string_view();
        auto quick = count(lease_->input.size());
        if (!quick) co_return std::unexpected(std::move(quick).error());
    }
}

}  // namespace coracle::http::detail
