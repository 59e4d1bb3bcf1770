#include "http/server/request_body.hpp"

#include "http/server/connection.hpp"

#include <coracle/http/coding.hpp>

namespace coracle::http::detail {

void request_body::begin(connection& c, h1::body_framing framing, std::uint64_t length,
                         bool expects_continue) {
    connection_ = &c;
    framing_ = framing;
    continue_due_ = expects_continue;
    left_ = length;
    received_ = 0;
    lent_ = 0;
    broken_ = false;
    trailers_.reset();
    waited_ = duration::zero();
    patience_ = c.owner().options().timeouts.body;
    if (framing == h1::body_framing::chunked) {
        const server_limits& l = c.owner().options().limits;
        decoder_ =
            h1::chunked_decoder({l.chunk_line, l.chunk_overhead, l.trailers, l.trailer_fields});
    }
}

std::optional<std::uint64_t> request_body::length() const noexcept {
    if (framing_ == h1::body_framing::chunked) return std::nullopt;
    return complete() ? 0 : left_;
}

bool request_body::too_slow() const noexcept {
    const server_timeouts& t = connection_->owner().options().timeouts;
    if (t.body_rate == 0 || waited_ <= t.body_grace) return false;
    const double wanted = std::chrono::duration<double>(waited_).count() * t.body_rate;
    return static_cast<double>(received_) < wanted;
}

std::unexpected<error> request_body::refuse(std::error_code why) {
    broken_ = true;
    connection_->body_is_broken();
    return std::unexpected(error(why, "body", phase::receive));
}

std::expected<std::string_view, error> request_body::counted(std::string_view piece) {
    received_ += piece.size();
    lent_ = piece.size();
    if (received_ <= connection_->owner().options().limits.body) return piece;
    return refuse(make_error_code(status::content_too_large));
}

void request_body::keep_trailers() {
    const auto& received = decoder_.trailers();
    if (received.empty()) return;
    trailers_ = std::make_unique<fields>();
    trailers_->adopt(received.data(), received.size());
}

void request_body::refused(std::error_code why) noexcept {
    using counters = server_counters;
    auto counter = &counters::undecodable;
    if (why == coding_error::too_large)
        counter = &counters::decoded_too_large;
    else if (why == coding_error::ratio_exceeded)
        counter = &counters::decoded_ratio;
    connection_->owner().count(counter);
    connection_->body_is_broken();
    broken_ = true;
}

std::expected<std::string_view, error> request_body::next_of_length() {
    std::string_view piece = connection_->input().view();
    if (piece.size() > left_) piece = piece.substr(0, left_);
    left_ -= piece.size();
    return counted(piece);
}

std::expected<std::string_view, error> request_body::next_of_chunks() {
    buffer& input = connection_->input();
    while (!input.empty()) {
        const h1::chunk_event e = decoder_.decode(input.view());
        switch (e.status) {
            case h1::chunk_status::data:
                // What stands before the data is done with; the data itself is lent until next
                // time.
                input.consume(static_cast<std::size_t>(e.data.data() - input.data()));
                return counted(e.data);
            case h1::chunk_status::end:
                input.consume(e.consumed);
                framing_ = h1::body_framing::none;
                keep_trailers();
                return std::string_view();
            case h1::chunk_status::need_more: input.consume(e.consumed); break;
            case h1::chunk_status::error:
                connection_->owner().count(&server_counters::chunk_abuse);
                return refuse(make_error_code(e.error));
        }
    }
    return std::string_view();
}

std::expected<std::string_view, error> request_body::next_piece() {
    connection_->input().consume(lent_);
    lent_ = 0;
    if (framing_ == h1::body_framing::length) {
        if (left_ == 0) framing_ = h1::body_framing::none;
        return next_of_length();
    }
    return framing_ == h1::body_framing::chunked ? next_of_chunks() : std::string_view();
}

void request_body::discard_received() {
    while (!complete() && !broken_) {
        const auto piece = next_piece();
        if (!piece || piece->empty()) return;
    }
}

task<std::expected<std::string_view, error>> request_body::read() {
    for (;;) {
        auto piece = next_piece();
        if (!piece || !piece->empty() || complete()) co_return piece;
        if (connection_->waits()) co_return one_at_a_time("body");
        if (continue_due_) {
            continue_due_ = false;
            auto sent = co_await connection_->send_continue();
            if (!sent) co_return std::unexpected(std::move(sent).error());
        }
        auto more = co_await connection_->receive_more_body(*this);
        if (!more) co_return std::unexpected(std::move(more).error());
    }
}

}  // namespace coracle::http::detail
