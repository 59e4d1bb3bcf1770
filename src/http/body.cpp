#include <coracle/fs/plain_file.hpp>
#include <coracle/http/body.hpp>
#include <coracle/http/fields.hpp>
#include <coracle/http/request.hpp>

#include <cerrno>

namespace coracle::http {

const fields& received_body::trailers() const noexcept {
    static const fields none;
    const fields* const received = ended_ ? source_->trailers() : nullptr;
    return received == nullptr ? none : *received;
}

task<std::expected<std::string_view, error>> received_body::read_piece(received_body* body) {
    auto piece = co_await body->source_->read();
    if (piece && piece->empty()) body->ended_ = true;
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
    if (announced) all.reserve(*announced);
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
    constexpr std::size_t piece_size = 64 * 1024;
    const std::unique_ptr<char[]> piece(new char[piece_size]);
    while (size != 0) {
        const std::size_t wanted = size < piece_size ? static_cast<std::size_t>(size) : piece_size;
        const auto n = fs::read_at(fd, offset, {piece.get(), wanted});
        if (!n) co_return std::unexpected(n.error());
        if (*n == 0) {
            const std::error_code ended(ENODATA, std::generic_category());
            co_return std::unexpected(error(ended, "write_file"));
        }
        auto written = co_await write_piece({piece.get(), *n});
        if (!written) co_return std::unexpected(std::move(written).error());
        offset += *n;
        size -= *n;
    }
    co_return std::expected<void, error>();
}

void body::narrow(std::uint64_t offset, std::uint64_t size) {
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
    source_->stream = [from = relayed_](body_writer& to) -> task<> {
        for (;;) {
            const std::string_view piece = co_await from->read();
            if (piece.empty()) co_return;
            co_await to.write(piece);
        }
    };
}

operation<std::string> received_body::text(std::size_t limit) {
    if (ended()) return std::expected<std::string, error>(std::string());
    return read_all(this, limit);
}

}  // namespace coracle::http
