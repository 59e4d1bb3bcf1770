// Sending a request over HTTP/1: the head with the first bytes of the body, and the body in chunks
// if its length is unknown.

#include "http/client/h1/h1_connection.hpp"
#include "http/client/h1/head_pen.hpp"
#include "http/h1/body_end.hpp"

#include <coracle/http/h1/head_writer.hpp>

namespace coracle::http::detail {

void client_h1_connection::begin(const outgoing_head& head) {
    asked_ = head.known_method;
    head_limit_ = head.options->head_limit;
    field_limit_ = head.options->field_limit;
    lenient_ = head.options->lenient;
    upgrades_ = head.upgrades;
    cut_ = head.closes;
    chunked_ = head.has_body && !head.length;
    out_.has_secrets = head.has_secrets;
    write_h1_head(out_, head);
}

bool client_h1_connection::try_send(std::string_view body) {
    if (!body.empty()) out_.append(body);
    const std::size_t size = out_.size();
    const std::int64_t n = stream_->try_send(out_.view());
    // An error is reported by the operation that sends the rest.
    if (n > 0) {
        sent_ += static_cast<std::uint64_t>(n);
        out_.consume(static_cast<std::size_t>(n));
    }
    if (n != static_cast<std::int64_t>(size)) return false;
    out_.forget();
    return true;
}

task<std::expected<void, error>> client_h1_connection::send_slices(std::span<slice> pieces,
                                                                   bool more) {
    net::send sending = stream_->send(pieces, more);
    progress_ = &sending.progress();
    auto sent = co_await as_result(sending);
    sent_ += static_cast<std::uint64_t>(*std::exchange(progress_, nullptr));
    out_.forget();
    if (!sent) co_return std::unexpected(std::move(sent).error());
    co_return std::expected<void, error>();
}

task<std::expected<void, error>> client_h1_connection::flush() {
    if (out_.empty()) co_return std::expected<void, error>();
    slice rest[] = {out_.view()};
    co_return co_await send_slices(rest, false);
}

task<std::expected<void, error>> client_h1_connection::send(std::string_view piece, follows next) {
    char size[h1::chunk_header_size];
    const char* const size_end = chunked_ ? h1::write_chunk_header(size, piece.size()) : size;
    slice pieces[] = {out_.view(), std::string_view(size, size_end), piece,
                      std::string_view(chunked_ ? "\r\n" : "")};
    co_return co_await send_slices(pieces, next == follows::at_once);
}

task<std::expected<void, error>> client_h1_connection::send_file(int fd, std::uint64_t offset,
                                                                 std::uint64_t size, follows) {
    if (!out_.empty()) {
        slice head[] = {out_.view()};
        auto sent = co_await send_slices(head, true);
        if (!sent) co_return sent;
    }
    net::send_file sending = stream_->send_file(fd, offset, size);
    progress_ = &sending.progress();
    auto sent = co_await as_result(sending);
    sent_ += static_cast<std::uint64_t>(*std::exchange(progress_, nullptr));
    if (!sent) co_return std::unexpected(std::move(sent).error());
    co_return std::expected<void, error>();
}

task<std::expected<void, error>> client_h1_connection::finish(const http::fields* trailers) {
    if (chunked_) h1::append_body_end(out_, trailers);
    return flush();
}

}  // namespace coracle::http::detail
