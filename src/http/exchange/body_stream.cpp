#include "http/exchange/body_stream.hpp"

#include "http/message/trailer.hpp"

namespace coracle::http::detail {

void body_stream::begin() {
    if (begun_) return;
    channel_->begin_body(*exchange_, left_, true);
    begun_ = true;
}

bool body_stream::finish() {
    if (failed_ != culprit::none) return false;
    begin();
    if (left_ && *left_ != 0) return false;
    channel_->end_body(trailers_ != nullptr && may_send_trailers() ? trailers_.get() : nullptr);
    return true;
}

/// A client that does not request trailers may drop them; a handler that announces some accepts
/// that (RFC 9110 section 6.5.1).
bool body_stream::may_send_trailers() const noexcept {
    return !left_ && channel_->has_trailers() &&
           (exchange_->req.fields().has_token(field_id::te, "trailers") ||
            exchange_->res.fields().contains(field_id::trailer));
}

void body_stream::add_trailer(std::string_view name, std::string_view value) {
    http::set_trailer(trailers_, name, value);
}

/// Returns an error if a write of that many bytes cannot begin.
std::optional<error> body_stream::problem(const char* operation,
                                          std::uint64_t size) const noexcept {
    if (channel_->writes()) return one_at_a_time(operation).error();
    if (failed_ != culprit::none || channel_->is_broken()) {
        return error(std::errc::broken_pipe, operation);
    }
    if (left_ && size > *left_) return error(std::errc::message_size, operation);
    return std::nullopt;
}

task<std::expected<void, error>> body_stream::write_piece(std::string_view piece) {
    if (piece.empty()) co_return std::expected<void, error>();
    if (event* const going_on = channel_->continuing()) co_await going_on->wait();
    if (auto why = problem("write", piece.size())) co_return std::unexpected(std::move(*why));
    begin();
    // Nothing can follow even if this is destroyed while it waits.
    failed_ = culprit::connection;
    std::uint64_t bytes = 0;
    const bool ok = co_await channel_->send_piece(piece, bytes);
    exchange_->body_bytes += bytes;
    if (!ok) co_return lose("write");
    failed_ = culprit::none;
    if (left_) *left_ -= piece.size();
    co_return std::expected<void, error>();
}

task<std::expected<void, error>> body_stream::write_file_part(int fd, std::uint64_t offset,
                                                              std::uint64_t size) {
    if (size == 0) co_return std::expected<void, error>();
    if (event* const going_on = channel_->continuing()) co_await going_on->wait();
    if (auto why = problem("write_file", size)) co_return std::unexpected(std::move(*why));
    begin();
    failed_ = culprit::connection;
    std::uint64_t bytes = 0;
    auto sent = co_await channel_->send_file_piece(fd, offset, size, bytes);
    exchange_->body_bytes += bytes;
    if (!sent) co_return fail_file(std::move(sent).error());
    failed_ = culprit::none;
    if (left_) *left_ -= size;
    co_return std::expected<void, error>();
}

task<std::expected<void, error>> body_stream::send_head() {
    if (event* const going_on = channel_->continuing()) co_await going_on->wait();
    if (auto why = problem("write", 0)) co_return std::unexpected(std::move(*why));
    begin();
    const bool ok = co_await channel_->flush();
    if (ok) co_return std::expected<void, error>();
    co_return lose("write");
}

std::unexpected<error> body_stream::lose(const char* operation) noexcept {
    failed_ = culprit::connection;
    return std::unexpected(error(std::errc::broken_pipe, operation));
}

/// Sending a file may fail because of the file or of the connection.
std::unexpected<error> body_stream::fail_file(error why) noexcept {
    const bool by_client = why == std::errc::timed_out || why == errc::too_slow ||
                           why == std::errc::broken_pipe || coracle::detail::is_cancellation(why);
    if (by_client || channel_->client_gone()) return lose("write_file");
    failed_ = culprit::file;
    return std::unexpected(std::move(why));
}

}  // namespace coracle::http::detail
