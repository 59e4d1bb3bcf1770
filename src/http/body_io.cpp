#include "http/write_from_source.hpp"

#include <coracle/http/body_io.hpp>
#include <coracle/http/response.hpp>

#include <algorithm>
#include <cstring>

namespace coracle::http {

body_input::body_input(response& received) noexcept
    : body_(received.extension() == nullptr ? nullptr : received.extension()->received()) {}

task<std::expected<std::size_t, error>> body_input::read_some(std::span<char> into) {
    if (body_ == nullptr) co_return std::size_t{0};
    if (rest_.empty()) {
        auto reading = body_->read();
        auto piece = co_await as_result(reading);
        if (!piece) co_return std::unexpected(std::move(piece).error());
        rest_ = *piece;
    }
    const std::size_t n = std::min(into.size(), rest_.size());
    if (n != 0) std::memcpy(into.data(), rest_.data(), n);
    rest_.remove_prefix(n);
    co_return n;
}

task<std::expected<void, error>> body_output::write(std::span<slice> pieces) {
    for (const slice& s : pieces) {
        auto writing = writer_->write({s.data, s.size});
        auto written = co_await as_result(writing);
        if (!written) co_return std::unexpected(std::move(written).error());
    }
    co_return std::expected<void, error>();
}

task<std::expected<void, error>> body_output::flush() {
    auto flushing = writer_->flush();
    auto flushed = co_await as_result(flushing);
    co_return flushed;
}

body body_from(std::unique_ptr<io::source> from, std::optional<std::uint64_t> size) {
    const std::uint64_t all = size.value_or(UINT64_MAX);
    return body::stream(
        [from = std::move(from), all](body_writer& out) {
            return detail::write_from_source(from.get(), &out, all);
        },
        size);
}

namespace detail {

namespace {
/// Bytes of one read, and so of one chunk.
constexpr std::size_t read_at_once = 64 * 1024;
}  // namespace

task<> write_from_source(io::source* from, body_writer* out, std::uint64_t most) {
    const auto block = std::make_unique<char[]>(read_at_once);
    while (most != 0) {
        const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(most, read_at_once));
        const auto n = co_await from->read_some({block.get(), wanted});
        if (!n) throw_exception(n.error());
        if (*n == 0) co_return;
        co_await out->write({block.get(), *n});
        most -= *n;
    }
}

}  // namespace detail

}  // namespace coracle::http
