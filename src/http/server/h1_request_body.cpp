#include "http/server/h1_request_body.hpp"

#include "base/flag_guard.hpp"
#include "http/server/h1_connection.hpp"

namespace coracle::http::detail {

void h1_request_body::begin(h1_connection& c, h1::body_framing framing, std::uint64_t length,
                            bool expects_continue) {
    connection_ = &c;
    continue_due_ = expects_continue;
    received_ = 0;
    broken_ = false;
    trailers_.reset();
    pace_ = {};
    patience_ = c.owner().options().timeouts.body;
    const h1_limits& l = c.owner().options().limits.h1;
    content_.begin(framing, length, {l.chunk_line, l.chunk_overhead, l.trailers, l.trailer_fields});
}

std::optional<std::uint64_t> h1_request_body::length() const noexcept {
    return content_.left();
}

bool h1_request_body::too_slow() const noexcept {
    return pace_.is_too_slow(received_, connection_->owner().options().timeouts);
}

std::unexpected<error> h1_request_body::refuse(std::error_code why) {
    broken_ = true;
    connection_->body_is_broken();
    return std::unexpected(error(why, "body", phase::receive));
}

void h1_request_body::keep_trailers() {
    const auto received = content_.trailers();
    if (received.empty()) return;
    trailers_ = std::make_unique<fields>();
    trailers_->adopt(received.data(), received.size());
}

error h1_request_body::refused(error why) {
    connection_->owner().count_refused_body(why.code());
    connection_->body_is_broken();
    broken_ = true;
    return why;
}

std::expected<std::string_view, error> h1_request_body::next_piece() {
    buffer& input = connection_->input();
    content_.give_back(input);
    // A client that has begun to send no longer waits for a 100 (RFC 9110 section 10.1.1).
    if (!input.empty()) continue_due_ = false;
    const bool was_complete = complete();
    const auto piece = content_.next(input);
    if (!piece) {
        connection_->owner().count(&server_counters::chunk_abuse);
        return refuse(make_error_code(piece.error()));
    }
    if (complete() && !was_complete) keep_trailers();
    received_ += piece->size();
    if (received_ <= connection_->owner().options().limits.body) return *piece;
    return refuse(make_error_code(status::content_too_large));
}

void h1_request_body::discard_received() {
    while (!complete() && !broken_) {
        const auto piece = next_piece();
        if (!piece || piece->empty()) return;
    }
}

task<std::expected<void, error>> h1_request_body::send_continue() {
    continue_due_ = false;
    // A read that is cancelled, too, is over.
    const coracle::detail::flag_guard sending(sends_continue_);
    auto sent = connection_->send_continue();
    co_return co_await std::move(sent);
}

task<std::expected<std::string_view, error>> h1_request_body::read() {
    for (;;) {
        auto piece = next_piece();
        if (!piece || !piece->empty() || complete()) co_return piece;
        if (connection_->reads_body() || sends_continue_) co_return one_at_a_time("body");
        if (continue_due_) {
            // An interim response of the handler, which waits for room.
            if (connection_->writes()) co_return one_at_a_time("body");
            auto sent = co_await send_continue();
            if (!sent) co_return std::unexpected(std::move(sent).error());
        }
        auto more = co_await connection_->receive_more_body(*this);
        if (!more) co_return std::unexpected(std::move(more).error());
    }
}

}  // namespace coracle::http::detail
