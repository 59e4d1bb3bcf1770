// The body of a request on a stream of HTTP/2.

#include "http/server/h2_connection.hpp"

#include <new>

namespace coracle::http::detail {

using counters = server_counters;

void h2_stream::data_received(std::string_view piece, const h2::shared_block& block) {
    received_ += piece.size();
    if (refused_ || lost_) {
        give_back(piece.size());
        if (sent_all() && (dropped_ += piece.size()) > owner().options().limits.discard) {
            reset(h2::error_code::no_error);
        }
        return;
    }
    if (tunnel_ != nullptr) {
        tunnel_->received(piece, block);
        return;
    }
    content_.add(piece, block);
    readable_.set();
}

void h2_stream::end_received(const h2::head* trailers) {
    ended_ = true;
    if (tunnel_ != nullptr) tunnel_->input_ended();
    if (trailers != nullptr && !trailers->fields.empty()) {
        trailers_ = std::make_unique<fields>();
        trailers_->append(trailers->fields);
    }
    readable_.set();
}

std::optional<std::uint64_t> h2_stream::length() const noexcept {
    // Unknown before trailers: a message that announces its length cannot pass them on.
    if (ended_ && trailers_ == nullptr) return content_.size();
    if (announced_ < 0) return std::nullopt;
    return static_cast<std::uint64_t>(announced_) - (received_ - content_.size());
}

/// Lets the client send that many more bytes.
void h2_stream::give_back(std::size_t bytes) noexcept {
    if (bytes == 0) return;
    try {
        home_->session().consume(*this, bytes, owner().owner().now().time_since_epoch());
    } catch (const std::bad_alloc&) {
        home_->fail_without_memory();
    }
    home_->schedule_flush();
}

error h2_stream::refused(error why) {
    owner().count_refused_body(why.code());
    refused_ = true;
    return why;
}

std::unexpected<error> h2_stream::refuse_body(std::error_code why) noexcept {
    refused_ = true;
    return std::unexpected(error(why, "body", coracle::phase::receive));
}

task<std::expected<std::string_view, error>> h2_stream::read() {
    give_back(content_.done());
    while (content_.empty()) {
        if (refused_) {
            co_return std::unexpected(error(std::errc::broken_pipe, "body", phase::receive));
        }
        if (ended_) co_return std::string_view();
        if (lost_) {
            co_return std::unexpected(error(std::errc::connection_reset, "body", phase::receive));
        }
        if (reads_) co_return one_at_a_time("body");
        if (std::exchange(continue_due_, false)) {
            const response go_on(status::continue_);
            co_await send_interim_head(go_on);
        }
        auto more = co_await wait_for_body();
        if (!more) co_return std::unexpected(std::move(more).error());
    }
    // A client that has begun to send no longer waits for a 100 (RFC 9110 section 10.1.1).
    continue_due_ = false;
    const std::uint64_t given = received_ - content_.size();
    const std::string_view piece = content_.next();
    if (given + piece.size() > owner().options().limits.body) {
        co_return refuse_body(make_error_code(status::content_too_large));
    }
    co_return piece;
}

void h2_stream::body_is_late() noexcept {
    timed_out_ = true;
    readable_.set();
}

/// Waits for more bytes, the end, or the timeout of the client.
task<std::expected<void, error>> h2_stream::wait_for_body() {
    const time_point since = owner().owner().now();
    timed_out_ = false;
    reads_ = true;
    readable_.reset();
    body_limit_.arm_in(timeouts().body);
    event_wait more = readable_.wait();
    co_await coracle::detail::completion(more);
    body_limit_.disarm();
    reads_ = false;
    receive_pace_.waited(owner().owner().now() - since);
    auto came = more.outcome();
    if (!came) co_return came;
    if (timed_out_) {
        owner().count(&counters::body_timeouts);
        co_return refuse_body(make_error_code(std::errc::timed_out));
    }
    if (!ended_ && receive_pace_.is_too_slow(received_, timeouts())) {
        owner().count(&counters::body_too_slow);
        co_return refuse_body(make_error_code(errc::too_slow));
    }
    co_return std::expected<void, error>();
}

}  // namespace coracle::http::detail
