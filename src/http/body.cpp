#include "http/message/token.hpp"
#include "http/message/trailer.hpp"
#include "http/read_file_piece.hpp"

#include <coracle/http/body.hpp>
#include <coracle/http/fields.hpp>
#include <coracle/http/request.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/task_group.hpp>

#include <algorithm>
#include <memory>
#include <span>

namespace coracle::http {
namespace {

/// The memory that an announced size gets at once; the rest as the bytes come.
constexpr std::uint64_t most_reserved = 1024 * 1024;

/// Reads the first piece of `from`. Sends the head of `to` before, unless that piece is there: its
/// sender may wait for what this head makes the receiver say.
task<std::string_view> first_piece(received_body* from, body_writer* to) {
    std::optional<std::expected<std::string_view, error>> piece;
    const auto read = [&]() -> task<> {
        auto reading = from->read();
        piece = co_await as_result(reading);
    };
    const auto flush_unless_read = [&](task_group& beside) -> task<> {
        beside.spawn(read, "body");
        if (!piece) co_await to->flush();
    };
    auto both = with_task_group(flush_unless_read);
    co_await std::move(both);
    if (!*piece) throw_exception(std::move(*piece).error());
    co_return **piece;
}

/// Passes trailers on, lines of one name as one (RFC 9110 section 5.3).
void pass_trailers(const fields& from, body_writer& to) {
    for (const field& f : from) {
        if (!may_be_trailer(f.id)) continue;
        std::string all;
        for (const field& line : from) {
            if (!equal_ignoring_case(line.name, f.name)) continue;
            if (!all.empty()) all += ", ";
            all += line.value;
        }
        to.set_trailer(f.name, all);
    }
}

task<> pass_pieces(received_body* from, body_writer* to) {
    auto reading = first_piece(from, to);
    std::string_view piece = co_await std::move(reading);
    while (!piece.empty()) {
        co_await to->write(piece);
        piece = co_await from->read();
    }
    pass_trailers(from->trailers(), *to);
}

}  // namespace

const fields& received_body::trailers() const noexcept {
    static const fields none;
    const fields* const received = ended_ ? source_->trailers() : nullptr;
    return received == nullptr ? none : *received;
}

task<std::expected<std::string_view, error>> received_body::read_piece(received_body* body) {
    // Thousands of pieces may have been received already, so other tasks run in between. Some
    // bodies are read without a loop.
    loop* const here = loop::current();
    if (here != nullptr && !here->may_complete_inline()) {
        auto yielded = co_await as_result(yield());
        if (!yielded) co_return std::unexpected(std::move(yielded).error());
    }
    auto piece = co_await body->source_->read();
    if (piece && piece->empty()) body->ended_ = true;
    if (piece && !piece->empty()) body->had_content_ = true;
    co_return piece;
}

operation<std::string_view> received_body::read() {
    if (ended()) return std::expected<std::string_view, error>(std::string_view());
    return read_piece(this);
}

task<std::expected<std::string, error>> received_body::read_all(received_body* body,
                                                                std::size_t limit) {
    const error too_large(make_error_code(status::content_too_large), "body", phase::receive);
    const auto announced = body->length();
    if (announced && *announced > limit) co_return std::unexpected(too_large);
    std::string all;
    if (announced) all.reserve(std::min(*announced, most_reserved));
    for (;;) {
        auto piece = co_await read_piece(body);
        if (!piece) co_return std::unexpected(std::move(piece).error());
        if (piece->empty()) co_return std::move(all);
        if (piece->size() > limit - all.size()) co_return std::unexpected(too_large);
        all += *piece;
    }
}

task<std::expected<void, error>> body_writer::write_file_part(int fd, std::uint64_t offset,
                                                              std::uint64_t size) {
    constexpr std::size_t most = detail::largest_file_piece;
    const std::unique_ptr<char[]> piece(new char[most]);
    while (size != 0) {
        const std::span<char> room(piece.get(),
                                   size < most ? static_cast<std::size_t>(size) : most);
        auto reading = detail::read_file_piece(fd, offset, room, "write_file");
        const auto n = co_await std::move(reading);
        if (!n) co_return std::unexpected(n.error());
        auto written = co_await write_piece({piece.get(), *n});
        if (!written) co_return std::unexpected(std::move(written).error());
        offset += *n;
        size -= *n;
    }
    co_return std::expected<void, error>();
}

void body::narrow(std::uint64_t offset, std::uint64_t size) {
    if (kind_ == kind::stream) {
        source_->offset += offset;
        source_->stream_size = size;
        return;
    }
    if (kind_ == kind::file) {
        file_range& whole = source_->file;
        const std::uint64_t begin = whole.offset() + offset;
        whole = file_range(whole.release(), begin, size);
        return;
    }
    const auto first = static_cast<std::size_t>(offset);
    const auto count = static_cast<std::size_t>(size);
    if (kind_ != kind::text) {
        literal_ = literal_.substr(first, count);
        return;
    }
    text_.erase(first + count);
    text_.erase(0, first);
}

void body::make_relay() {
    source_ = std::make_unique<source>(file_range(), stream_function(), size(), nullptr);
    source_->stream = [from = relayed_](body_writer& to) { return pass_pieces(from, &to); };
}

void body::make_stream_of_part() {
    // The function of the part is owned by that of the stream from here on.
    source_->stream = [write = std::move(source_->part), offset = source_->offset,
                       size = *source_->stream_size](body_writer& to) mutable {
        return write(to, offset, size);
    };
    source_->part = part_function();
}

operation<std::string> received_body::text(std::size_t limit) {
    if (ended() && had_content_) {
        error e(std::errc::no_message_available, "body", phase::receive);
        return std::expected<std::string, error>(
            std::unexpected(std::move(e.on("it was read before"))));
    }
    if (ended()) return std::expected<std::string, error>(std::string());
    return read_all(this, limit);
}

}  // namespace coracle::http
